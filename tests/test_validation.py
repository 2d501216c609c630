"""Rows that no model may read: broken sparse matrices and shapes that no machine holds."""

from __future__ import annotations

from typing import Any

import array_api_strict as xp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import suffice
import suffice.mail
import suffice.text
from suffice import _native
from suffice.kernels import Batch
from suffice.kernels.native import NativeKernels
from suffice.text.vectorizers import CountVectorizer
from suffice.validation import groups

ROWS = sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0], [1, 0, 1], [0, 1, 0], [2, 1, 0], [0, 0, 4]]))
Y = np.array([0, 1, 0, 1, 0, 1])
MODELS = {
    "MultinomialNB": suffice.MultinomialNB(),
    "BernoulliNB": suffice.BernoulliNB(),
    "ComplementNB": suffice.ComplementNB(),
    "PoissonNB": suffice.PoissonNB(),
    "GaussianNB": suffice.GaussianNB(),
    "GDA": suffice.GDA(shrinkage=0.5),
    "LogisticRegression": suffice.LogisticRegression(),
    "SoftmaxRegression": suffice.SoftmaxRegression(),
    "Perceptron": suffice.Perceptron(),
    "NBLogisticRegression": suffice.NBLogisticRegression(),
    "OrdinalRegression": suffice.OrdinalRegression(),
    "LinearRegression": suffice.LinearRegression(),
    "PoissonRegressor": suffice.PoissonRegressor(),
    "GLM": suffice.GLM("gaussian"),
}


def broken(name: str, place: int, value: int) -> sparse.csr_array:
    """Return ROWS with another number among its row ends or its indices."""
    x = ROWS.copy()
    getattr(x, name)[place] = value
    return x


def with_part(name: str, part: Any) -> sparse.csr_array:
    x = ROWS.copy()
    setattr(x, name, part)
    return x


BROKEN = {
    "index past the columns": (broken("indices", 4, 10**9), r"x\.indices\[4\] is 1000000000, which is out of range"),
    "index below 0": (broken("indices", 2, -1), r"x\.indices\[2\] is -1, which is out of range"),
    "row end past the values": (broken("indptr", 6, 10**9), r"x\.indptr\[6\] is 1000000000, which is out of range"),
    "row end that falls": (broken("indptr", 3, 1), r"x\.indptr\[3\] is 1, which is out of range"),
    "row end below 0": (broken("indptr", 3, -7), r"x\.indptr\[3\] is -7, which is out of range"),
    "first row end": (broken("indptr", 0, 1), r"x\.indptr\[0\] is 1, which is out of range"),
    "missing row end": (with_part("indptr", ROWS.indptr[:-1]), r"x\.indptr has 6 entries for 6 rows"),
    "values without indices": (with_part("indices", ROWS.indices[:-1]), r"x\.indices has 8 entries and x\.data has 9"),
    "fractional indices": (with_part("indices", ROWS.indices + 0.5), r"x\.indices must hold integers; got float64"),
    "indices in two dimensions": (with_part("indices", ROWS.indices[:, None]), r"x\.indices must be a one-dimensional"),
}


@pytest.mark.filterwarnings("ignore")  # six rows make no good fit
@pytest.mark.parametrize("name", MODELS)
def test_a_broken_csr_matrix_is_refused_by_fit_and_predict(name):
    model = clone(MODELS[name]).fit(ROWS, Y)
    for x, message in BROKEN.values():
        with pytest.raises(ValueError, match=message):
            clone(model).fit(x, Y)
        with pytest.raises(ValueError, match=message):
            model.predict(x)


