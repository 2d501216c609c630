"""Contributions add up to the log-odds, and hostile messages are escaped in HTML and text."""

from __future__ import annotations

import html.parser
import math
import random

import pytest

from suffice.mail import MailError, MailFilter
from suffice.mail.explanation import describe_token, explain
from tests.mail.samples import TOPICS, demo_mail, message, stream

MESSAGES = [
    message("x", "cheap pills lunch report never-seen"),
    message("x", " ".join(TOPICS["spam"].split() * 300)),
    b"",
    b"Subject: x",
    b"\n\n\n",
    b"\xff\x00\xfe" * 500,
    b"Subject: =?utf-8?q?=F0=9F=92=8A?=\r\n\r\n<b>cheap</b> <script>alert(1)</script>\r\n",
    message("x", "<p>" + "word " * 30_000),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with MailFilter(tmp_path_factory.mktemp("two") / "mail.db") as mail:
        mail.learn_all(stream(300))
        yield mail


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    with MailFilter(tmp_path_factory.mktemp("three") / "mail.db") as mail:
        mail.learn_all(stream(80, 0, ("ham", "spam", "work")))
        yield mail


@pytest.fixture(scope="module")
def layered(tmp_path_factory):
    place = tmp_path_factory.mktemp("layered")
    with MailFilter(place / "site.db") as site:
        site.learn_all(stream(80, 0, ("ham", "spam", "work")))
    with MailFilter(place / "mine.db", shared=[place / "site.db"]) as mail:
        mail.learn_all(stream(40, 1))
        yield mail


@pytest.mark.parametrize("which", ["two", "three", "layered"])
@pytest.mark.parametrize("data", MESSAGES, ids=range(len(MESSAGES)))
def test_contributions_add_up_to_the_log_odds(request, which, data):
    mail = request.getfixturevalue(which)
    for label in mail.classes:
        why = explain(mail, data, label)
        total = math.fsum(each.effect for each in why.contributions) + why.base
        assert total == pytest.approx(why.total, abs=1e-6)
        shown = why.shown(5)
        count, rest = why.others(shown)
        assert math.fsum([*(each.effect for each in shown), rest, why.base]) == pytest.approx(why.total)
        assert count == len(why.contributions) - len(shown)
        sizes = [abs(each.effect) for each in why.contributions]
        assert sizes == sorted(sizes, reverse=True)
    assert mail.explain(data).verdict == mail.classify(data)


def test_log_odds_of_two_classes_are_opposite(two):
    spam, ham = (explain(two, MESSAGES[0], label) for label in ("spam", "ham"))
    assert spam.total == -ham.total == two.classify(MESSAGES[0]).log_odds
    assert spam.base == -ham.base


def test_contributions_have_the_counts_of_each_class(two):
    why = two.explain(message("x", "cheap lunch unheard"))
    seen = {each.feature: each.value for each in why.contributions if each.value is not None}
    pairs = stream(300)
    for word in ("cheap", "lunch"):
        expected = {
            name: sum(word in data.decode().split() for data, label in pairs if label == name) for name in TOPICS
        }
        assert seen[word] == {"ham": expected["ham"], "spam": expected["spam"]}
    assert seen["unheard"] == {"ham": 0, "spam": 0}
    assert "new" in next(line for line in why.text(100).splitlines() if "“unheard”" in line)


def test_an_unknown_class_cannot_be_explained(two):
    with pytest.raises(MailError, match="there is no class 'work': the filter has ham, spam"):
        explain(two, MESSAGES[0], "work")


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("subject:free", "“free” in the field Subject"),
        ("reply-to:ann", "“ann” in the field Reply-To"),
        (":", "“:”"),
        ("a:", "“a:”"),
        ("url:{0.__class__}", "“{0.__class__}” in a link"),
        ("tag:{}", "HTML tag <{}>"),
    ],
)
def test_a_token_has_a_description(token, words):
    assert describe_token(token) == words


HOSTILE = (
    b"Subject: <script>alert('s')</script> \"><img src=x onerror=alert(1)>\n"
    b'X-Evil: </title></style><svg onload=alert(2)>\nFrom: "<b>&quot;" <a@b>\nContent-Type: text/html\n\n'
    b"<a href=\"http://evil.example/'><script>\">cheap</a> <b title='\"><script>alert(3)</script>'>x</b>"
    b' &lt;script&gt;alert(4)&lt;/script&gt; <img src="&quot;&gt;&lt;iframe&gt;">\n'
)


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.events: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.events += [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]


def test_the_html_page_escapes_the_message(two):
    for data in (HOSTILE, *MESSAGES, *demo_mail("spam")[:10]):
        page = two.explain(data).html_page(500)
        tags = Tags()
        tags.feed(page)
        own = "html meta title style div p table thead tbody tfoot tr th td span ul li"
        assert tags.found <= set(own.split())
        assert tags.events == []
        assert page.count("<tr>") == page.count("</tr>")


def test_a_class_name_with_markup_is_refused(two):
    with pytest.raises(MailError, match="'<b>' cannot be a class"):
        two.learn(message("x"), "<b>")


def test_the_text_escapes_control_characters(two):
    data = b"Subject: a\x1b[2Jb\x07\nX-A: \xc2\x9b31m\n\nhello \x1b]0;title\x07 there\x00 \x08\x7f\n"
    text = two.explain(data).text(500)
    assert not [c for c in text if c != "\n" and (c < " " or "\x7f" <= c <= "\x9f")]


def test_the_text_has_the_verdict_the_contributions_and_the_sum(two):
    why = two.explain(message("x", TOPICS["spam"]))
    lines = why.text(5).splitlines()
    assert lines[0].startswith("spam: the probability of spam is ")
    values = [float(line.split()[0]) for line in lines[2:-2]]
    assert sum(values) == pytest.approx(why.total, abs=0.001 * len(values))
    assert float(lines[-1].split()[0]) == pytest.approx(why.total, abs=0.001)
    assert lines[-1].endswith("log-odds of spam")


def test_the_dictionary_has_the_same_numbers(two):
    why = two.explain(MESSAGES[0])
    found = why.to_dict(7)
    assert found["verdict"] == why.verdict.label
    parts = [each["log_odds"] for each in found["reasons"]]
    assert sum(parts) + found["others"]["log_odds"] + found["constant"] == pytest.approx(found["class_log_odds"])


def test_random_bytes_are_explained(two):
    rng = random.Random(0)
    for size in (1, 10, 1000, 20_000):
        why = two.explain(rng.randbytes(size))
        assert why.text()
        assert why.html_page()


def test_the_text_is_truncated_to_a_width(two):
    why = two.explain(message("x", TOPICS["spam"] + " " + "long" * 60))
    assert str(why) == why.text()
    narrow, wide = why.text(width=60).splitlines(), why.text().splitlines()
    assert len(narrow) == len(wide)
    assert max(map(len, narrow)) <= 60 < max(map(len, wide))


def test_an_explanation_notes_that_too_little_was_learned(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn(message("x", "lunch"), "ham")
        last = mail.explain(message("y", "lunch")).text().splitlines()[-1]
    assert last == "note: too little was learned to call anything spam"
