"""Additive models as users see them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import check_estimator

import suffice
from suffice import AdditiveClassifier, AdditiveRegressor
from suffice.additive.bins import ColumnBins
from suffice.additive.copies import excess_sizes
from suffice.statistics import Labels

FOLDS = "penalties and pairs are chosen on folds, in which a row of weight 2 is not two rows"
DIFFERENT = {"check_sample_weight_equivalence_on_dense_data": FOLDS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [AdditiveClassifier(), AdditiveRegressor(), AdditiveRegressor(family="poisson")])
def test_estimators_keep_the_conventions_of_scikit_learn(model: Any) -> None:
    check_estimator(model, expected_failed_checks=DIFFERENT)


def interacting(n: int = 600) -> tuple[pd.DataFrame, Any]:
    """Return rows whose classes depend on the product of two columns, and on a category."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.uniform(-2, 2, size=(n, 3)), columns=["a", "b", "noise"])
    table["kind"] = pd.Categorical.from_codes(rng.integers(0, 3, size=n), ["u", "v", "w"])
    odds = 3 * table["a"] * table["b"] + table["kind"].cat.codes.to_numpy() - 1
    return table, np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-odds)), "yes", "no")


def test_the_pair_that_interacts_is_found() -> None:
    table, y = interacting()
    model = AdditiveClassifier(interactions=1).fit(table, y)
    assert model.term(("a", "b")).name == "a × b"
    alone = AdditiveClassifier(interactions=0).fit(table, y)
    test, truth = interacting(2000)
    assert log_loss(truth, model.predict_proba(test)) < 0.7 * log_loss(truth, alone.predict_proba(test))


@pytest.mark.parametrize("case", ["two classes", "three classes", "numbers", "counts"])
def test_explanations_add_up_to_the_predictor(case: str) -> None:
    if case in ("two classes", "three classes"):
        table, y = interacting()
        y = y if case == "two classes" else np.where(table["noise"] > 1, "maybe", y)
        model: Any = AdditiveClassifier().fit(table, y)
        scores = model.decision_function(table[:5])
        for row, explanation in enumerate(model.explain(table[:5])):
            total = explanation.base + sum(part.effect for part in explanation.contributions)
            assert total == pytest.approx(explanation.total, abs=1e-10)
            if case == "two classes":
                sign = 1 if explanation.prediction == "yes" else -1
                assert sign * scores[row] == pytest.approx(total, abs=1e-10)
    else:
        x, y = load_diabetes(return_X_y=True)
        model = AdditiveRegressor(family="gaussian" if case == "numbers" else "poisson").fit(x, y)
        for prediction, explanation in zip(model.predict(x[:5]), model.explain(x[:5]), strict=True):
            total = explanation.base + sum(part.effect for part in explanation.contributions)
            assert prediction == pytest.approx(total if case == "numbers" else np.exp(total), rel=1e-10)


def test_terms_have_mean_zero_and_pairs_no_main_effects() -> None:
    table, y = interacting()
    for term in AdditiveClassifier(interactions=3).fit(table, y).terms_:
        assert (term.density * term.values).sum() == pytest.approx(0.0, abs=1e-7)
        if len(term.columns) == 2:
            for axis in (0, 1):
                np.testing.assert_allclose((term.density * term.values).sum(axis=axis), 0.0, atol=1e-7)


@pytest.mark.parametrize("direction", [1, -1])
def test_a_monotone_term_rises_or_falls(direction: int) -> None:
    x, y = load_diabetes(return_X_y=True, as_frame=True)
    model = AdditiveRegressor(monotone={"bmi": direction, "s5": direction}).fit(x, y)
    for name in ("bmi", "s5"):
        steps = direction * np.diff(model.term(name).values[1:])
        assert steps.min() >= -1e-10
        assert not any(name in term.columns for term in model.terms_ if len(term.columns) == 2)
    assert model.score(x, y) > (0.3 if direction == 1 else -0.1)