def test_broken_matrices_of_other_formats_are_refused_before_they_are_converted():
    csc, coo, bsr = ROWS.tocsc(), ROWS.tocoo(copy=True), sparse.bsr_array(ROWS.toarray(), blocksize=(2, 1))
    csc.indices[2], coo.coords[1][3], bsr.indices[1] = 99, 99, 99
    for x, message in (
        (csc, r"x\.indices\[2\] is 99, .* the CSC matrix is broken"),
        (coo, r"x\.col\[3\] is 99, .* the COO matrix is broken"),
        (bsr, r"x\.indices\[1\] is 99, .* the BSR matrix is broken"),
    ):
        with pytest.raises(ValueError, match=message):
            suffice.MultinomialNB().fit(x, Y)


@pytest.mark.parametrize("end", [0, -1])
def test_block_rows_that_rise_and_end_at_none_are_refused(end):
    """scipy's check of BSR looks at no row end where the last says that nothing is stored."""
    x = sparse.bsr_array(ROWS.toarray(), blocksize=(2, 1))
    x.indptr = np.array([0, 4, 5, end])
    with pytest.raises(ValueError, match=rf"x\.indptr\[3\] is {end}, which is out of range: the BSR matrix is broken"):
        suffice.MultinomialNB().fit(x, Y)
    x = sparse.bsr_array(ROWS.toarray(), blocksize=(2, 1))
    x._shape = (7, 3)  # noqa: SLF001
    with pytest.raises(ValueError, match=r"blocks of shape \(2, 1\) do not fill x, of shape \(7, 3\)"):
        suffice.MultinomialNB().fit(x, np.append(Y, 1))
    assert np.array_equal(x.indptr, sparse.bsr_array(ROWS.toarray(), blocksize=(2, 1)).indptr)


def _lists(name: str, place: int, value: Any) -> sparse.lil_array:
    x = ROWS.tolil()
    getattr(x, name)[place] = value
    return x


def _short_lists(name: str) -> sparse.lil_array:
    x = ROWS.tolil()
    setattr(x, name, getattr(x, name)[:-1])
    return x


def _diagonals(data: Any, offsets: Any) -> sparse.dia_array:
    x = ROWS.todia()
    x.data, x.offsets = data, offsets
    return x


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (_lists("data", 1, [1.0] * 1000), r"x\.rows\[1\] and x\.data\[1\] must be lists of one length: the LIL matrix"),
        (_lists("rows", 2, (0, 1)), r"x\.rows\[2\] and x\.data\[2\] must be lists"),
        (_short_lists("data"), r"x\.data has 5 lists for 6 rows: the LIL matrix"),
        (_lists("rows", 1, [99]), r"x\.indices\[2\] is 99, which is out of range"),
        (_diagonals(np.ones((40, 3)), np.arange(2)), r"x\.offsets has 2 entries and x\.data has 40 rows: the DIA"),
        (_diagonals(np.ones((2, 3)), np.array([0.5, 1])), r"x\.offsets must hold integers; got float64: the DIA"),
        (_diagonals(np.ones((2, 3)), np.array([1, 1])), "duplicate"),
        (
            sparse.coo_array(np.ones(6)),
            r"X must have rows and columns, shape \(n, d\); got a sparse array of shape \(6,\)",
        ),
    ],
)
def test_lists_and_diagonals_that_do_not_fit_are_refused_before_they_are_converted(x, message):
    with pytest.raises(ValueError, match=message):
        suffice.MultinomialNB().fit(x, Y)


def test_every_format_of_scipy_is_read():
    expected = suffice.MultinomialNB().fit(ROWS, Y).feature_log_prob_
    for kind in ("csc", "coo", "bsr", "lil", "dia", "dok"):
        x = ROWS.asformat(kind)
        assert np.array_equal(suffice.MultinomialNB().fit(x, Y).feature_log_prob_, expected), kind
    wide = ROWS.todia()  # diagonals outside the matrix hold nothing of it
    wide.data = np.vstack([wide.data, np.full((2, wide.data.shape[1]), 9.0)])
    wide.offsets = np.append(wide.offsets.astype(np.int64), [2**33, -(2**33)])
    assert np.array_equal(suffice.MultinomialNB().fit(wide, Y).feature_log_prob_, expected)


