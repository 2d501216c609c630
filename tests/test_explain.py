"""The one type of explanation: as text, as HTML and as a dictionary."""

from __future__ import annotations

import html.parser
import json
import math

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.explain import ClassScores, Contribution, Explanation
from suffice.mail import MailFilter

TABLE = ("table", "thead", "tbody", "tfoot", "tr", "th", "td")
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


def scores(**changes: object) -> ClassScores:
    fields = {
        "classes": ("ham", "spam", "work"),
        "features": ("free", "lunch"),
        "values": (2, None),
        "parts": ((-4.0, -1.0), (-2.0, -1.5), (-9.0, -1.0)),
        "base": (-0.5, -1.0, -2.0),
    }
    return ClassScores(**{**fields, **changes})  # type: ignore[arg-type]


class Tags(html.parser.HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_two_most_probable_classes_are_compared_by_default() -> None:
    found = Explanation.of(scores())
    assert (found.prediction, found.against, found.total) == ("spam", "ham", 1.0)
    assert found.base + sum(each.effect for each in found.contributions) == found.total
    assert found.contributions == (Contribution("free", 2, 2.0), Contribution("lunch", None, -0.5))
    assert found.probability == pytest.approx(1 / (1 + math.exp(-1) + math.exp(-7.5)))


def test_other_classes_are_compared_on_request() -> None:
    found = Explanation.of(scores(), row=3)
    assert found.compare("work", "spam").total == -7.5
    assert (found.compare("work").against, found.compare(against="spam").prediction) == ("spam", "ham")
    assert found.compare("work").row == 3
    assert found.compare() == found
    with pytest.raises(ValueError, match=r"unknown class 'eggs'; known: \['ham', 'spam', 'work'\]"):
        found.compare("eggs")


def test_a_number_has_no_other_classes() -> None:
    found = Explanation(3.25, None, None, 3.0, 3.25, (Contribution("x", 1.5, 0.25),), unit="expected number")
    assert str(found) == "3.25, the sum of\n     +3.000  base\n     +0.250  x = 1.5"
    with pytest.raises(ValueError, match="no scores of other classes"):
        found.compare("a")
    count = Explanation(3.25, None, None, 1.0, 1.18, (), unit="log of the expected count")
    assert str(count).splitlines()[0] == "3.25: log of the expected count +1.18, the sum of"


def test_impossible_classes_are_named() -> None:
    one = Explanation.of(scores(parts=((-math.inf, -1.0), (-2.0, -1.5), (-math.inf, 0.0))))
    assert (one.prediction, one.total) == ("spam", math.inf)
    assert "against ham, which is impossible" in str(one)
    assert one.compare("ham", "work").contributions == (Contribution("lunch", None, -1.0),)
    assert 'style="width:50.0%"' in one._repr_html_()
    none = Explanation.of(
        scores(parts=((-math.inf, 0.0),) * 3, log_prior=(math.log(0.2), math.log(0.7), math.log(0.1)))
    )
    assert (none.prediction, none.against) == ("spam", "ham")
    assert none.probability == pytest.approx(0.7)
    assert "every class is impossible here, and the priors decide" in str(none)


def test_contributions_that_are_not_shown_are_summed() -> None:
    names = [f"x{i}" for i in range(30)]
    many = Explanation.of(ClassScores((0, 1), names, [1] * 30, ([0.0] * 30, [float(i) for i in range(30)]), (0.0, 0.5)))
    *_, last = many.text(4).splitlines()
    assert last == f"  {sum(range(1, 26)):+9.3f}  25 others"
    assert sum(line.effect for line in many.lines(4)) == many.total
    assert len(str(many).splitlines()) == 1 + 1 + 10 + 1


def test_long_and_missing_values_are_shown_in_short() -> None:
    found = Explanation.of(scores(values=("z" * 99, None)))
    assert f"free = {'z' * 57}...\n" in str(found)
    assert "lunch = missing" in str(found)


def test_the_dictionary_is_plain() -> None:
    found = Explanation.of(scores(), row=0).to_dict()
    assert list(found) == ["row", "prediction", "probability", "against", "base", "total", "contributions", "unit"]
    assert json.loads(json.dumps(found)) == found


def of_rows() -> Explanation:
    model = suffice.GaussianNB().fit(np.array([[0.0], [1.0], [2.0], [3.0]]), [HOSTILE, HOSTILE, "b", "b"])
    return model.explain([[0.5]])[0]


def of_a_table() -> Explanation:
    table = pd.DataFrame({HOSTILE: ["a", HOSTILE] * 20, "y": ["no", "yes"] * 20})
    return suffice.fit(table, "y", "nb").explain(table[:2])[1]


def of_a_text() -> Explanation:
    texts = ["money <b> money", "lunch on monday"]
    return suffice.TextClassifier().fit(texts, [HOSTILE, "ham"]).explain(f"money {HOSTILE}")


def of_a_message(tmp_path) -> Explanation:
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn(b"Subject: pills\n\ncheap pills", "spam")
        mail.learn(b"Subject: lunch\n\nlunch", "ham")
        return mail.explain(f"Subject: {HOSTILE}\n\ncheap {HOSTILE}".encode())


@pytest.mark.parametrize("of", [of_rows, of_a_table, of_a_text, of_a_message])
def test_every_model_explains_with_one_type_and_escaped_html(of, tmp_path) -> None:
    found = of(tmp_path) if of is of_a_message else of()
    assert isinstance(found, Explanation)
    assert found.base + math.fsum(each.effect for each in found.contributions) == pytest.approx(found.total)
    table, page = Tags(found._repr_html_()), Tags(found.html_page())
    assert {"div", *TABLE} <= table.found <= page.found
    assert page.found <= {"html", "meta", "title", "style", "div", "p", "ul", "li", "span", *TABLE}
    assert table.open == []
    assert found.to_dict()
    assert str(found)