def test_missing_cells_and_unknown_levels_have_bins_of_their_own() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=500), "c": rng.choice(["x", "y", None], size=500)})
    table.loc[rng.uniform(size=500) < 0.3, "a"] = np.nan
    y = np.where(table["a"].isna(), 5.0, table["a"]) + 0.1 * rng.normal(size=500)
    model = AdditiveRegressor(interactions=0).fit(table, y)
    assert model.predict(pd.DataFrame({"a": [np.nan], "c": ["x"]}))[0] == pytest.approx(5.0, abs=0.3)
    assert model.term("c").labels[0] == ("missing", "other", "x", "y")
    assert np.isfinite(model.predict(pd.DataFrame({"a": [0.0], "c": ["never seen"]}))).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_model_is_saved_and_read_with_the_same_predictions(frame: Any, tmp_path: Path) -> None:
    table, y = interacting()
    given = frame(table.astype({"kind": str}).to_dict("list"))
    model = AdditiveClassifier(class_weight="balanced").fit(given, y)
    model.save(tmp_path / "model")
    read = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict_proba(given), model.predict_proba(given))
    assert [term.name for term in read.terms_] == [term.name for term in model.terms_]
    assert read.solution_ == model.solution_._replace(seconds=0.0)  # the same fit writes the same file
    assert read.classes_.tolist() == ["no", "yes"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(given), model.predict_proba(given))


def test_a_term_is_edited_and_removed() -> None:
    table, y = interacting()
    model = AdditiveClassifier().fit(table, y)
    before = model.decision_function(table)
    effect = model.term("kind").values[2 + table["kind"].cat.codes.to_numpy()]
    np.testing.assert_allclose(model.remove("kind").decision_function(table), before - effect, atol=1e-12)
    values = model.term("a").values
    np.testing.assert_allclose(
        model.edit("a", values + 1.0).decision_function(table), before - effect + 1.0, atol=1e-12
    )
    with pytest.raises(ValueError, match="no term is called 'kind'; the terms are"):
        model.edit("kind", values)
    with pytest.raises(ValueError, match="must have the shape"):
        model.edit("a", [1.0])