def test_stored_values_that_belong_to_no_row_are_not_read():
    longer = ROWS.copy()
    longer.data, longer.indices = np.append(ROWS.data, 7.0), np.append(ROWS.indices, np.int32(10**6))
    for model in (suffice.MultinomialNB(), suffice.NBLogisticRegression(), suffice.PoissonRegressor(alpha=1.0)):
        one, other = clone(model).fit(ROWS, Y), clone(model).fit(longer, Y)
        assert np.array_equal(one.predict(ROWS), other.predict(longer))


def test_the_check_reads_indices_of_both_widths_and_wider_matrices_than_an_index_reaches():
    for dtype in (np.int32, np.int64):
        indices, ends = np.array([0, 2**31 - 1], dtype=dtype), np.array([0, 2], dtype=dtype)
        _native.check_csr(indices, ends, 2**31, 2)
        _native.check_csr(indices, ends, 2**40, 2)
        with pytest.raises(_native.OffenceError, match=r"indices 1 "):
            _native.check_csr(indices, ends, 2**31 - 1, 2)
        indices[0] = -1
        with pytest.raises(_native.OffenceError, match=r"indices 0 "):
            _native.check_csr(indices, ends, 2**40, 2)


@pytest.mark.parametrize("columns", [2**61, 2**63 - 1, 2**56])
def test_more_columns_than_memory_are_refused_in_words(tmp_path, columns):
    ends = np.arange(17, dtype=np.int64)
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array((np.ones(16), ends[:-1], ends), shape=(16, columns)))
    assert (tmp_path / "x.npz").stat().st_size < 2000
    message = rf"X has shape \(16, {columns}\): a coefficient for each column and its slope would need .* GiB"
    for model in MODELS.values():
        with pytest.raises(ValueError, match=message):
            clone(model).fit(sparse.load_npz(tmp_path / "x.npz"), np.arange(16) % 8)


def test_sums_that_do_not_fit_in_memory_are_refused_in_words():
    width = suffice.kernels.inputs.host_memory() // 16
    x = sparse.csr_array((np.ones(4), np.arange(4), np.arange(5)), shape=(4, width))
    batch = Batch(x, np.arange(4))
    for kernel in ("event_counts", "diagonal_moments", "full_moments"):
        with pytest.raises(ValueError, match=r"sums and parameters of 4 classes would need .* hash features"):
            getattr(NativeKernels(), kernel)(batch, 4)


@pytest.mark.parametrize(
    ("model", "share", "what"),
    [
        (suffice.MultinomialNB(), 1 / 24, "sums and parameters of 2 classes"),
        (suffice.GaussianNB(), 1 / 40, "sums and parameters of 2 classes"),
        (suffice.LogisticRegression(C=1.0), 1 / 24, "theta, its gradient and coef_"),
        (suffice.SoftmaxRegression(C=1.0), 1 / 24, "theta, its gradient and coef_"),
        (suffice.GLM("poisson"), 1 / 24, "theta, its gradient and coef_"),
    ],
)
def test_parameters_that_do_not_fit_in_memory_are_refused_before_they_are_made(monkeypatch, model, share, what):
    monkeypatch.setattr(suffice.kernels.inputs, "host_memory", lambda: 1 << 31)
    x = sparse.csr_array((np.ones(4), np.arange(4), np.arange(5)), shape=(4, int((1 << 31) * share)))
    with pytest.raises(ValueError, match=rf"{what} would need \d+ GiB, .* hash features into fewer"):
        model.fit(x, [0, 1, 0, 1])


