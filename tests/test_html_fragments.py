"""Results in notebooks: tables of numbers, escaped, in one palette with the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice.demo
from suffice import (
    GDA,
    GaussianNB,
    LinearRegression,
    LocallyWeightedRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    TextClassifier,
)
from suffice.additive import AdditiveClassifier
from suffice.html_fragments import DARK, LIGHT, palette_css, table
from suffice.selection import cross_validate

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(60, 2)), columns=["area <b>", "rooms"])
Y = (X["rooms"] + RANDOM.normal(size=60) > 0).map({True: "yes & <i>", False: "no"})

MODELS: dict[str, tuple[Any, list[str]]] = {
    "logistic": (LogisticRegression(), ["intercept", "area &lt;b&gt;", "Converged"]),
    "perceptron": (Perceptron(average=True), ["intercept", "area &lt;b&gt;", "epochs: "]),
    "GDA": (GDA(), ["yes &amp; &lt;i&gt;", "p(y)"]),
    "naive Bayes": (GaussianNB(), ["yes &amp; &lt;i&gt;", "2 features"]),
    "additive": (AdditiveClassifier(folds=2), ["area &lt;b&gt;", "mean absolute effect"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_fitted_models_show_their_numbers_beside_the_diagram(name: str) -> None:
    model, expected = MODELS[name]
    assert 'class="suffice"' not in model._repr_mimebundle_()["text/html"]
    model.fit(X, Y)
    for html in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        assert "sk-estimator" in html
        assert html.count('class="suffice"') == 1
        for text in expected:
            assert text in html
        assert "<i>" not in html


def test_regressions_show_coefficients_and_local_regression_its_bandwidth() -> None:
    x = X[["rooms"]]
    linear = LinearRegression().fit(x, 2 * X["rooms"] + 1)._repr_html_()
    assert '<th scope="row">rooms</th><td class="number">2</td>' in linear
    local = LocallyWeightedRegression(0.5).fit(x, X["rooms"])._repr_html_()
    assert '<th scope="row">bandwidth</th><td class="number">0.5</td>' in local
    assert "sk-estimator" in LogisticRegressionCV(Cs=2, cv=2).fit(x, Y)._repr_html_()


def test_gda_shows_means_and_covariances() -> None:
    x, y = np.array([[0.0, 1.0], [2.0, 3.0], [10.0, 5.5], [14.0, 1.5]]), ["low", "low", "<high>", "<high>"]
    tied = GDA().fit(x, y)._repr_html_()
    assert "μ: the mean of each class" in tied
    assert '<th scope="row">x0</th><td class="number">12</td><td class="number">1</td>' in tied
    assert "Σ: the covariance of all classes" in tied
    assert '<th scope="row">x1</th><td class="number">-1.5</td><td class="number">2.5</td>' in tied
    own = GDA("full", shrinkage=0.5).fit(x, y)._repr_html_()
    assert "Σ: the covariance of class &lt;high&gt;" in own
    assert own.count("Σ: the covariance of class") == 2
    alone = GDA("diagonal").fit(x, y)._repr_html_()
    assert '<th scope="row">x1</th><td class="number">4</td><td class="number">1</td>' in alone
    assert '<th scope="row">x0</th><td class="number">2.5</td></tr>' in GDA("tied_diagonal").fit(x, y)._repr_html_()
    many = GDA("full", shrinkage=0.5).fit(np.tile(x, (3, 8)), np.arange(12) % 6)._repr_html_()
    assert many.count("Σ: the covariance of class") == 4
    assert "... and 2 more classes: covariance_" in many
    assert "... and 10 more columns" in many


def test_many_coefficients_are_cut() -> None:
    wide = np.random.default_rng(0).normal(size=(60, 25))
    assert "... and 6 more rows" in LinearRegression().fit(wide, X["rooms"])._repr_html_()


def test_models_of_tables_show_candidates_and_importance() -> None:
    model = suffice.fit(suffice.demo.houses(), "sold_fast", folds=2)
    html = model._repr_mimebundle_()["text/html"]
    assert "sold_fast (classes)" in html
    assert "held-out loss" in html


def test_models_of_texts_show_the_words_of_each_class() -> None:
    model = TextClassifier(model="multinomial").fit(["free money", "lunch <b> & lunch"], ["spam", "ham"])
    html = model._repr_html_()
    assert '<th scope="row">ham</th><td class="number">lunch</td>' in html
    assert "multinomial, 3 features" in html


def test_solutions_show_why_they_ended_and_their_steps() -> None:
    solution = LogisticRegression(solver="newton").fit(X, Y).solution_
    html = solution._repr_html_()
    assert f"<p>{solution.reason}</p>" in html
    assert html.count("<tr>") == 4 + 1 + len(solution.trace)
    assert "nan" not in html


def test_cross_validation_marks_the_best_setting() -> None:
    found = cross_validate(GDA(), X, Y, {"covariance": ["tied", "full"]}, folds=3)
    html = found._repr_html_()
    best = f'<tr class="best"><th scope="row">covariance={found.best["covariance"]}</th>'
    assert best in html
    assert f'<td class="number">{found.best_score:.4f}</td>' in html


def test_tables_escape_names_and_cells() -> None:
    html = table(["<a>"], [["<b>", "<c>"]])
    assert "<a>" not in html
    assert "<b>" not in html
    assert "<c>" not in html


def test_the_palette_follows_the_reader_and_the_theme_of_the_notebook() -> None:
    css = palette_css(".suffice", themes=True)
    assert css.count(LIGHT["positive"]) == 2
    assert css.count(DARK["positive"]) == 2
    assert '[data-jp-theme-light="false"] .suffice' in css
    assert "theme" not in palette_css(":root")