def test_a_fit_is_the_same_for_any_number_of_threads() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    one, two = (AdditiveClassifier(n_jobs=jobs).fit(x, y).decision_function(x) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_an_offset_is_a_known_part_of_the_predictor() -> None:
    rng = np.random.default_rng(0)
    x, exposure = rng.uniform(size=(2000, 1)), rng.uniform(1, 20, size=2000)
    y = rng.poisson(exposure * np.exp(x[:, 0]))
    model = AdditiveRegressor(family="poisson").fit(x, y, offset=np.log(exposure))
    np.testing.assert_allclose(model.predict([[0.2], [0.8]]), np.exp([0.2, 0.8]), rtol=0.15)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_bins": 300}, "max_bins must be None or a whole number from 2 to 254; got 300"),
        ({"folds": 1}, "folds must be None or a whole number, 2 or more; got 1"),
        ({"interactions": "some"}, "interactions must be 'auto'"),
        ({"interactions": [("a", "z")]}, "interactions names 'z', which is no column of X"),
        ({"monotone": {"kind": 1}}, "holds categories, which have no order"),
        ({"monotone": {"a": 2}}, "must be 1 \\(rising\\)"),
        ({"monotone": {"a": 1}, "interactions": [("a", "b")]}, "and monotone 'a': a pair could undo"),
        ({"interactions": [("a", "a")]}, "a pair has two different columns"),
        ({"monotone": [1, 0, 0, 0]}, "monotone must be a dict of columns, {'age': 1}, or None; got \\[1, 0, 0, 0\\]"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    table, y = interacting(60)
    with pytest.raises(ValueError, match=message):
        AdditiveClassifier(**parameters).fit(table, y)


def test_a_given_pair_with_a_constant_column_changes_nothing() -> None:
    table, y = interacting(100)
    model = AdditiveClassifier(interactions=[("a", "same"), ("a", "b")]).fit(table.assign(same=1.0), y)
    assert [term.name for term in model.terms_ if len(term.columns) == 2] == ["a × b"]


def test_a_term_of_an_unfitted_model_is_refused() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        AdditiveClassifier().term("a")


def test_a_column_of_numbers_refuses_strings_later() -> None:
    x, y = load_wine(return_X_y=True, as_frame=True)
    model = AdditiveClassifier(interactions=0).fit(x, y)
    with pytest.raises(ValueError, match="column 'ash' was learned as numbers; row 2 is 'high'"):
        model.predict(x.assign(ash=[2.4, 2, "high", *x["ash"][3:]]))


def test_models_are_neither_added_nor_reduced() -> None:
    x, y = load_wine(return_X_y=True)
    model = AdditiveClassifier(interactions=0).fit(x, y)
    with pytest.raises(TypeError, match="cannot be added: what they learn depends on all rows at once"):
        model + model
    assert not hasattr(model, "forget")
    with pytest.raises(AttributeError, match="cannot forget rows: its terms depend on all rows at once; fit again"):
        model.forget(x[:1], y[:1])


def test_the_units_of_weights_and_targets_do_not_matter() -> None:
    x, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    expected = AdditiveRegressor().fit(x, y, sample_weight=weight).predict(x)
    for unit in (1e-6, 1e6):
        np.testing.assert_allclose(
            AdditiveRegressor().fit(x, y, sample_weight=weight * unit).predict(x), expected, rtol=1e-6
        )


@pytest.mark.parametrize("unit", [1e-250, 1e-45, 1e-30, 1e-6, 1e6, 1e60, 1e250])
def test_targets_have_any_unit_in_memory_and_in_files(unit: float, tmp_path: Path) -> None:
    x, y = load_diabetes(return_X_y=True)
    expected = AdditiveRegressor(interactions=0).fit(x, y).predict(x)
    model = AdditiveRegressor(interactions=0).fit(x, y * unit)
    np.testing.assert_allclose(model.predict(x) / unit, expected, rtol=1e-6)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict(x), model.predict(x))
    assert (model.terms_[2].errors > 0).any()


def test_rows_beyond_a_wide_margin_are_predicted_as_well_as_held_out_rows() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 14))
    score = x @ rng.normal(size=14)
    far = np.abs(score) > 0.8 * np.abs(score).mean()
    x, y = x[far], (score[far] > 0).astype(int)
    model = AdditiveClassifier(interactions=0).fit(x[::2], y[::2])
    assert log_loss(y[1::2], model.predict_proba(x[1::2])) < model.solution_.main_loss


def test_a_pair_is_found_though_columns_alone_leave_a_small_loss() -> None:
    cells = np.random.default_rng(0).integers(0, 4, (3000, 5))
    y = cells[:, 0] * cells[:, 1] + cells[:, 2] + cells[:, 3] > 7
    model = AdditiveClassifier().fit(cells[::2].astype(str), y[::2])
    assert log_loss(y[1::2], model.predict_proba(cells[1::2].astype(str))) < 5e-4


def test_columns_that_say_the_same_share_their_effect_in_any_order() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=1500)
    x = pd.DataFrame({name: common + 0.1 * rng.normal(size=1500) for name in "ab"})
    y = x["a"] + x["b"] + rng.normal(size=1500)
    for columns in (["a", "b"], ["b", "a"]):
        model = AdditiveRegressor(interactions=0).fit(x[columns], y)
        one, two = (model.term(name).importance for name in "ab")
        assert 0.9 < one / two < 1.1


def test_no_pairs_are_sought_where_columns_alone_are_certain() -> None:
    cells = np.random.default_rng(0).integers(0, 4, (2000, 5)).astype(str)
    model = AdditiveClassifier().fit(cells, cells[:, 0] == "1")
    assert model.solution_.reason == "columns alone are certain of the held-out rows"
    assert all(len(term.columns) == 1 for term in model.terms_)