@pytest.mark.parametrize("columns", [2**61, 2**56, 2**55])
def test_a_size_that_wraps_allocates_nothing(columns):
    x = np.ones(16), np.arange(16), np.arange(17), columns
    codes = np.arange(16) % 8
    for kernel, more in (("event_counts", (False,)), ("presence_counts", (False, 0.5)), ("diagonal_moments", (True,))):
        with pytest.raises((MemoryError, ValueError), match=r"does not fit in 64 bits|more columns than any machine"):
            getattr(_native, kernel)(x, codes, None, 0, 16, 2**9, *more)
    with pytest.raises((MemoryError, ValueError), match=r"does not fit in 64 bits|more columns than any machine"):
        _native.category_counts(np.zeros((1, 4)), None, None, 0, 1, 1, False, [2**62] * 4)


def test_inverse_transform_refuses_a_broken_matrix():
    words = CountVectorizer().fit(["one two", "two three"])
    x = words.transform(["one two", "three"])
    x.indices[1] = 77
    with pytest.raises(ValueError, match=r"x\.indices\[1\] is 77"):
        words.inverse_transform(x)
    with pytest.raises(ValueError, match="X has 4 columns and the vocabulary has 3 words"):
        words.inverse_transform(np.ones((1, 4)))


@pytest.mark.parametrize("model", [suffice.MultinomialNB, suffice.LogisticRegression, suffice.Perceptron, suffice.GDA])
def test_threads_and_devices_that_are_none_are_refused_in_words(model):
    for n_jobs in ("threads", 0, -2, 1.5, True):
        with pytest.raises(ValueError, match="n_jobs must be None, -1 or a whole number of at least 1; got"):
            model(n_jobs=n_jobs).fit(ROWS.toarray(), Y)
    with pytest.raises(ValueError, match="device must be None, 'cpu', 'cuda' or the like of 'cuda:1'; got 'gpu'"):
        model(device="gpu").fit(ROWS.toarray(), Y)


def test_all_cores_and_the_host_may_be_named():
    expected = suffice.GDA().fit(ROWS.toarray(), Y).means_
    np.testing.assert_array_equal(suffice.GDA(n_jobs=-1, device="cpu").fit(ROWS.toarray(), Y).means_, expected)


@pytest.mark.needs("torch")
def test_a_tensor_must_have_the_rows_and_columns_of_the_model() -> None:
    import torch

    with pytest.raises(ValueError, match=r"X must have rows and columns, shape \(n, d\); got shape \(3,\)"):
        suffice.GaussianNB().fit(torch.ones(3), [0, 1, 0])
    model = suffice.GaussianNB().fit(torch.tensor(ROWS.toarray()), Y)
    with pytest.raises(ValueError, match="X has 2 features, but GaussianNB is expecting 3 features as input"):
        model.predict(torch.ones((2, 2)))


@pytest.mark.needs("torch")
def test_a_tensor_has_no_names_of_features() -> None:
    import torch

    x = torch.tensor(ROWS.toarray())
    model = suffice.GaussianNB().fit(pd.DataFrame(ROWS.toarray(), columns=["a", "b", "c"]), Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but GaussianNB was fitted with"):
        model.predict(x)
    assert not hasattr(model.fit(x, Y), "feature_names_in_")


@pytest.mark.needs("torch")
def test_one_weight_or_exposure_stands_for_every_row() -> None:
    import torch

    x = ROWS.toarray()
    for weight in (2.0, torch.full((6,), 2.0)):
        np.testing.assert_array_equal(suffice.GaussianNB().fit(x, Y, sample_weight=weight).class_count_, [6.0, 6.0])
    counts = np.array([1.0, 3.0, 0.0, 2.0, 2.0, 1.0])
    expected = suffice.PoissonRegressor(alpha=1.0).fit(x, counts, exposure=np.full(6, 2.0)).coef_
    for exposure in (2.0, torch.full((6,), 2.0)):
        model = suffice.PoissonRegressor(alpha=1.0).fit(x, counts, exposure=exposure)
        np.testing.assert_array_equal(model.coef_, expected)


def test_labels_that_are_no_names_or_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"a class label must be a str, int, float or bool; got .* in y\[0\]"):
        suffice.GaussianNB().fit(ROWS.toarray(), np.array([None, "a"], dtype=object)[Y])


