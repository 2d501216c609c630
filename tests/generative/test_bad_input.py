"""Bad input: it works as a reader would expect, or an error names the value and the cure."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from suffice import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    LinearRegression,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    TextClassifier,
)
from suffice.selection import cross_validate

from .rows import CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=str)
COUNTING = [MultinomialNB, ComplementNB, PoissonNB]


@each_case
def test_unfitted_use(case: Case) -> None:
    x, y = case.draw(20)
    for act in (
        lambda model: model.predict(x),
        lambda model: model.predict_proba(x),
        lambda model: model.log_evidence(x),
        lambda model: model.sample(3),
        lambda model: model.explain(x),
        lambda model: model.forget(x, y),
        lambda model: model + model,
        lambda model: model.save("nowhere.model"),
    ):
        with pytest.raises(NotFittedError):
            act(case.make())


@each_case
def test_empty_data(case: Case) -> None:
    x, y = case.draw(20)
    with pytest.raises(ValueError, match="sample"):
        case.make().fit(x[:0], y[:0])
    with pytest.raises(ValueError, match=r"feature|columns"):
        case.make().fit(x[:, :0], y)
    with pytest.raises(ValueError, match=r"no rows \(samples\)"):
        case.make().fit(iter(()))


@each_case
def test_labels_and_weights_that_do_not_fit_the_rows(case: Case) -> None:
    x, y = case.draw(20)
    with pytest.raises(ValueError, match="20 rows and y has 19"):
        case.make().fit(x, y[:-1])
    with pytest.raises(ValueError, match="X has 20 rows and sample_weight has 19: there must be one per row"):
        case.make().fit(x, y, sample_weight=np.ones(19))
    with pytest.raises(ValueError, match=r"sample_weight\[3\] is -2"):
        case.make().fit(x, y, sample_weight=np.where(np.arange(20) == 3, -2.0, 1.0))
    with pytest.raises(ValueError, match="zero"):
        case.make().fit(x, y, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match=r"y\[2\] is nan"):
        case.make().fit(x, np.where(np.arange(20) == 2, np.nan, y))
    with pytest.raises(ValueError, match=r"y\[0\] is \d\.5"):
        case.make().fit(x, y + 0.5)
    with pytest.raises(ValueError, match="y is missing"):
        case.make().fit(x, None)


@each_case
def test_unknown_labels(case: Case) -> None:
    x, y = case.draw(30)
    model = case.make().partial_fit(x, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"y\[1\] is 9"):
        model.partial_fit(x[:2], [0, 9])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(x[:2], [0, 1], classes=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="9"):
        model.sample(2, y=9)


@each_case
def test_feature_counts_that_differ(case: Case) -> None:
    x, y = case.draw(30)
    model = case.make().fit(x, y)
    with pytest.raises(ValueError, match=f"X has {x.shape[1] - 1} features, but .* is expecting {x.shape[1]}"):
        model.predict(x[:, 1:])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(x[:, 1:], y)


@each_case
def test_one_class_only(case: Case) -> None:
    x, _ = case.draw(30)
    model = case.make().fit(x, np.full(30, "ham"))
    np.testing.assert_array_equal(model.predict(x), "ham")
    np.testing.assert_allclose(model.predict_proba(x), 1.0)


@each_case
def test_a_class_announced_but_never_seen_is_never_chosen(case: Case) -> None:
    x, y = case.draw(40)
    model = case.make().partial_fit(x, y, classes=[0, 1, 2, 3])
    proba = model.predict_proba(x)
    assert np.isfinite(proba).all()
    if "Complement" not in case.name:
        np.testing.assert_array_equal(proba[:, 3], 0.0)
        np.testing.assert_allclose(proba[:, :3], case.make().fit(x, y).predict_proba(x), atol=1e-10)


def _value(case: Case, value: float) -> tuple[Any, Any]:
    x, y = case.draw(20)
    x = x.astype(float)
    x[4, 1] = value
    return x, y


@pytest.mark.parametrize("case", [case for case in CASES if "Categorical" not in case.name], ids=str)
def test_infinity_is_named(case: Case) -> None:
    x, y = _value(case, np.inf)
    with pytest.raises(ValueError, match=r"\[4, 1\] is inf"):
        case.make().fit(x, y)
    model = case.make().fit(*case.draw(20))
    with pytest.raises(ValueError, match=r"\[4, 1\] is inf"):
        model.predict(x)
    with pytest.raises(ValueError, match=r"\[0, 1\] is inf"):
        model.partial_fit(x[4:5], y[4:5])


@pytest.mark.parametrize("make", COUNTING)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_negative_counts_are_named(make: Any, form: Any) -> None:
    x, y = CASES[2].draw(20)
    bad = x.copy()
    bad[4, 1] = -3
    with pytest.raises(ValueError, match=r"Negative values in data.*\[4, 1\] is -3"):
        make().fit(form(bad), y)
    model = make().fit(form(x), y)
    before = model.class_count_.copy()
    with pytest.raises(ValueError, match=r"\[0, 1\] is -3"):
        model.partial_fit(form(bad[4:5]), y[4:5])
    np.testing.assert_array_equal(model.class_count_, before)


@pytest.mark.parametrize(
    "make", [GDA, GaussianNB, PoissonNB, MixedNB, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB]
)
def test_priors_that_are_none(make: Any) -> None:
    x, y = CASES[2].draw(40)
    name = "class_prior" if hasattr(make(), "class_prior") and make is not PoissonNB else "priors"
    for priors, words in [
        ([0.5, 0.6, 0.2], "sum to 1.3"),
        ([-0.1, 0.6, 0.5], "non-negative.* is -0.1"),
        ([0.5, 0.5], "Number of priors"),
        ({0: 0.5, 1: 0.5, 7: 0.0}, "must name the classes"),
        ([np.nan, 0.5, 0.5], "non-negative"),
    ]:
        with pytest.raises(ValueError, match=words):
            make(**{name: priors}).fit(x, y)
    given = make(**{name: {0: 0.2, 1: 0.3, 2: 0.5}}).fit(x, y)
    listed = make(**{name: [0.2, 0.3, 0.5]}).fit(x, y)
    np.testing.assert_array_equal(given.predict_proba(x), listed.predict_proba(x))


@pytest.mark.parametrize("make", [MultinomialNB, ComplementNB, BernoulliNB, PoissonNB, CategoricalNB, GaussianNB])
def test_smoothing_that_makes_no_sense(make: Any) -> None:
    x, y = CASES[2].draw(40)
    for alpha, words in [
        (-1.0, r"alpha is -1"),
        (np.nan, "alpha is nan"),
        ("lots", "'lots'"),
        ([1.0, 2.0], "alpha must be one number or one per feature"),
        ([1.0, -2.0, 1.0, 1.0], r"alpha\[1\] is -2"),
    ]:
        with pytest.raises(ValueError, match=words):
            make(alpha=alpha).fit(x, y)


def test_settings_that_make_no_sense() -> None:
    x, y = CASES[0].draw(40)
    for settings, words in [
        ({"covariance": "round"}, "'round'"),
        ({"shrinkage": 1.5}, "1.5"),
        ({"shrinkage": "lots"}, "'lots'"),
        ({"shrinkage": "ledoit"}, r"'ledoit_wolf' \(or 'auto'\).*'cv' \(chosen by held-out rows\)"),
        ({"shrinkage": "auto", "missing": "em"}, "complete rows; with missing='em' give a number"),
        ({"covariance": "diagonal", "shrinkage": "auto"}, "tied and full covariances; .*'cv'"),
        ({"n_components": 0}, "n_components must be a whole number of 1 or more, or None; got 0"),
        ({"covariance": "diagonal", "shrinkage": "oas"}, "tied and full"),
        ({"missing": "drop"}, "'drop'"),
        ({"temperature": 0}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
    ]:
        with pytest.raises(ValueError, match=words):
            GDA(**settings).fit(x, y)
    with pytest.raises(ValueError, match=r"n_components cannot be larger than .* got 5 for 3 features and 3 classes"):
        GDA(n_components=5).fit(x, y)
    with pytest.raises(ValueError, match="var_smoothing"):
        GaussianNB(var_smoothing=-1).fit(x, y)
    with pytest.raises(ValueError, match="unlabelled_weight"):
        GaussianNB().fit(x, y, unlabelled=x, unlabelled_weight=-1)
    with pytest.raises(ValueError, match="bins must be at least 2"):
        CategoricalNB(bins=1).fit(x, y)
    with pytest.raises(ValueError, match="0 to 1"):
        BernoulliNB(binarize=None).fit(np.array([[0, 2], [1, 0]]), [0, 1])


def test_singular_covariances_name_the_class_and_the_cure() -> None:
    x, y = CASES[0].draw(40)
    label = np.array(["ham", "spam", "work"])[y]
    flat = x.copy()
    flat[label == "spam", 2] = 7.0
    with pytest.raises(ValueError, match=r"class 'spam' is singular: feature 2 .* shrinkage"):
        GDA("full").fit(flat, label)
    with pytest.raises(ValueError, match=r"class 'spam' is singular: feature 2 .* shrinkage"):
        GDA("diagonal").fit(flat, label)
    assert GDA("full", shrinkage=0.1).fit(flat, label).score(flat, label) > 0.4
    with pytest.raises(ValueError, match="singular"):
        GDA(shrinkage=0.0).fit(np.c_[x, x[:, 0]], y)
    wide = np.random.default_rng(0).normal(size=(12, 30)) + (np.arange(12) % 2)[:, None]
    with pytest.raises(ValueError, match="singular"):
        GDA(shrinkage=0.0).fit(wide, np.arange(12) % 2)
    for shrinkage in (0.2, "oas", "auto", "cv"):
        assert np.isfinite(GDA(shrinkage=shrinkage).fit(wide, np.arange(12) % 2).predict_proba(wide)).all()


def test_a_class_with_one_row_and_constant_columns() -> None:
    x = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [10.0, 5.0]])
    y = [0, 0, 0, 1]
    model = GaussianNB().fit(x, y)
    np.testing.assert_array_equal(model.predict([[1.5, 5.0], [10.0, 5.0], [2.0, 99.0]]), [0, 1, 0])
    assert np.isfinite(model.predict_log_proba(x)).any()
    with pytest.raises(ValueError, match="feature 0 does not vary in class 1"):
        GaussianNB(var_smoothing=0).fit(x, y)
    np.testing.assert_array_equal(GDA(shrinkage=0.5).fit(x, y).predict(x), y)
    constant = GaussianNB().fit(np.ones((4, 2)), y)
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), [[0.75, 0.25]])


@pytest.mark.parametrize("make", [GDA, GaussianNB, MultinomialNB, BernoulliNB, PoissonNB, ComplementNB])
def test_strings_where_numbers_are_due(make: Any) -> None:
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 'a'"):
        make().fit([["a", "b"], ["c", "d"]], [0, 1])


def test_unseen_categories_get_their_smoothed_share() -> None:
    x = [["red", "s"], ["red", "m"], ["blue", "s"]]
    model = CategoricalNB().fit(x, [0, 0, 1])
    proba = model.predict_proba([["green", "s"]])
    joint = np.log([2 / 3, 1 / 3]) + np.log([1 / 4, 1 / 3]) + np.log([2 / 4, 2 / 3])
    np.testing.assert_allclose(proba[0], np.exp(joint) / np.exp(joint).sum())
    np.testing.assert_allclose(model.predict_proba([[None, np.nan]]), [[2 / 3, 1 / 3]])
    codes = CategoricalNB().fit(np.array([[0], [1], [1]]), [0, 0, 1])
    assert np.isfinite(codes.predict_proba([[7], [0]])).all()


def test_a_stream_of_nonsense() -> None:
    with pytest.raises(ValueError, match="a batch of the stream must be a tuple") as error:
        GaussianNB().fit(iter([np.zeros((2, 2))]))
    assert error.value.__notes__[1:] == ["in batch 0 of the stream, counted from 0"]
    with pytest.raises(ValueError, match="leave y out"):
        GaussianNB().fit(iter([(np.zeros((2, 2)), [0, 1])]), [0, 1])


def test_batches_of_a_stream_bring_rows_or_none_and_nothing_else() -> None:
    x, y = CASES[0].draw(40)
    model = GaussianNB().fit(iter([(x[:20], y[:20]), (x[:0], y[:0]), (x[20:], y[20:])]))
    np.testing.assert_allclose(model.theta_, GaussianNB().fit(x, y).theta_)
    with pytest.raises(ValueError, match="a batch of the stream brings 'offset'; it may bring X, y, sample_weight"):
        GaussianNB().fit(iter([{"X": x, "y": y, "offset": y}]))


def test_cells_that_are_neither_numbers_nor_strings_are_refused() -> None:
    with pytest.raises(TypeError, match="not 'object'"):
        GaussianNB().fit(np.array([[object(), 1], [2, 3]], dtype=object), [0, 1])


def test_a_model_that_has_forgotten_all_rows_predicts_nothing() -> None:
    x = np.array([[1, 2], [3, 0]])
    model = MultinomialNB().fit(x, [0, 1]).forget(x, [0, 1])
    with pytest.raises(ValueError, match=r"the model has no rows of the classes \[0, 1\]: fit rows before"):
        model.predict(x)


def test_a_class_without_counts_needs_a_prior() -> None:
    words = sp.csr_array(([1.0, 2.0], ([0, 0], [0, 3])), shape=(2, 100))
    model = MultinomialNB(alpha=0.0).partial_fit(words, [0, 1])
    with pytest.raises(ValueError, match="class 1 has no counts: its probabilities are undefined; give alpha > 0"):
        model.predict(words)


def test_a_lazy_table_is_collected_before_it_is_explained() -> None:
    import polars as pl

    table = pl.DataFrame({"a": [1.0, 2.0, 5.0, 6.0], "b": ["x", "y", "x", "y"]})
    model = MixedNB().fit(table, [0, 0, 1, 1])
    with pytest.raises(TypeError, match=r"X is a LazyFrame, whose rows are not there yet: use X\.collect\(\)"):
        model.explain(table.lazy())


def test_variances_that_differ_leave_no_coefficients() -> None:
    x, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(AttributeError, match="the posterior of this GaussianNB is not linear in x: it has no coef_"):
        _ = GaussianNB().fit(x, y).coef_


def test_a_row_with_missing_cells_cannot_be_left_out() -> None:
    x, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[3, 1\] is nan: a row with missing cells cannot be taken out of sums"):
        cross_validate(GDA(missing="em"), x, y, folds="loo")
    assert cross_validate(GDA(missing="em"), x, y, folds=2).scores.shape == (1, 2)


def test_a_bad_batch_of_a_stream_is_numbered() -> None:
    x, y = CASES[0].draw(40)
    bad = x.copy()
    bad[3, 1] = np.inf
    models: list[Any] = [GaussianNB(), LinearRegression()]
    for model in models:
        with pytest.raises(ValueError, match="inf") as raised:
            model.fit(iter([(x, y), (x, y), (bad, y)]))
        assert "in batch 2 of the stream, counted from 0" in raised.value.__notes__
    with pytest.raises(ValueError, match="2") as raised:
        TextClassifier("multinomial").fit(iter([(["a b"], ["x"]), (["c", "d"], ["y"])]))
    assert "in batch 1 of the stream, counted from 0" in raised.value.__notes__


COLUMNS = np.array([[1.0, 2.0], [2.0, 1.0], [5.0, 6.0], [6.0, 5.5], [1.5, 2.2], [5.2, 6.6]])
CODES = np.array([0, 0, 1, 1, 0, 1])


def _with(value: float, rows: Any, column: int = 1) -> np.ndarray:
    x = COLUMNS.copy()
    x[rows, column] = value
    return x


@pytest.mark.parametrize(
    ("model", "x", "words"),
    [
        (BernoulliNB(binarize=np.nan), COLUMNS, "binarize must be a number or None; got nan"),
        (CategoricalNB(min_categories=2.5), COLUMNS.astype(int), "'min_categories' should have integral type"),
        (
            CategoricalNB(min_categories=[2, 3, 4]),
            COLUMNS.astype(int),
            r"'min_categories' should have shape \(2,\) when an array-like is provided. Got \(3,\)",
        ),
        (CategoricalNB(bins=[[1.0]]), COLUMNS, "bins must list the edges of 2 features; got 1 lists"),
        (CategoricalNB(bins=2), _with(-np.inf, 2), r"X\[2, 1\] is -inf; it must be finite, or NaN where missing"),
        (GDA(missing="em"), _with(-np.inf, 2), r"X\[2, 1\] is -inf; it must be finite, or NaN where it is missing"),
        (GDA(missing="em"), _with(np.nan, slice(None)), "feature 1 is missing in every row: .* drop it"),
        (
            GDA("diagonal", missing="em"),
            _with(np.nan, CODES == 1),
            "feature 1 is missing in every row of class 1: its variance is undefined; drop the feature",
        ),
    ],
)
def test_settings_and_cells_that_describe_no_distribution_are_named(model: Any, x: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model.fit(x, CODES)


def test_smoothing_that_is_not_forced_is_raised_with_a_warning() -> None:
    x = np.array([[2.0, 0.0], [0.0, 2.0]])
    with pytest.warns(UserWarning, match=r"alpha too small .* setting alpha = 1.0e-10. Use `force_alpha=True`"):
        model = MultinomialNB(alpha=0.0, force_alpha=False).fit(x, [0, 1])
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), [[1.0, 5e-11], [5e-11, 1.0]], rtol=1e-9)


def test_a_feature_to_bin_that_is_missing_everywhere_tells_nothing() -> None:
    x = _with(np.nan, slice(None))
    alone = CategoricalNB(bins=2).fit(COLUMNS[:, :1], CODES)
    both = CategoricalNB(bins=2).fit(x, CODES)
    np.testing.assert_allclose(both.predict_proba(x), alone.predict_proba(COLUMNS[:, :1]), rtol=1e-12)


def test_infinite_cells_of_sparse_rows_are_named_when_predicting() -> None:
    with pytest.raises(ValueError, match=r"x\[2, 1\] is -inf; it must be finite"):
        BernoulliNB().fit(COLUMNS, CODES).predict(sp.csr_array(_with(-np.inf, 2)))


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "polars"])
def test_a_missing_cell_leaves_large_whole_numbers_categories_of_their_own(library: str) -> None:
    """Beside a missing cell, data frames return whole numbers as floats, in which 2^60 and 2^60 + 1 are equal."""
    codes, y = [2**60, 2**60 + 1] * 3, [0, 1] * 3
    full, gaps = (nw.from_dict({"code": cells}, backend=library).to_native() for cells in (codes, [*codes[:-1], None]))
    if library == "pandas":
        full, gaps = full.astype("Int64"), nw.from_dict({"code": [*codes[:-1], None]}, backend="pyarrow").to_native()
        gaps = gaps.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    model = CategoricalNB().fit(full, y)
    np.testing.assert_array_equal(model.predict_proba(gaps)[:5], model.predict_proba(full)[:5])
    assert CategoricalNB().fit(gaps, y).categories_[0].tolist() == [2**60, 2**60 + 1]


def test_floats_past_the_integers_are_categories_of_their_own() -> None:
    assert len(CategoricalNB().fit([[1e19], [1e20], [1e300]], [0, 1, 0]).categories_[0]) == 3
