"""Additive models of unusual tables, for every kind of target: units, constants, missing cells, few rows, files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import AdditiveClassifier, AdditiveRegressor
from suffice.additive import choice


def table(n: int = 300) -> tuple[pd.DataFrame, Any]:
    """Return numbers, a rounded number and a category, and a predictor with a pair that interacts."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n).round(1), "c": rng.choice(list("uvw"), n)})
    return x, (2 * x["a"] + x["a"] * x["b"] + (x["c"] == "u")).to_numpy()


def noise(n: int) -> Any:
    return np.random.default_rng(1).normal(size=n)


Make = Callable[[Any], tuple[Any, Any]]
TARGETS: dict[str, Make] = {
    "two classes": lambda eta: (AdditiveClassifier(), np.where(eta + noise(len(eta)) > 0, "yes", "no")),
    "three classes": lambda eta: (AdditiveClassifier(), np.digitize(eta + noise(len(eta)), [-1.0, 1.0])),
    "numbers": lambda eta: (AdditiveRegressor(), eta + noise(len(eta))),
    "counts": lambda eta: (AdditiveRegressor(family="poisson"), np.round(np.exp(np.clip(eta / 3, -3, 2)) + 0.3)),
    "positive": lambda eta: (AdditiveRegressor(family="gamma"), np.exp(eta / 3 + 0.2 * noise(len(eta)))),
}


def predicted(model: Any, x: pd.DataFrame) -> Any:
    return model.predict_proba(x) if isinstance(model, AdditiveClassifier) else model.predict(x)


def stored(model: Any, folder: Path) -> Any:
    model.save(folder / "model")
    return suffice.load(folder / "model")


@pytest.fixture(params=TARGETS)
def make(request: pytest.FixtureRequest) -> Make:
    return TARGETS[request.param]


@pytest.mark.parametrize(("unit", "offset"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e6), (1e-200, 0.0), (1e200, 0.0)])
def test_units_and_offsets_of_columns_do_not_matter(make: Make, unit: float, offset: float) -> None:
    x, eta = table()
    model, y = make(eta)
    expected = predicted(model.fit(x, y), x)
    other = x.assign(a=x["a"] * unit + offset, b=x["b"] * unit + offset)
    np.testing.assert_allclose(predicted(model.fit(other, y), other), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-200, 1e-6, 1e6, 1e300])
def test_units_of_straight_lines_do_not_matter(unit: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, size=(1200, 2))
    y = x[:, 0] + x[:, 1] ** 2 + 0.2 * rng.normal(size=1200)
    expected, model = (AdditiveRegressor(interactions=0).fit(each, y) for each in (x, x * unit))
    assert model.solution_.lines == expected.solution_.lines == 1
    np.testing.assert_allclose(model.predict(x * unit), expected.predict(x), rtol=1e-9, atol=1e-9)


def test_constant_and_missing_columns_change_nothing(make: Make, tmp_path: Path) -> None:
    x, eta = table()
    model, y = make(eta)
    expected = predicted(model.fit(x, y), x)
    wider = x.assign(same=3.0, gap=np.nan, none=None, word="one")
    np.testing.assert_allclose(predicted(model.fit(wider, y), wider), expected, rtol=1e-6)
    other = wider.assign(same=9.0, gap=1.0, word="two")
    np.testing.assert_allclose(predicted(stored(model, tmp_path), other), expected, rtol=1e-6)


def test_a_model_of_constant_columns_predicts_the_mean_and_explains_it(make: Make, tmp_path: Path) -> None:
    _, eta = table()
    model, y = make(eta)
    x = pd.DataFrame({"same": np.ones(len(eta)), "gap": np.full(len(eta), np.nan)})
    model.fit(x, y)
    assert model.terms_ == []
    p = predicted(stored(model, tmp_path), x)[0]
    expected = pd.Series(y).value_counts(normalize=True).sort_index() if p.ndim else np.mean(y)
    np.testing.assert_allclose(p, expected, rtol=1e-4)  # of several classes, after some steps of Newton's method
    explanations = model.explain(x[:2])
    assert [each.contributions for each in explanations] == [(), ()]
    assert explanations[0].total == explanations[0].base


def test_a_stream_gives_the_model_of_rows_in_memory(make: Make) -> None:
    x, eta = table()
    model, y = make(eta)
    expected = predicted(model.fit(x, y), x)
    order = np.random.default_rng(2).permutation(len(x))
    parts = ((x.iloc[order[at : at + 70]], y[order[at : at + 70]]) for at in range(0, len(x), 70))
    np.testing.assert_array_equal(predicted(model.fit(parts), x), expected)


@pytest.mark.parametrize("most", [10_000, 150], ids=["all rows", "a sample"])
def test_the_order_of_rows_does_not_matter(make: Make, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "MOST_ROWS", most)
    x, eta = table()
    x, eta = pd.concat([x, x[:90]]), np.append(eta, eta[:90])  # rows that are given twice, with the same target or not
    model, y = make(eta)
    order, weight = np.random.default_rng(2).permutation(len(x)), np.random.default_rng(3).integers(1, 4, size=len(x))
    for weights in (None, np.full(len(x), 0.1), weight / 7):
        expected = predicted(model.fit(x, y, weights), x)
        found = predicted(model.fit(x.iloc[order], y[order], None if weights is None else weights[order]), x)
        # Sums over all rows, of more rows than a sample has and of different weights, differ by rounding.
        is_exact = most > len(x) and (weights is None or np.ptp(weights) == 0)
        np.testing.assert_allclose(found, expected, rtol=0 if is_exact else 1e-8)


