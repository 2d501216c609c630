"""Visible and hidden text of HTML."""

from __future__ import annotations

from html.entities import name2codepoint

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import for_each
from tests.mail.hostile import html
from tests.mail.samples import pieces


def read(page: str) -> dict[tuple[str, str], str]:
    return {(kind, name): text for kind, name, text in pieces(html(page.encode())) if kind != "tag"}


def seen(page: str) -> str:
    return read(page).get(("text", "html"), "")


def hidden(page: str) -> dict[str, str]:
    return {name: text for (kind, name), text in read(page).items() if kind == "hidden"}


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("Via<!-- x -->gra V<b>ia</b><font color=red>gr</font><xyz>a", "Viagra Viagra"),
        ("a<br>b<p>c</p>d<td>e<div>f</div>g", "a\nb\nc\nd\ne\nf\ng"),
        ("1 < 2 <script>var x='<b>';</script>ok<style>p{}</style>!", "1 < 2\nok\n!"),
        ("a &lt;b&gt; &eacute;&euro;&#128;&#x41;&#65 &nbspx &bogus; & &copy2", "a <b> é€€AA \xa0x &bogus; & ©2"),
        ("<noscript>n</noscript>", "n"),
        ('x<a href="unclosed>y</a>z', "xyz"),
        ("x<!-- never closed y", "x"),
        ("x<!--#rotate>y<!--z>w", "xyw"),
        ("x<!-- a --><!--#rotate>y", "xy"),
        ("a<!>b<!-->c<!--->d", "abcd"),
        ("x<b", "x<b"),
        ("<", "<"),
        ("&", "&"),
        ("&#", "&#"),
        ("a  \t\n b", "a b"),
    ],
)
def test_visible_text_is_read(page, text):
    assert seen(page) == text


@pytest.mark.parametrize(
    ("page", "text", "away"),
    [
        ("a<!-- x -->b", "ab", {"comment": "x"}),
        ("a<!x>b", "ab", {"comment": "x"}),
        ("a<span style='display: none'>x</span>b", "ab", {"display": "x"}),
        ("a<span style='visibility:hidden'>x</span>b", "ab", {"display": "x"}),
        ("a<span style='opacity:0'>x</span>b", "ab", {"display": "x"}),
        ("a<div style='display:none'>x<div>y</div>z</div>b", "ab", {"display": "x\ny\nz"}),
        ("a<div hidden>x</div>b", "ab", {"display": "x"}),
        ("a<span style=font-size:1px>x<span style=font-size:10px>y</span></span>b", "ayb", {"size": "x"}),
        ("V<span style=font-size:0> z </span>iagra", "Viagra", {"size": "z"}),
        ("<font color=#fffffe>x</font>y", "y", {"colour": "x"}),
        ("<font color=white>x <a href=y>link</a>", "link", {"colour": "x"}),
        ("V<font color=white>x</font>ia", "Via", {"colour": "x"}),
        ("a<font color=white>x<br>y</font>b", "a\nb", {"colour": "x\ny"}),
        ("a<font color=white>x<b style=color:red>c</b> <b style=color:red>d</b></font>e", "ac de", {"colour": "x"}),
        ("<p style='color:rgb(255,255,255)'>x</p>y", "y", {"colour": "x"}),
        ("<p style='background:#000;color:black'>x</p>y", "y", {"colour": "x"}),
        ("<body bgcolor=black text=white>a<font color=black>x</font>b", "ab", {"colour": "x"}),
        ("<div style='height:0;overflow:hidden'>x</div>y", "y", {"box": "x"}),
        ("<div style='max-width:1px;overflow:hidden'>x</div>y", "y", {"box": "x"}),
        ("<marquee width=0>x</marquee>y", "y", {"box": "x"}),
    ],
)
def test_hidden_text_is_separated(page, text, away):
    assert (seen(page), hidden(page)) == (text, away)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<table><td bgcolor=red><font color=white>x</font></table>", "x"),
        ("<p style='background:url(x.gif)'><font color=white>y", "y"),
        ("<table bgcolor=#000080><td><font color=white>x</td><td>y</table>", "x\ny"),
        ("<table width=0><td>x</td></table>", "x"),
        ("<font color=nosuch>x</font>", "x"),
        ("<p style='font-size:large'>x", "x"),
        ("<p style='height:1px'>x", "x"),
    ],
)
def test_text_that_only_looks_hidden_is_visible(page, text):
    assert (seen(page), hidden(page)) == (text, {})


@pytest.mark.parametrize(
    ("page", "text", "away"),
    [
        (
            "<table bgcolor=#000080><td><font color=white>x</td><td>y</table><font color=white>z",
            "x\ny",
            {"colour": "z"},
        ),
        ("<table><td><p hidden>x</td></table>y", "y", {"display": "x"}),
        ("<p hidden>x<table><td></p>y</table></p>z", "z", {"display": "x\ny"}),
        ("<span hidden>x<td>y</span>z", "z", {"display": "x\ny"}),  # outside of tables there are no cells
        ("<td bgcolor=black><font color=white>x</font></td>y", "y", {"colour": "x"}),
    ],
)
def test_elements_open_in_a_cell_end_with_it(page, text, away):
    assert (seen(page), hidden(page)) == (text, away)


@for_each("name", name2codepoint)
def test_characters_have_the_names_that_python_knows(name):
    code = name2codepoint[name]
    assert seen(f"a&{name};b") == f"a{chr(code)}b"
    if code < 256:
        assert seen(f"a&{name} b") == f"a{chr(code)} b"


WORDS = st.lists(st.text("abcé", min_size=1, max_size=4), min_size=1, max_size=5)
WRAPPINGS = st.sampled_from(
    [
        "{}",
        "<b>{}</b>",
        "<i>{}",
        "<div>{}</div>",
        "<td>{}",
        "<font color=red>{}</font>",
        "<p>{}",
        "<!-- -->{}",
        "{}<br>",
        "<x:y>{}</x:y>",
    ]
)


@given(WORDS, st.lists(WRAPPINGS, max_size=5))
def test_words_in_any_tags_are_visible(words, wrappings):
    page = " ".join(words)
    for wrapping in wrappings:
        page = wrapping.format(page)
    assert seen(page).split() == words


HIDINGS = st.sampled_from(
    [
        "<span style='display:none'>{}</span>",
        "<font color=white>{}</font>",
        "<span style=font-size:0>{}</span>",
        "<div hidden>{}</div>",
        "<!--{}-->",
        "<div style='height:0;overflow:hidden'>{}</div>",
    ]
)


@given(WORDS, st.lists(WRAPPINGS, max_size=3), HIDINGS)
def test_words_hidden_in_any_way_are_hidden(words, wrappings, hiding):
    page = " ".join(words)
    for wrapping in wrappings:
        if hiding.startswith("<!--") or "color=red" in wrapping or "<!--" in wrapping:
            continue
        page = wrapping.format(page)
    page = "before " + hiding.format(page) + " after"
    assert seen(page).split() == ["before", "after"]
    assert " ".join(hidden(page).values()).split() == words