EVERY_MODEL = [
    *MODELS.values(),
    *(suffice.FamilyNB("poisson"), suffice.CategoricalNB(), suffice.MixedNB(), suffice.AdditiveClassifier()),
    *(suffice.LogisticRegressionCV(), suffice.LocallyWeightedRegression(family="bernoulli"), suffice.GLM("binomial")),
    *(suffice.Ridge(), suffice.RidgeCV(), suffice.Lasso(), suffice.LassoCV(), suffice.ElasticNetCV()),
    *(suffice.GammaRegressor(), suffice.TweedieRegressor(), suffice.LinearRegression(solver="newton")),
    *(suffice.LocallyWeightedRegression(), suffice.AdditiveRegressor()),
]
DAYS = np.array(["2024-12-30", "2024-12-31"], dtype="M8[D]")[Y]
NO_TARGETS = {
    "dates": (np.where(np.arange(6) == 3, np.datetime64("NaT"), DAYS), "y holds dates or times, datetime64"),
    "nanoseconds": (DAYS.astype("M8[ns]"), "y holds dates or times, datetime64"),
    "spans": (DAYS - DAYS[0], "y holds dates or times, timedelta64"),
    "a column of dates": (pd.Series(DAYS).dt.tz_localize("UTC"), "y holds dates or times, Timestamp"),
    "complex numbers": (Y + 1j, r"Complex data not supported: y\[0\] is 1j"),
    "complex objects": (np.array([1, 2j, 1, 2, 1, 2], dtype=object), r"Complex data not supported: y\[1\] is 2j"),
    "a masked entry": (np.ma.array(Y, mask=Y == 1), r"y\[1\] is masked: only cells of X may be missing"),
}


@pytest.mark.parametrize("name", NO_TARGETS)
def test_dates_complex_numbers_and_masked_entries_are_no_targets_of_any_model(name: str) -> None:
    x, (y, words) = ROWS.toarray(), NO_TARGETS[name]
    for model in EVERY_MODEL:
        with pytest.raises(ValueError, match=words):
            clone(model).fit(x, y)
    with pytest.raises(ValueError, match=words):
        suffice.LinearRegression().fit(iter([(x, Y), (x, y)]))
    with pytest.raises(ValueError, match=words):
        suffice.GaussianNB().fit(x, Y).partial_fit(x, y)


@pytest.mark.parametrize("name", NO_TARGETS)
def test_dates_complex_numbers_and_masked_entries_are_no_weights_and_no_offsets(name: str) -> None:
    values, words = NO_TARGETS[name]
    x = ROWS.toarray()
    with pytest.raises(
        ValueError, match=words.replace("y holds", "sample_weight holds").replace("y\\[", "sample_weight\\[")
    ):
        suffice.GaussianNB().fit(x, Y, sample_weight=values)
    with pytest.raises(ValueError, match=words.replace("y holds", "offset holds").replace("y\\[", "offset\\[")):
        suffice.PoissonRegressor().fit(x, Y, offset=values)


def test_masked_cells_are_missing() -> None:
    x = ROWS.toarray()
    hidden = np.arange(18).reshape(6, 3) % 7 == 3
    masked = np.ma.array(x, mask=hidden)
    for model in (suffice.GaussianNB(), suffice.MixedNB(), suffice.CategoricalNB(), suffice.AdditiveClassifier()):
        expected = clone(model).fit(np.where(hidden, np.nan, x), Y).predict_proba(x)
        for rows in (masked, masked.astype(int)):
            fitted = clone(model).fit(rows, Y)
            np.testing.assert_allclose(fitted.predict_proba(x), expected)
            np.testing.assert_array_equal(fitted.predict(masked), fitted.predict(np.where(hidden, np.nan, x)))
    streamed = suffice.GaussianNB().fit(iter([(masked[:3], Y[:3]), (masked[3:], Y[3:])]))
    np.testing.assert_allclose(streamed.theta_, suffice.GaussianNB().fit(masked, Y).theta_)
    with pytest.raises(ValueError, match=r"X\[1, 0\] is nan"):
        suffice.LinearRegression().fit(masked, Y)
    np.testing.assert_array_equal(suffice.Ridge().fit(np.ma.array(x), Y).coef_, suffice.Ridge().fit(x, Y).coef_)