@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian"])
def test_the_unit_of_positive_targets_does_not_matter(family: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 3))
    y = np.exp(np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2]) * rng.gamma(5.0, 0.2, 400)
    models = [AdditiveRegressor(family=family).fit(x, unit * y) for unit in (1e-6, 1.0, 1e6)]
    small, one, large = (model.predict(x) for model in models)
    np.testing.assert_allclose(1e6 * small, one, rtol=1e-6)
    np.testing.assert_allclose(1e-6 * large, one, rtol=1e-6)


def test_mean_probabilities_are_the_shares_of_the_classes() -> None:
    x, y = load_wine(return_X_y=True)
    model = AdditiveClassifier().fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x).mean(axis=0), np.bincount(y) / len(y), atol=1e-4)


def noisy(n: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(n, columns))
    return x, 2 * np.sin(x[:, 0]) + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("what", ["numbers", "classes", "weights"])
def test_rows_given_twice_give_the_model_of_rows_given_once(what: str) -> None:
    x, y = noisy(400, 3)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 400) if what == "weights" else np.ones(400)
    kind: Any = AdditiveClassifier if what == "classes" else AdditiveRegressor
    y = y > 0 if what == "classes" else y
    once = kind(max_bins=100).fit(x, y, sample_weight=weight)
    twice = kind(max_bins=100).fit(np.tile(x, (2, 1)), np.tile(y, 2), sample_weight=np.tile(weight, 2))
    assert (once.solution_.copies, twice.solution_.copies) == (0, 400)
    predict = "predict_proba" if what == "classes" else "predict"
    np.testing.assert_allclose(getattr(twice, predict)(x), getattr(once, predict)(x), rtol=1e-9)
    np.testing.assert_allclose(twice.terms_[0].errors, once.terms_[0].errors, rtol=1e-6)


def test_noise_of_upsampled_rows_is_not_learned() -> None:
    x, y = noisy(500, 8)
    rows = np.concatenate([np.arange(500), np.repeat(np.arange(100), 4)])
    model = AdditiveRegressor().fit(x[rows], y[rows])
    assert model.solution_.copies == 400
    assert model.score(x[:100], y[:100]) < 0.98  # the variance of the noise is a tenth of that of y