def test_explanations_of_a_stored_model_add_up(make: Make, tmp_path: Path) -> None:
    x, eta = table()
    model, y = make(eta)
    read = stored(model.fit(x, y), tmp_path)
    for mine, theirs in zip(model.explain(x[:20]), read.explain(x[:20]), strict=True):
        assert mine == theirs
        total = mine.base + sum(part.effect for part in mine.contributions)
        assert total == pytest.approx(mine.total, rel=1e-12, abs=1e-12)


def test_edited_and_removed_terms_are_stored(make: Make, tmp_path: Path) -> None:
    x, eta = table()
    model, y = make(eta)
    model.fit(x, y)
    model.edit("a", model.term("a").values / 3 + 0.1).remove("c")
    read = stored(model, tmp_path)
    assert "c" not in [term.name for term in read.terms_]
    np.testing.assert_array_equal(predicted(read, x), predicted(model, x))
    np.testing.assert_array_equal(read.term("a").values, model.term("a").values)


def test_two_rows_are_enough_and_one_is_not(make: Make) -> None:
    x, eta = table()
    model, y = make(eta)
    rows = [int(np.flatnonzero(y == y[0])[0]), int(np.flatnonzero(y != y[0])[0])]
    assert np.isfinite(predicted(model.fit(x.iloc[rows], y[rows]), x)).all()
    with pytest.raises(ValueError, match="needs at least 2 rows; got n_samples = 1"):
        model.fit(x[:1], y[:1])


def test_targets_that_are_all_equal() -> None:
    x, _ = table()
    np.testing.assert_allclose(AdditiveRegressor().fit(x, np.full(len(x), 5.0)).predict(x), 5.0, rtol=1e-12)
    np.testing.assert_allclose(
        AdditiveRegressor(family="poisson").fit(x, np.full(len(x), 5)).predict(x), 5.0, rtol=1e-6
    )
    with pytest.raises(ValueError, match="y has one class, 'only': a classifier needs rows of at least 2 classes"):
        AdditiveClassifier().fit(x, ["only"] * len(x))


def test_rows_of_weight_zero_are_left_out(make: Make) -> None:
    x, eta = table()
    model, y = make(eta)
    some = predicted(model.fit(x[:200], y[:200]), x)
    weight = np.r_[np.ones(200), np.zeros(len(x) - 200)]
    np.testing.assert_allclose(predicted(model.fit(x, y, sample_weight=weight), x), some, rtol=1e-9)


@pytest.mark.parametrize("known", [5.0, 300.0, -600.0])
def test_the_same_offset_for_all_rows_moves_the_intercept_only(make: Make, known: float) -> None:
    x, eta = table()
    model, y = make(eta)
    if len(np.unique(y)) == 3:
        pytest.skip("an offset needs two classes, or a number")
    offset = np.full(len(x), known)
    y_known = y + known if isinstance(model, AdditiveRegressor) and model.family == "gaussian" else y
    expected = model.fit(x, y_known, offset=0 * offset).intercept_
    assert model.fit(x, y_known, offset=offset).intercept_ == pytest.approx(expected - known, rel=1e-9)
    shifted = model.predict_proba if isinstance(model, AdditiveClassifier) else model.predict
    np.testing.assert_allclose(
        shifted(x, offset=offset), predicted(model.fit(x, y_known, offset=0 * offset), x), rtol=1e-6
    )


def test_counts_of_large_exposures_are_predicted() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1000, 2))
    exposure = np.exp(rng.uniform(7, 17, size=1000))
    mean = exposure * np.exp(x[:, 0] / 3 - 11)
    model = AdditiveRegressor(family="poisson").fit(x, rng.poisson(mean), offset=np.log(exposure))
    error = np.log(model.predict(x, offset=np.log(exposure)) / mean)
    assert np.sqrt(np.average(error**2, weights=mean)) < 0.15


def test_a_fold_without_counts_has_a_finite_start() -> None:
    x = np.arange(40.0)[:, None]
    y = np.r_[np.zeros(39), 3.0]
    p = AdditiveRegressor(family="poisson", folds=40).fit(x, y).predict(x)
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(3.0, rel=0.05)


def test_ties_and_unknown_levels_are_predicted(make: Make) -> None:
    x, eta = table()
    model, y = make(eta)
    tied = x.assign(a=np.where(np.arange(len(x)) % 10, 0.0, x["a"]))
    assert np.isfinite(predicted(model.fit(tied, y), tied.assign(c="never seen"))).all()


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("kind", ["two classes", "numbers", "positive"])
def test_monotone_terms_stay_monotone_in_memory_in_files_and_in_predictions(
    kind: str, direction: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.normal(size=(1500, 3)), columns=list("abc"))
    model, y = TARGETS[kind]((x["a"] + np.sin(2 * x["b"])).to_numpy())
    model.set_params(monotone={"a": direction, "b": direction}).fit(x, y)
    grid = pd.DataFrame({"a": np.linspace(-5, 5, 400), "b": 0.1, "c": 0.0})
    for each in (model, stored(model, tmp_path)):
        for name in "ab":
            assert (direction * np.diff(each.term(name).values[1:])).min() >= 0
        p = predicted(each, grid)
        assert (direction * np.diff(p[:, 1] if p.ndim == 2 else p)).min() >= 0