TEXTS = ["buy now", "hello there", "buy", "hello", "now", "there."]


@pytest.mark.parametrize("model", [*EVERY_MODEL[:3], suffice.CategoricalNB(), suffice.MixedNB(), suffice.GLM()])
def test_texts_in_the_place_of_rows_are_named(model: Any) -> None:
    words = "X holds texts: use TextClassifier or CountVectorizer; "
    for x in (TEXTS, tuple(TEXTS), np.array(TEXTS), pd.Series(TEXTS)):
        with pytest.raises(ValueError, match=words):
            clone(model).fit(x, Y)
    with pytest.raises(ValueError, match=words):
        clone(model).fit(TEXTS, ["spam", "ham"] * 3)
    with pytest.raises(ValueError, match=words):
        clone(model).fit(ROWS.toarray(), Y).predict(TEXTS)
    with pytest.raises(FileNotFoundError, match="there is no file") as raised:
        clone(model).fit(["no-such-file.csv"], "y")
    assert "use TextClassifier" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    "model", [*EVERY_MODEL[4:8], suffice.CategoricalNB(), suffice.GLM(), suffice.FamilyNB("poisson")]
)
def test_dates_and_complex_numbers_in_an_array_are_no_cells(model: Any) -> None:
    x = ROWS.toarray()
    dates = DAYS[:, None] + np.arange(3)
    for rows in (dates, dates.astype("M8[ns]"), dates - DAYS[0], dates.astype(object)):
        with pytest.raises(ValueError, match=r"X\[0, 0\] is .*: X holds dates or times"):
            clone(model).fit(rows, Y)
    for rows in (x + 0j, (x + 0j).astype(object)):
        with pytest.raises(ValueError, match=r"Complex data not supported: X\[0, 0\] is \(1\+0j\)"):
            clone(model).fit(rows, Y)


def test_numbers_beside_strings_in_a_list_are_classes_of_their_own() -> None:
    model = suffice.GaussianNB().fit(np.eye(6), [1, "1", 1, "1", 1, "1"])
    assert model.classes_.tolist() == [1, "1"]


def test_whole_numbers_that_float64_cannot_tell_apart_are_no_classes() -> None:
    large = 2**60 + Y
    model = suffice.GaussianNB().fit(ROWS.toarray(), large)
    np.testing.assert_array_equal(model.classes_, [2**60, 2**60 + 1])
    with pytest.raises(ValueError, match=r"y\[0\] is 1.15292e\+18, too large for float64 to tell from others"):
        suffice.GaussianNB().fit(ROWS.toarray(), large.astype(float))
    model = suffice.GaussianNB().fit(ROWS.toarray(), np.array([2**64 - 1, 3], dtype=np.uint64)[Y])
    assert model.classes_.tolist() == [3, 2**64 - 1]