@pytest.mark.parametrize("case", ["few values", "a rounded number", "a column and its negative", "counts"])
def test_equal_rows_of_few_values_are_different_observations(case: str) -> None:
    rng = np.random.default_rng(1)
    n = 1500
    age = rng.integers(18, 70, n)
    y: Any = rng.random(n) < age / 90
    model: Any = AdditiveClassifier()
    x = {
        "few values": rng.integers(0, 3, size=(n, 4)),
        "a rounded number": age[:, None],
        "a column and its negative": np.stack([age, -age, -age // 2], axis=1),
        "counts": rng.integers(0, 5, size=(n, 2)),
    }[case]
    if case == "counts":
        model, y = AdditiveRegressor(family="poisson"), rng.poisson(x[:, 0] + 1)
    assert len(np.unique(np.column_stack([x, y]), axis=0)) < n / 2
    assert model.fit(x, y).solution_.copies == 0


@pytest.mark.parametrize("case", ["few values", "skewed"])
def test_copies_of_rows_with_few_values_are_recognised(case: str) -> None:
    rng = np.random.default_rng(1)
    few, skewed = rng.integers(0, 6, size=(800, 6)), rng.lognormal(size=(800, 4)) * (rng.random((800, 4)) > 0.6)
    x = few if case == "few values" else skewed
    y = x[:, 0] + rng.normal(size=800) > np.median(x[:, 0])
    once, twice = (AdditiveClassifier().fit(np.tile(x, (times, 1)), np.tile(y, times)) for times in (1, 2))
    assert once.solution_.copies == 0
    assert twice.solution_.copies >= 800
    assert twice.score(x, y) <= once.score(x, y) + 0.03  # noise is not learned


@pytest.mark.parametrize("trials", [2, 5])
def test_trials_of_a_balanced_design_are_not_copies(trials: int) -> None:
    rng = np.random.default_rng(trials)
    cells = rng.normal(size=(300, 3))
    x, chance = np.repeat(cells, trials, axis=0), np.repeat(rng.random(300), trials)
    y = rng.random(len(x)) < chance
    assert AdditiveClassifier().fit(x, y).solution_.copies == 0


def test_independent_draws_are_not_taken_for_copies() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, cells = int(10 ** rng.uniform(1.5, 4)), int(10 ** rng.uniform(0.3, 4))
        sizes = np.bincount(rng.choice(cells, n, p=rng.dirichlet(np.full(cells, 10 ** rng.uniform(-1, 1)))))
        assert len(excess_sizes(sizes[sizes > 0])) == 0, seed


def test_a_file_of_several_classes_has_three_bytes_a_value(tmp_path: Path) -> None:
    x, y = make_classification(2000, 8, n_informative=6, n_classes=5, random_state=0)
    model = AdditiveClassifier(folds=2).fit(x, y)
    assert model.solution_.pairs > 0
    assert max(len(term.labels[0]) for term in model.terms_) <= 2 + 640 // 5
    model.save(tmp_path / "model")
    values = sum(term.values.size for term in model.terms_)
    edges = sum(len(term.edges[0]) for term in model.terms_ if len(term.columns) == 1 and term.edges[0] is not None)
    assert (tmp_path / "model").stat().st_size < 3 * values + 2 * values // 5 + 8 * edges + 12_000
    read = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict_proba(x), model.predict_proba(x))
    for mine, theirs in zip(model.terms_, read.terms_, strict=True):
        assert mine.labels == theirs.labels
        for field in ("values", "errors", "density"):
            np.testing.assert_array_equal(getattr(theirs, field), getattr(mine, field))


def test_an_edited_term_is_saved_exactly(tmp_path: Path) -> None:
    table, y = interacting()
    model = AdditiveClassifier().fit(table, y)
    model.edit("a", model.term("a").values / 3.0).save(tmp_path / "model")
    read = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(read.term("a").values, model.term("a").values)
    np.testing.assert_array_equal(read.predict_proba(table), model.predict_proba(table))


def straight_and_bent(n: int = 1500) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.uniform(-2, 2, size=(n, 2)), columns=["straight", "bent"])
    table.loc[::20, "straight"] = np.nan
    return table, 2 * np.nan_to_num(table["straight"]) + table["bent"] ** 2 + 0.5 * rng.normal(size=n)


def test_a_term_that_held_out_rows_cannot_tell_from_a_line_is_one(tmp_path: Path) -> None:
    table, y = straight_and_bent()
    model = AdditiveRegressor(interactions=0).fit(table, y)
    assert [term.is_line for term in model.terms_] == [True, False]
    assert model.solution_.lines == 1
    assert model.solution_.line_loss <= model.solution_.main_loss * 1.01
    values, places = model.term("straight").values[1:], model.scorer().columns[0].places()[1:]
    slope, height = np.polyfit(places, values, 1)
    np.testing.assert_allclose(values, height + slope * places, atol=1e-8)
    assert slope == pytest.approx(4.0, rel=0.05)  # 2 over half of the range
    assert model.term("straight").errors[1] > 0
    model.save(tmp_path / "model")
    read = suffice.load(tmp_path / "model")
    assert [term.is_line for term in read.terms_] == [True, False]
    np.testing.assert_array_equal(read.predict(table), model.predict(table))
    assert not read.edit("straight", read.term("straight").values * 2).term("straight").is_line


@pytest.mark.parametrize("direction", [1, -1])
def test_a_monotone_line_has_the_slope_that_is_asked_for(direction: int) -> None:
    table, y = straight_and_bent()
    model = AdditiveRegressor(interactions=0, monotone={"straight": direction}).fit(table, y)
    assert (direction * np.diff(model.term("straight").values[1:])).min() >= 0


