"""Class-conditional distributions: displays hold the parameters of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import norm, poisson
from sklearn.exceptions import NotFittedError

from suffice import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    FamilyNB,
    GaussianNB,
    LogisticRegression,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    TextClassifier,
)
from suffice.plots import (
    ClassConditionalsDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    ClassFrequenciesDisplay,
    ClassWordsDisplay,
)
from suffice.plots.divergence import class_divergences
from tests.plots.conftest import Rows

draw = ClassConditionalsDisplay.from_estimator
COVARIANCES = ("tied", "full", "diagonal", "tied_diagonal", "spherical", "tied_spherical")


def test_ellipses_have_the_eigenvalues_and_directions_of_the_covariance(three_classes: Rows) -> None:
    x, y = three_classes
    model = GDA("full").fit(x, y)
    display: Any = draw(model, x, y, features=[2, 0])
    for code in range(3):
        covariance = model.covariance_[code][np.ix_([2, 0], [2, 0])]
        values, vectors = np.linalg.eigh(covariance)
        np.testing.assert_allclose(display.axes_lengths[code] ** 2, values, rtol=1e-10)
        angle = np.radians(display.angles[code])
        assert abs(vectors[:, 1] @ [np.cos(angle), np.sin(angle)]) == pytest.approx(1)
        drawn = display.ax_.patches[2 * code + 1]  # two standard deviations
        assert drawn.width == pytest.approx(4 * np.sqrt(values[1]))
        assert drawn.height == pytest.approx(4 * np.sqrt(values[0]))
        assert drawn.angle == pytest.approx(display.angles[code])
    np.testing.assert_allclose(display.means, model.means_[:, [2, 0]])


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_every_covariance_structure(covariance: Any, three_classes: Rows) -> None:
    x, y = three_classes
    model = GDA(covariance).fit(x, y)
    display: Any = draw(model, features=[0, 1])
    for code in range(3):
        whole = model.covariance_ if covariance.startswith("tied") else model.covariance_[code]
        expected = whole[:2, :2] if whole.ndim == 2 else np.diag(whole[:2])
        np.testing.assert_allclose(display.covariances[code], expected)


def test_densities_equal_those_of_the_model(three_classes: Rows) -> None:
    x, y = three_classes
    model = GaussianNB().fit(x, y)
    display: Any = draw(model, x, y, features=1)
    assert isinstance(display, ClassDensitiesDisplay)
    expected = norm.pdf(display.grid, model.theta_[:, [1]], np.sqrt(model.var_[:, [1]]))
    np.testing.assert_allclose(display.densities, expected, rtol=1e-10)
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), display.densities[0])


def test_divergences_do_not_depend_on_the_location(three_classes: Rows) -> None:
    x, y = three_classes
    near, far = GaussianNB().fit(x, y), GaussianNB().fit(x + 1e6, y)
    expected = class_divergences(near._source().conditional, near._source().prior)  # noqa: SLF001
    np.testing.assert_allclose(class_divergences(far._source().conditional, far._source().prior), expected, rtol=1e-5)  # noqa: SLF001


def test_divergence_is_the_mean_symmetric_divergence_of_pairs_of_classes(three_classes: Rows) -> None:
    x, y = three_classes
    joint = GaussianNB(priors=[0.2, 0.3, 0.5]).fit(x, y)._source()  # noqa: SLF001
    mean, scale = joint.conditional.family.mu[:, 1], np.sqrt(joint.conditional.family.sigma2[:, 1])

    def divergence(one: int, two: int) -> float:
        def integrand(at: float) -> float:
            odds = norm.logpdf(at, mean[one], scale[one]) - norm.logpdf(at, mean[two], scale[two])
            return float((norm.pdf(at, mean[one], scale[one]) - norm.pdf(at, mean[two], scale[two])) * odds)

        return float(quad(integrand, -30, 30)[0])

    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = sum(joint.prior[one] * joint.prior[two] * divergence(one, two) for one, two in pairs)
    assert class_divergences(joint.conditional, joint.prior)[1] == pytest.approx(expected, rel=1e-6)


def counts() -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 200)
    rates = np.array([[1.0, 4.0, 2.0], [1.0, 0.5, 2.5]])
    return pd.DataFrame(random.poisson(rates[y]), columns=["the", "lunch", "and"]), np.array(["ham", "spam"])[y]


@pytest.mark.parametrize("make", [MultinomialNB, ComplementNB, BernoulliNB, PoissonNB, FamilyNB])
def test_bars_of_counts_equal_the_parameters(make: Any) -> None:
    x, y = counts()
    model = make().fit(x, y)
    display: Any = draw(model, n=2)
    assert isinstance(display, ClassFrequenciesDisplay)
    assert display.names[0] == "lunch"
    place = list(x.columns).index(display.names[1])
    like = MultinomialNB().fit(x, y) if make is ComplementNB else model
    if make in (PoissonNB, FamilyNB):
        expected = model.rate_ if make is PoissonNB else model.mean_
    else:
        expected = np.exp(like.feature_log_prob_)
    np.testing.assert_allclose(display.frequencies, expected[:, [1, place]])
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, display.frequencies.ravel())


def test_single_count_is_shown_by_poisson_probabilities() -> None:
    x, y = counts()
    model = PoissonNB().fit(x, y)
    display: Any = draw(model, features="lunch")
    np.testing.assert_allclose(display.frequencies, poisson.pmf(np.array(display.names), model.rate_[:, [1]]))
    assert display.frequencies.sum(axis=1) == pytest.approx([1, 1], abs=0.01)


def test_categories_are_shown_by_their_probabilities() -> None:
    x = [["red", "s"], ["red", "m"], ["blue", "s"], ["blue", "m"], ["green", "s"], ["red", "m"]]
    model = CategoricalNB().fit(x, [0, 0, 1, 1, 1, 0])
    display: Any = draw(model)
    assert display.feature == "x0"  # colours differ between the classes, sizes do not
    np.testing.assert_allclose(display.frequencies, np.exp(model.feature_log_prob_[0]))
    few: Any = draw(model, features=0, n=2)
    assert set(few.names) < {"red", "blue", "green"}
    assert len(few.names) == 2


@pytest.fixture
def table() -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(2)
    y = random.integers(0, 2, 120)
    cells = {
        "size": random.normal(10 + y, 1.0),
        "rooms": random.poisson(2 + y),
        "garden": random.random(120) < 0.3 + 0.4 * y,
        "walls": np.array(["wood", "brick", "clay"])[(y + random.integers(0, 2, 120)) % 3],
        "about": [" ".join(random.choice(["park", "quiet", "bar", "loud"], 9, p=p)) for p in PLACES[y]],
        "number": np.arange(120),
    }
    return pd.DataFrame(cells), np.array(["sold", "empty"])[y]


PLACES = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])
DISPLAY_TYPES = {
    "size": ("numeric", ClassDensitiesDisplay),
    "rooms": ("count", ClassFrequenciesDisplay),
    "garden": ("boolean", ClassFrequenciesDisplay),
    "walls": ("category", ClassFrequenciesDisplay),
    "about": ("text", ClassWordsDisplay),
}
KINDS = {name: kind for name, (kind, _) in DISPLAY_TYPES.items()} | {"number": "ignore"}


@pytest.mark.parametrize("column", list(DISPLAY_TYPES))
def test_display_of_each_column_kind(column: str, table: Any) -> None:
    x, y = table
    display: Any = draw(MixedNB(columns=KINDS).fit(x, y), features=column)
    assert type(display) is DISPLAY_TYPES[column][1]
    name = display.names[0] if column == "garden" else display.feature
    assert name == column


def test_parameters_of_mixed_nb_equal_those_of_single_kind_models(table: Any) -> None:
    x, y = table
    mixed = MixedNB(columns=KINDS).fit(x, y)
    size: Any = draw(mixed, features="size")
    alone = GaussianNB().fit(x[["size"]], y)
    np.testing.assert_allclose(size.means, alone.theta_[:, 0])
    np.testing.assert_allclose(size.variances, alone.var_[:, 0])
    walls: Any = draw(mixed, features="walls")
    np.testing.assert_allclose(walls.frequencies, np.exp(CategoricalNB().fit(x[["walls"]], y).feature_log_prob_[0]))
    garden: Any = draw(mixed, features="garden")
    np.testing.assert_allclose(garden.frequencies, np.exp(BernoulliNB().fit(x[["garden"]], y).feature_log_prob_))
    about: Any = draw(mixed, features="about")
    assert about.words["sold"][0][0] == "park"
    assert all(value > 0 for pairs in about.words.values() for _, value in pairs)


def test_default_column_is_the_most_informative(table: Any) -> None:
    x, y = table
    with_text: Any = draw(MixedNB(columns=KINDS).fit(x, y))
    assert with_text.feature == "about"  # nine words a row
    without_text: Any = draw(MixedNB(columns={**KINDS, "about": "ignore"}).fit(x, y))
    assert without_text.feature == "walls"


def test_words_of_a_text_classifier_are_its_top_words() -> None:
    texts = ["free money, free!", "cheap money now", "lunch on monday?", "monday is fine"]
    model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    display: Any = draw(model, n=2)
    assert display.words == model.top_words(n=2)
    shown = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    assert shown == [word for word, _ in display.words["ham"]]


def test_number_of_points_is_limited(three_classes: Rows) -> None:
    x, y = three_classes
    display: Any = draw(GDA().fit(x, y), x, y, max_rows=40)
    assert len(display.X) == len(display.y) == 40
    again: Any = draw(GDA().fit(x, y), x, y, max_rows=40)
    np.testing.assert_array_equal(display.X, again.X)


def test_invalid_input_raises(three_classes: Rows, table: Any) -> None:
    x, y = three_classes
    model = GDA().fit(pd.DataFrame(x, columns=["height", "weight", "age"]), y)
    with pytest.raises(ValueError, match="no feature 'wieght'; did you mean 'weight'"):
        draw(model, features=["height", "wieght"])
    with pytest.raises(ValueError, match="no feature 3; features are 0 to 2"):
        draw(model, features=3)
    with pytest.raises(ValueError, match="one or two at a time; got 3"):
        draw(model, features=[0, 1, 2])
    with pytest.raises(ValueError, match="'height' is given twice"):
        draw(model, features=[0, "height"])
    with pytest.raises(ValueError, match="y is missing"):
        draw(model, x)
    with pytest.raises(ValueError, match="n must be 1 or more; got 0"):
        draw(model, n=0)
    with pytest.raises(ValueError, match="has no class-conditional distributions"):
        draw(LogisticRegression(C=1.0).fit(x, y))
    with pytest.raises(NotFittedError):
        draw(GDA())
    mixed = MixedNB(columns=KINDS).fit(*table)
    with pytest.raises(ValueError, match="one at a time"):
        draw(mixed, features=["size", "rooms"])
    with pytest.raises(ValueError, match="'number' is ignored"):
        draw(mixed, features="number")
    with pytest.raises(ValueError, match=r"means must have the shape \(1, 2\); its shape is \(1, 3\)"):
        ClassEllipsesDisplay(["a"], [[0, 1, 2]], [np.eye(2)])
    with pytest.raises(ValueError, match="no classes"):
        ClassWordsDisplay({})
    with pytest.raises(ValueError, match="no feature 'zzz'; there are: 'height', 'weight', 'age'"):
        draw(model, features=["height", "zzz"])
    codes = CategoricalNB().fit(np.tile([[0, 1], [1, 0]], (50, 1)), ["a", "b"] * 50)
    with pytest.raises(ValueError, match="categories are shown one feature at a time; got 2 features"):
        draw(codes, features=[0, 1])


def test_text_classifier_takes_no_features() -> None:
    model = TextClassifier(model="multinomial").fit(["free money", "see you"], ["spam", "ham"])
    with pytest.raises(ValueError, match="TextClassifier has words, not features: omit features, and give n"):
        draw(model, features=[0])