GROUPS = {
    "large floats": (np.array([1e18, 1e18 + 256])[Y], r"groups\[0\] is 1e\+18, too large for float64"),
    "integers past int64": (np.array([2**64 - 1, 3], dtype=np.uint64)[Y], r"groups\[0\] is 18446744073709551615, too"),
    "numbers and strings": ([1, "1"] * 3, r"groups\[1\] is '1' and groups\[0\] is 1: give numbers or strings alone"),
    "no date": (np.where(Y == 1, np.datetime64("NaT"), DAYS), r"groups\[1\] is None; every row needs a group"),
    "a masked entry": (np.ma.array(Y, mask=Y == 1), r"groups\[1\] is masked"),
    "no number": ([1.0, float("nan")] * 3, r"groups\[1\] is nan; every row needs a group"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups_that_would_merge_are_refused(name: str) -> None:
    values, words = GROUPS[name]
    for model in (suffice.LinearRegression(covariance="clustered"), suffice.GLM(covariance="clustered")):
        with pytest.raises(ValueError, match=words):
            model.fit(ROWS.toarray(), Y, groups=values)


def test_groups_are_integers_of_any_size_dates_or_strings() -> None:
    for values in (2**60 + np.arange(6) // 2, DAYS, ["a", "b"] * 3):
        found = groups(values, 6)
        assert found is not None
        assert len(np.unique(found)) == len(set(np.asarray(values).tolist()))


def test_groups_of_batches_are_numbers_or_strings_in_all() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(6, 1)), random.normal(size=6)
    batches = [{"X": x, "y": y, "groups": values} for values in (Y, Y.astype(str))]
    with pytest.raises(ValueError, match="groups are numbers in one batch and strings in another"):
        suffice.LinearRegression(covariance="clustered").fit(lambda: iter(batches)).summary()


def test_the_first_target_that_is_no_number_is_named() -> None:
    with pytest.raises(ValueError, match=r"y\[2\] is 'a': Unknown label type for a regression, which needs numbers"):
        suffice.LinearRegression().fit(ROWS.toarray(), np.array([1, 2, "a", 3, 4, 5], dtype=object))


def test_names_that_modules_do_not_have_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match=r"module 'suffice.text' has no attribute 'Nonsense'"):
        suffice.text.Nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'suffice.mail' has no attribute 'Nonsense'"):
        suffice.mail.Nonsense  # noqa: B018
    assert {"fit", "GaussianNB", "__version__", "text"} <= set(dir(suffice))


def test_packages_resolve_after_the_import_of_suffice_alone() -> None:
    for name in ("data", "formula", "mail", "plots", "selection", "tables", "text"):
        assert suffice.__getattr__(name).__name__ == f"suffice.{name}"


def test_models_that_are_no_sum_say_why_they_are_not_added() -> None:
    for one, two in ((suffice.LogisticRegression(), suffice.LogisticRegression()), (0, suffice.Perceptron())):
        with pytest.raises(TypeError, match=r"models cannot be added: what they learn .*; fit one model to all rows"):
            one + two  # type: ignore[operator]


@pytest.mark.parametrize("weight", [None, np.ones(12)])
@pytest.mark.parametrize(
    "model",
    [
        suffice.LogisticRegression(C=1.0),
        suffice.LogisticRegression(class_weight="balanced"),
        suffice.LogisticRegressionCV(Cs=2, cv=2),
        suffice.OrdinalRegression(l2=1.0),
        suffice.Perceptron(),
        suffice.GLM("bernoulli"),
        suffice.PoissonRegressor(),
        suffice.LinearRegression(),
    ],
)
def test_targets_of_any_array_library_are_those_of_numpy(model: Any, weight: Any) -> None:
    """array_api_strict has what the standard has, and no methods such as any() and all()."""
    x, y = np.random.default_rng(0).normal(size=(12, 2)), np.array([0, 1, 1, 0, 1, 0] * 2)
    expected = clone(model).fit(x, y, weight).coef_
    for targets in (y, y.astype(bool), y.astype(np.uint8)):
        found = clone(model).fit(xp.asarray(x), xp.asarray(targets), None if weight is None else xp.asarray(weight))
        np.testing.assert_allclose(found.coef_, expected, rtol=1e-6)


@pytest.mark.parametrize("model", [suffice.GDA(), suffice.GDA("full"), suffice.LinearRegression()])
def test_weights_that_underflow_are_not_said_to_overflow(model: Any) -> None:
    x = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(OverflowError, match=r"the weights underflow float64: .*; rescale the weights"):
        clone(model).fit(1e-120 * x, np.arange(12) % 2, sample_weight=np.full(12, 1e-320))