def test_few_rows_and_several_classes_have_curves() -> None:
    table, y = straight_and_bent()
    assert AdditiveRegressor(interactions=0).fit(table[:900], y[:900]).solution_.lines == 0
    classes = np.digitize(y, [0.0, 2.0])
    assert AdditiveClassifier(interactions=0).fit(table, classes).solution_.lines == 0


def persons(people: int = 60, rows: int = 10) -> tuple[Any, Any, Any]:
    """Return bins that identify the person, classes of the persons, and the person of each row."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(people), rows)
    order = np.stack([rng.permutation(people)[person] for _ in range(3)]).astype(np.uint8) + np.uint8(1)
    return order, rng.integers(0, 2, people)[person], person.astype(np.int64)


def test_rows_of_a_group_are_held_out_together_when_penalties_are_chosen() -> None:
    bins, codes, person = persons()
    columns = [ColumnBins(name, np.arange(59.0) + 0.5) for name in "abc"]
    leaking, grouped = (
        AdditiveClassifier().fit_bins(columns, bins, codes, Labels((0, 1)), groups=groups) for groups in (None, person)
    )
    assert leaking.solution_.main_loss < 0.3
    assert 0.6 < grouped.solution_.main_loss < 0.8  # of guessing: 0.69
    assert sum(term.importance for term in grouped.terms_) < 0.2 * sum(term.importance for term in leaking.terms_)


def test_later_rows_are_held_out_when_penalties_are_chosen() -> None:
    rng = np.random.default_rng(0)
    bins = rng.integers(1, 9, size=(1, 1000)).astype(np.uint8)
    time = np.arange(1000.0)
    target = np.where(time < 600, 1.0, -1.0) * bins[0] + 0.1 * rng.normal(size=1000)
    columns = [ColumnBins("x", np.arange(7.0) + 0.5)]
    mixed, ordered = (AdditiveRegressor().fit_bins(columns, bins, target, times=times) for times in (None, time))
    assert ordered.solution_.main_loss > 1.2 * mixed.solution_.main_loss
    assert ordered.solution_.folds == 4  # the first fifth is learned only
    noise = AdditiveRegressor().fit_bins(columns, bins, rng.normal(size=1000), times=time)
    assert noise.solution_.main_loss == pytest.approx(0.5, rel=0.1)  # per held-out row, half of the variance
    one_time = AdditiveRegressor().fit_bins(columns, bins, target, times=np.zeros(1000))
    assert one_time.solution_.main_loss == mixed.solution_.main_loss


def test_a_class_that_occurs_late_is_learned_before_it_is_tested() -> None:
    rng = np.random.default_rng(0)
    bins = rng.integers(1, 9, size=(1, 500)).astype(np.uint8)
    codes = np.where(np.arange(500) < 350, bins[0] > 4, 2).astype(np.int64)
    columns = [ColumnBins("x", np.arange(7.0) + 0.5)]
    model = AdditiveClassifier().fit_bins(columns, bins, codes, Labels((0, 1, 2)), times=np.arange(500.0))
    assert model.solution_.folds == 1
    assert np.isfinite(model.solution_.main_loss)


def test_terms_are_fitted_to_other_rows_with_the_penalties_that_were_chosen() -> None:
    rng = np.random.default_rng(1)
    bins = rng.integers(1, 9, size=(2, 2000)).astype(np.uint8)
    target = np.where(bins[0] > 4, 1.0, -1.0) * (bins[1] > 3) + 0.3 * rng.normal(size=2000)
    columns = [ColumnBins(name, np.arange(7.0) + 0.5) for name in "ab"]
    whole = AdditiveRegressor().fit_bins(columns, bins, target)
    again = AdditiveRegressor().fit_bins(columns, bins[:, :1600], target[:1600]).refit_bins(bins, target)
    assert [term.name for term in again.terms_] == [term.name for term in whole.terms_]
    assert again.solution_.rows == 1600
    for mine, theirs in zip(again.terms_, whole.terms_, strict=True):
        np.testing.assert_allclose(mine.values, theirs.values, atol=0.02)
        np.testing.assert_allclose(mine.density, theirs.density)
