"""Naive Bayes over tables as they are: the product of the single models, whatever the table is made of."""

from __future__ import annotations

import datetime
import importlib
import pickle
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from scipy.special import gammaln, logsumexp
from scipy.stats import bernoulli, norm, poisson
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from suffice.generative.mixed_nb import MixedNB
from suffice.selection import cross_validate
from suffice.statistics import NegativeEvidenceError
from tests.requirements import data_archive

Table = npt.NDArray[Any]

KINDS = {"size": "numeric", "rooms": "count", "garden": "boolean", "walls": "category", "about": "text"}
BY_POSITION = dict(enumerate(KINDS.values()))
WORDS = ["park", "quiet", "garden", "bar", "loud", "street", "view", "dark", "old", "new"]


def draw(n: int, seed: int = 0, missing: float = 0.2, classes: int = 3) -> tuple[Table, Table]:
    """Return a table of one column of each kind, with missing cells, and the classes of its rows."""
    random = np.random.default_rng(seed)
    y = random.permutation(np.concatenate([np.repeat(np.arange(classes), 4), random.integers(0, classes, n)])[:n])
    lean = np.array([[6, 5, 4, 1, 1, 2, 2, 1, 1, 1], [1, 1, 1, 6, 5, 4, 1, 2, 1, 1], [1, 2, 1, 1, 1, 4, 6, 1, 3, 2]])
    p = lean / lean.sum(axis=1, keepdims=True)
    x = np.empty((n, 5), dtype=object)
    x[:, 0] = random.normal(100 + 20 * y, 10).tolist()
    x[:, 1] = random.poisson(2 + y).tolist()
    x[:, 2] = (random.random(n) < 0.2 + 0.3 * y).tolist()
    x[:, 3] = np.array(["wood", "brick", "stone", "clay"], dtype=object)[(y + random.integers(0, 2, n)) % 4]
    x[:, 4] = [" ".join(random.choice(WORDS, size=random.integers(3, 8), p=p[k])) for k in y]
    gone = random.random(x.shape) < missing
    x[gone] = np.array([None, np.nan], dtype=object)[random.integers(0, 2, int(gone.sum()))]
    return x, y


def is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and bool(np.isnan(cell)))


def known(column: Table) -> list[Any]:
    """Return the cells of a column that are not missing."""
    return [cell for cell in column if not is_missing(cell)]


def make(**settings: Any) -> MixedNB:
    return MixedNB(columns=BY_POSITION, **settings)


def assert_same(one: Any, two: Any, x: Any, tolerance: float = 1e-10) -> None:
    """Compare two models by what they say about rows."""
    np.testing.assert_array_equal(one.classes_, two.classes_)
    for method in ("predict_joint_log_proba", "predict_proba", "log_evidence"):
        np.testing.assert_allclose(getattr(one, method)(x), getattr(two, method)(x), rtol=tolerance, atol=tolerance)


# Conventions.


@parametrize_with_checks([MixedNB()])
def test_the_estimator_passes_scikit_learns_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# Laws.


def test_what_the_first_batch_suggests_is_kept() -> None:
    x, y = draw(60, missing=0.0)
    model = MixedNB().partial_fit(x[:30], y[:30])
    assert model.column_kinds_ == BY_POSITION
    assert_same(model.partial_fit(x[30:], y[30:]), make().fit(x, y), x)
    assert_same(MixedNB().fit(x[:30], y[:30]) + MixedNB().fit(x[30:], y[30:]), make().fit(x, y), x)


@pytest.mark.parametrize("weighted", [False, True])
def test_forgetting_undoes_learning_names_and_words_too(weighted: bool) -> None:
    x, y = draw(60)
    x[40:50, 3], x[45:55, 4] = "glass", "words that only these rows hold"
    weight = np.random.default_rng(0).integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    model = make().fit(x, y, sample_weight=weight)
    assert "glass" in model.categories_[3]
    model.forget(x[40:], y[40:], sample_weight=weight[40:])
    assert_same(model, make().fit(x[:40], y[:40], sample_weight=weight[:40]), x)
    assert 7 < model.statistics_.digits_kept() <= 15.9
    assert "glass" not in model.categories_[3]
    assert "only" not in model.words_[4]


def test_what_was_never_learnt_is_not_forgotten() -> None:
    x, y = draw(40)
    model = make().fit(x, y)
    before = model.predict_proba(x)
    strange = x[:1].copy()
    strange[0] = [100.0, 1, True, "ice", "park"]
    for rows, labels in [(np.concatenate([x, x]), np.concatenate([y, y])), (strange, y[:1])]:
        with pytest.raises(NegativeEvidenceError, match="these rows were never in the sum"):
            model.forget(rows, labels)
    np.testing.assert_array_equal(model.predict_proba(x), before)


def test_weights_are_repetitions_and_no_weight_is_no_row() -> None:
    x, y = draw(40)
    weight = np.random.default_rng(0).integers(0, 4, 40)
    repeated = make().fit(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    x[weight == 0, 3] = "never seen"
    assert_same(make().fit(x, y, sample_weight=weight), repeated, x)


def test_classes_are_discovered_and_merged() -> None:
    x, y = draw(60)
    label = np.array(["ham", "spam", "work"])[y]
    one, two = (make().fit(x[label != gone], label[label != gone]) for gone in ("work", "spam"))
    rows = np.concatenate([np.flatnonzero(label != "work"), np.flatnonzero(label != "spam")])
    assert_same(one + two, make().fit(x[rows], label[rows]), x)
    announced = make().partial_fit(x, label, classes=["ham", "spam", "work", "other"])
    np.testing.assert_array_equal(announced.predict_proba(x)[:, 1], 0.0)


def test_models_pickle_and_clone() -> None:
    x, y = draw(60)
    model = make().fit(x[:40], y[:40])
    again = pickle.loads(pickle.dumps(model))
    assert_same(again, model, x)
    assert_same(again.partial_fit(x[40:], y[40:]), make().fit(x, y), x)
    assert not hasattr(clone(model), "column_kinds_")
    assert_same(model.fit(x[:30], y[:30]), make().fit(x[:30], y[:30]), x)


def test_folds_are_what_the_other_rows_teach() -> None:
    x, y = draw(60, classes=2)
    x[::7, 4] = [f"word{row} and more of it" for row in range(len(x[::7]))]
    index = np.array_split(np.arange(60), 3)
    held = cross_validate(make(), x, y, folds=index, scoring="neg_log_loss").scores[0]
    for part, score in zip(index, held, strict=True):
        rest = np.setdiff1d(np.arange(60), part)
        log_p = make().fit(x[rest], y[rest]).predict_log_proba(x[part])
        np.testing.assert_allclose(score, log_p[np.arange(len(part)), y[part]].mean(), rtol=1e-10)
    left_out = cross_validate(make(), x, y, folds="loo", scoring="neg_log_loss").scores[0, 0]
    alone = []
    for row in range(60):
        rest = np.arange(60) != row
        alone.append(make().fit(x[rest], y[rest]).predict_log_proba(x[[row]])[0, y[row]])
    np.testing.assert_allclose(left_out, np.mean(alone), rtol=1e-8)


def test_settings_are_chosen_by_rows_held_out() -> None:
    x, y = draw(200)
    model = make(alpha="auto", temperature="auto").fit(x, y)
    assert set(model._chosen) == {"alpha", "temperature"}  # noqa: SLF001
    chosen = make(alpha=model._chosen["alpha"], temperature=model._chosen["temperature"]).fit(x, y)  # noqa: SLF001
    assert_same(model, chosen, x)


def test_threads_and_pieces_say_the_same() -> None:
    x, y = (np.concatenate([each] * 100) for each in draw(200))
    model = make().fit(x, y)
    assert_same(model, make(n_jobs=1).fit(x, y), x)
    pieces = [model.predict_joint_log_proba(x[start : start + 150]) for start in range(0, 20_000, 150)]
    np.testing.assert_allclose(np.concatenate(pieces), model.predict_joint_log_proba(x), rtol=1e-12)


# Numbers.


def single_models(x: Table, y: Table, alpha: float) -> Iterator[tuple[Any, Any]]:
    """Yield the model of each column and the column as it reads it, rows of missing text being empty."""
    numeric, counts, booleans = (np.array([[each] for each in x[:, j]], dtype=float) for j in range(3))
    texts = [text if isinstance(text, str) else "" for text in x[:, 4]]
    words = CountVectorizer().fit_transform(texts)
    names = np.array([[name if isinstance(name, str) else None] for name in x[:, 3]], dtype=object)
    yield GaussianNB(), numeric
    yield PoissonNB(alpha=alpha), counts
    yield BernoulliNB(alpha=alpha, binarize=0.5), booleans
    yield CategoricalNB(alpha=alpha), names
    yield MultinomialNB(alpha=alpha), words


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_it_is_the_product_of_the_single_models(missing: float, alpha: float) -> None:
    x, y = draw(80, missing=missing)
    log_prior = np.log(np.bincount(y) / len(y))
    joint = np.tile(log_prior, (len(y), 1))
    for model, column in single_models(x, y, alpha):
        joint += model.fit(column, y).predict_joint_log_proba(column) - log_prior
        if isinstance(model, MultinomialNB):  # its joint leaves out in how many orders the words can stand
            joint += (model.log_evidence(column) - logsumexp(model.predict_joint_log_proba(column), axis=1))[:, None]
    mixed = make(alpha=alpha).fit(x, y)
    np.testing.assert_allclose(mixed.predict_joint_log_proba(x), joint, rtol=1e-10)
    np.testing.assert_allclose(mixed.log_evidence(x), logsumexp(joint, axis=1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mixed.predict_log_proba(x), joint - logsumexp(joint, axis=1)[:, None], atol=1e-9)
    np.testing.assert_array_equal(mixed.predict(x), joint.argmax(axis=1))
    np.testing.assert_allclose(mixed.class_prior_, np.exp(log_prior))


def test_it_is_the_product_of_the_densities() -> None:
    x = [
        [1.0, 2, True, "red", "cats and dogs"],
        [2.0, 0, None, "blue", "dogs, dogs and dogs"],
        [4.0, 1, False, "red", None],
        [7.0, 5, True, None, "cats only"],
    ]
    y = [0, 0, 1, 1]
    row = [3.0, 2, False, "blue", "dogs and cats and nothing"]
    model = MixedNB(columns=BY_POSITION, var_smoothing=0.0).fit(x, y)
    text = gammaln(5) - gammaln(3)  # "nothing" is a word of no vocabulary: of four words, "and" stands there twice
    expected = [
        np.log(1 / 2)
        + norm(1.5, 0.5).logpdf(3.0)
        + poisson(3 / 3).logpmf(2)
        + bernoulli(2 / 3).logpmf(0)
        + np.log(2 / 4)
        + np.log([5 / 11, 3 / 11, 3 / 11, 2 / 11]).sum()
        + text,
        np.log(1 / 2)
        + norm(5.5, 1.5).logpdf(3.0)
        + poisson(7 / 3).logpmf(2)
        + bernoulli(2 / 4).logpmf(0)
        + np.log(1 / 3)
        + np.log([1 / 6, 1 / 6, 2 / 6, 1 / 6]).sum()
        + text,
    ]
    assert model.words_[4].tolist() == ["and", "cats", "dogs", "only"]
    np.testing.assert_allclose(model.predict_joint_log_proba([row]), [expected], rtol=1e-12)


def test_a_row_of_missing_cells_has_the_prior() -> None:
    x, y = draw(60)
    model = make(priors={0: 0.2, 1: 0.3, 2: 0.5}).fit(x, y)
    np.testing.assert_allclose(model.predict_proba([[None] * 5, [np.nan] * 5]), [[0.2, 0.3, 0.5]] * 2)
    np.testing.assert_allclose(model.log_evidence([[None] * 5]), 0.0, atol=1e-12)


def test_a_missing_cell_is_a_column_left_out() -> None:
    x, y = draw(60)
    model = make().fit(x, y)
    for j in range(5):
        gone = x.copy()
        gone[:, j] = None
        others = MixedNB(columns={**BY_POSITION, j: "ignore"}).fit(x, y)
        assert_same(others, model, gone)
        np.testing.assert_allclose(model.predict_proba(gone), others.predict_proba(x), atol=1e-10)


def test_names_and_words_that_were_never_seen() -> None:
    x = [["red", "good cheap thing"], ["red", "good thing"], ["blue", "bad thing"]]
    model = MixedNB(columns={0: "category", 1: "text"}).fit(x, ["a", "a", "b"])
    seen = np.log([2 / 3, 1 / 3])
    np.testing.assert_allclose(
        model.predict_joint_log_proba([["green", ""], [None, "unheard of"], [None, None]]),
        [seen + np.log([1 / 4, 1 / 3]), seen, seen],
    )
    bare = MixedNB(columns={0: "category", 1: "text"}, alpha=0).fit(x, ["a", "a", "b"])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(bare.predict_proba([["red", "good"], [None, "bad"]]), [[1, 0], [0, 1]])
        np.testing.assert_allclose(bare.predict_proba([["green", "thing"]]), [[2 / 3, 1 / 3]])


def test_smoothing_by_kind() -> None:
    x, y = draw(60)
    alpha = {"category": 0.5, "count": 2.0, "boolean": 3.0, "numeric": 4.0}
    models = [GaussianNB(alpha=4.0), PoissonNB(alpha=2.0), BernoulliNB(alpha=3.0, binarize=0.5)]
    for j, model in enumerate(models):
        column = np.array([[each] for each in x[:, j]], dtype=float)
        assert_same(MixedNB(columns={0: BY_POSITION[j]}, alpha=alpha).fit(column, y), model.fit(column, y), column)
    assert_same(MixedNB(alpha=alpha).fit(x[:, [3]], y), CategoricalNB(alpha=0.5).fit(x[:, [3]], y), x[:, [3]])
    assert_same(make(alpha={}).fit(x, y), make().fit(x, y), x)


def test_columns_without_a_known_cell() -> None:
    x, y = draw(40)
    x[:, 1] = None
    for kind in ("numeric", "count", "boolean", "category", "text", None):
        kinds = {j: each for j, each in BY_POSITION.items() if j != 1} | ({} if kind is None else {1: kind})
        model = MixedNB(columns=kinds).fit(x, y)
        others = MixedNB(columns={**BY_POSITION, 1: "ignore"}).fit(x, y)
        assert_same(model, others, x)
        assert np.isfinite(model.sample(5, random_state=0)[0][:, 0].astype(float)).all()
    assert model.column_kinds_[1] == "category"
    heard, unheard = model.predict_proba([[99.0, None, True, "wood", "park"], [99.0, "news", True, "wood", "park"]])
    np.testing.assert_allclose(unheard, heard)  # of a column of which nothing is known, nothing says anything


# Tables.


def frame_of(library: str, x: Table, order: list[str] | None = None) -> Any:
    """Return a table as a data frame of a library, in its own types."""
    columns = {name: [None if is_missing(cell) else cell for cell in x[:, j]] for j, name in enumerate(KINDS)}
    columns = {name: columns[name] for name in order or list(KINDS)}
    if library == "pandas":
        import pandas

        types = {"rooms": "Int64", "garden": "boolean", "walls": "category"}
        return pandas.DataFrame(columns).astype({name: kind for name, kind in types.items() if name in columns})
    if library == "polars":
        import polars

        return polars.DataFrame(columns).with_columns(polars.col("walls").cast(polars.Categorical))
    import pyarrow as arrow

    return arrow.table({**columns, "walls": arrow.array(columns["walls"]).dictionary_encode()})


each_library = pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])


@each_library
def test_every_data_frame_gives_the_same_numbers(library: str) -> None:
    x, y = draw(60)
    frame, model = frame_of(library, x), make().fit(x, y)
    framed = MixedNB().fit(frame, y)
    assert framed.column_kinds_ == KINDS
    assert list(framed.feature_names_in_) == list(KINDS)
    np.testing.assert_array_equal(framed.predict_joint_log_proba(frame), model.predict_joint_log_proba(x))
    np.testing.assert_array_equal(framed.log_evidence(frame), model.log_evidence(x))


@each_library
def test_columns_are_taken_by_name(library: str) -> None:
    x, y = draw(60)
    frame, turned = frame_of(library, x), frame_of(library, x, list(KINDS)[::-1])
    model = MixedNB(columns={"rooms": "numeric", "about": "ignore"}).fit(frame, y)
    assert model.column_kinds_ == {**KINDS, "rooms": "numeric", "about": "ignore"}
    before = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(turned), before)
    explained = model.explain(turned)
    assert [explained.values[0, j] for j in (0, 3)] == [model.explain(frame).values[0, j] for j in (0, 3)]
    model.partial_fit(turned, y).forget(turned, y)
    np.testing.assert_allclose(model.predict_proba(frame), before, rtol=1e-10)
    with pytest.raises(ValueError, match="now missing:\n- garden"):
        model.predict(frame_of(library, x, [name for name in KINDS if name != "garden"]))


def test_frames_and_arrays_that_take_turns_are_warned_about() -> None:
    import pandas

    x, y = draw(40)
    frame = frame_of("pandas", x)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        MixedNB().fit(frame, y).predict(x)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        make().fit(x, y).predict(frame)
    with pytest.raises(ValueError, match="unseen at fit time:\n- price"):
        MixedNB().fit(frame, y).predict(frame.assign(price=1.0))
    numbered = pandas.DataFrame(x)
    assert MixedNB(columns=BY_POSITION).fit(numbered, y).column_kinds_ == BY_POSITION
    with pytest.raises(ValueError, match="'a'"):
        MixedNB().fit(pandas.DataFrame(np.zeros((2, 2)), columns=["a", "a"]), [0, 1])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([True, False, None], "boolean"),
        (np.array([True, False, True]), "boolean"),
        ([1.5, 2.0, None], "numeric"),
        ([1, 2.5, 3], "numeric"),
        ([0, 3, None, 1, 2], "count"),
        (np.array([0, 3, 1, 2], dtype=np.uint8), "count"),
        ([0, 300, 1, 2], "numeric"),
        ([0, 3, -1, 2], "numeric"),
        ([10**25, 1], "numeric"),
        (["red", "blue", "red"], "category"),
        (["a red house", *["a blue house"] * 9], "text"),
        (["a red house", *["a blue house"] * 10], "category"),
        ([0, 1, 1, None], "boolean"),
        (["No", "yes", None], "boolean"),
        ([7, 7, 7], "numeric"),
        (["the red house here", "the blue house there", None], "text"),
        (["New York", "Rome"], "category"),
        ([1, "red", None], "category"),
        ([True, 2], "category"),
        ([None, None, float("nan")], "category"),
        (np.array([np.nan, np.nan]), "numeric"),
        (np.array(["red", "blue"]), "category"),
    ],
    ids=str,
)
def test_kinds_that_cells_suggest(cells: Any, kind: str) -> None:
    table = cells[:, None] if isinstance(cells, np.ndarray) else [[cell] for cell in cells]
    y = np.arange(len(cells)) % 2
    assert MixedNB().fit(table, y).column_kinds_ == {0: kind}


def test_columns_of_identifiers_are_ignored_and_the_message_names_the_cure() -> None:
    table = [[row, f"p{row}", row % 3] for row in range(30)]
    y = np.arange(30) % 2
    assert MixedNB().fit(table, y).column_kinds_ == {0: "ignore", 1: "ignore", 2: "count"}
    with pytest.raises(ValueError, match=r"all columns are ignored.*an identifier.*give columns=\{0: 'numeric'\}"):
        MixedNB().fit([row[:2] for row in table], y)


def test_truth_words_are_read_as_booleans() -> None:
    words, y = np.array([["yes"], ["No"], [" YES "], [None]], dtype=object), [0, 1, 0, 1]
    truths = np.array([[True], [False], [True], [None]], dtype=object)
    assert_same(MixedNB(columns={0: "boolean"}).fit(words, y), MixedNB().fit(truths, y), truths)
    with pytest.raises(
        ValueError, match="column 0 holds 'maybe' in row 0, which is not a number, as the kind 'boolean'"
    ):
        MixedNB(columns={0: "boolean"}).fit(words, y).predict([["maybe"]])


def test_kinds_that_pandas_types_suggest() -> None:
    import pandas

    frame = pandas.DataFrame(
        {
            "label": pandas.Categorical([3, 1, 3]),
            "nullable": pandas.array([1.5, None, 2.0], dtype="Float64"),
            "object": pandas.Series([True, None, False], dtype=object),
            "na": pandas.Series([pandas.NA, 7, 8], dtype=object),
            "string": pandas.array(["a", None, "b"], dtype="string"),
            "day": pandas.to_datetime(["2020-01-01", None, "2020-01-03"]),
        }
    )
    model = MixedNB(columns={"day": "ignore"}).fit(frame, [0, 1, 1])
    assert model.column_kinds_ == {
        "label": "category",
        "nullable": "numeric",
        "object": "boolean",
        "na": "count",
        "string": "category",
        "day": "ignore",
    }
    assert model.categories_["label"].tolist() == [1, 3]
    assert np.isfinite(model.predict_joint_log_proba(frame)).all()
    assert model.sample(2, random_state=0)[0]["day"].isna().all()


def test_a_column_of_numbers_may_hold_names_and_names_keep_their_digits() -> None:
    ids = [2**60, 2**60 + 1, None, 2**60]
    model = MixedNB(columns={0: "category"}).fit([[each] for each in ids], [0, 1, 1, 0])
    assert model.categories_[0].tolist() == [2**60, 2**60 + 1]
    assert MixedNB(columns={0: "category"}).fit(np.array([[1.0], [2.0]]), [0, 1]).predict([["1"], [2]])[1] == 1


# Bad input.


def test_unfitted_use() -> None:
    x, y = draw(20)
    for act in (MixedNB().predict, MixedNB().log_evidence, MixedNB().explain, lambda x: MixedNB().sample()):
        with pytest.raises(NotFittedError):
            act(x)
    with pytest.raises(NotFittedError):
        MixedNB().forget(x, y)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"columns": {7: "numeric"}}, ValueError, "columns has 7, which is no column of X; .* are 0 to 4"),
        ({"columns": {"size": "numeric"}}, ValueError, "columns has 'size'"),
        ({"columns": {0: "number"}}, ValueError, r"columns\[0\] is 'number'; the kinds .*'numeric', 'count'.*'ignore'"),
        ({"columns": ["numeric"]}, TypeError, "columns must be a dictionary"),
        ({"columns": dict.fromkeys(range(5), "ignore")}, ValueError, "all columns are ignored"),
        ({"columns": {3: "numeric"}}, ValueError, "column 3 holds '.*' in row .*, which is not a number.*another kind"),
        ({"columns": {0: "count"}}, ValueError, "column 0 holds .* in row 0; a count is a whole number.*'numeric'"),
        ({"columns": {1: "boolean"}}, ValueError, "column 1 holds .* in row .*; a boolean is True or False"),
        ({"columns": {1: "text"}}, ValueError, "column 1 holds .* in row 0, which is not a text"),
        ({"alpha": -1.0}, ValueError, "alpha is -1"),
        ({"alpha": "lots"}, ValueError, "'lots'"),
        ({"alpha": [1.0, 2.0]}, ValueError, "a dictionary from kind to number"),
        ({"alpha": {"words": 1.0}}, ValueError, "alpha has 'words', which is not a kind"),
        ({"alpha": {"text": -1.0}}, ValueError, r"alpha\[0\] is -1"),
        ({"var_smoothing": -1}, ValueError, "var_smoothing"),
        ({"temperature": 0}, ValueError, "temperature"),
        ({"priors": [0.5, 0.6, 0.2]}, ValueError, "sum to 1.3"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings: dict[str, Any], error: type[Exception], words: str) -> None:
    x, y = draw(40, missing=0.0)
    with pytest.raises(error, match=words):
        MixedNB(**settings).fit(x, y)


@pytest.mark.parametrize("kind", [None, "category", "numeric", "text"])
@pytest.mark.parametrize(
    ("cell", "type_name"), [(datetime.date(2020, 1, 1), "date"), ([1, 2], "list"), ({"a": 1}, "dict"), (b"a", "bytes")]
)
def test_cells_without_a_kind_are_named(cell: Any, type_name: str, kind: str | None) -> None:
    rows = np.empty((2, 2), dtype=object)
    rows[:, 0] = [1.5, 2.5]
    rows[0, 1] = rows[1, 1] = cell
    with pytest.raises(TypeError, match=rf"column 1 holds {type_name}, .* columns={{1: 'ignore'}}"):
        MixedNB(columns=None if kind is None else {1: kind}).fit(rows, [0, 1])
    assert MixedNB(columns={1: "ignore"}).fit(rows, [0, 1]).predict(rows).tolist() == [0, 1]


@each_library
def test_types_without_a_kind_are_named(library: str) -> None:
    module = importlib.import_module(library)
    day = {"n": [1.5, 2.5], "day": [datetime.datetime(2020, 1, 1), None]}
    frame = module.table(day) if library == "pyarrow" else module.DataFrame(day)
    with pytest.raises(TypeError, match=r"column 'day' holds Datetime.*, .*convert.* columns={'day': 'ignore'}"):
        MixedNB().fit(frame, [0, 1])


def test_later_rows_that_are_not_of_their_kind() -> None:
    x, y = draw(40, missing=0.0)
    model = make().fit(x, y)
    before = model.class_count_.copy()
    for column, cell, words in [
        (0, np.inf, "column 0 holds inf in row 0; it must be finite"),
        (0, "big", "column 0 holds 'big' in row 0, which is not a number"),
        (1, -2, "column 1 holds -2 in row 0; a count is 0 or more"),
        (2, 2, "column 2 holds 2 in row 0; a boolean"),
        (4, 3.5, "column 4 holds 3.5 in row 0, which is not a text"),
    ]:
        bad = x[:1].copy()
        bad[0, column] = cell
        for act in (lambda rows: model.partial_fit(rows, y[:1]), model.predict):
            with pytest.raises(ValueError, match=words):
                act(bad)
    np.testing.assert_array_equal(model.class_count_, before)


def test_tables_that_are_none() -> None:
    x, y = draw(20)
    model = make().fit(x, y)
    with pytest.raises(ValueError, match="X has 4 features, but MixedNB is expecting 5"):
        model.predict(x[:, 1:])
    with pytest.raises(ValueError, match="sample"):
        make().fit(x[:0], y[:0])
    with pytest.raises(ValueError, match="feature"):
        make().fit(x[:, :0], y)
    with pytest.raises(TypeError, match="sparse"):
        MixedNB().fit(sp.csr_matrix(np.eye(3)), [0, 1, 0])
    with pytest.raises(ValueError, match="row 1 of X has 1 cells, row 0 has 2"):
        MixedNB().fit([[1, 2], [3]], [0, 1])
    with pytest.raises(ValueError, match="X holds texts: use TextClassifier"):
        MixedNB().fit(["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="20 rows and y has 19"):
        make().fit(x, y[:-1])


def test_an_empty_or_lazy_frame() -> None:
    import polars

    with pytest.raises(ValueError, match=r"rows \(samples\)"):
        MixedNB().fit(polars.DataFrame({"a": []}), [])
    with pytest.raises(ValueError, match=r"a LazyFrame, a stream whose batches bring their own y.*gather the rows"):
        MixedNB().fit(polars.LazyFrame({"a": [1]}), [0])
    frame = polars.DataFrame({"a": [1.5, 2.5, 7.5, 8.5], "b": ["u", "v", "u", "v"], "class": [0, 0, 1, 1]})
    lazy, eager = MixedNB().fit(frame.lazy(), "class"), MixedNB().fit(frame[["a", "b"]], frame["class"])
    np.testing.assert_allclose(*(model.predict_proba(frame[["a", "b"]]) for model in (lazy, eager)), rtol=1e-12)


def test_models_of_different_columns_do_not_merge() -> None:
    x, y = draw(40, missing=0.0)
    with pytest.raises(ValueError, match=r"'count'.*cannot be merged"):
        make().fit(x, y) + MixedNB(columns={**BY_POSITION, 1: "numeric"}).fit(x, y)


# Answers.


def test_contributions_add_up_column_by_column() -> None:
    x, y = draw(60)
    x[3] = [None, np.nan, None, "glass", "unheard of words in a park"]
    model = MixedNB(columns={**BY_POSITION, 2: "ignore"}, temperature=2.0).fit(x, y)
    whole = make().fit(x, y).explain(x)
    np.testing.assert_array_equal([part[3, :3] for part in whole.contributions], 0.0)
    explained = model.explain(x, against=1)
    log_p = model.predict_log_proba(x)
    np.testing.assert_allclose(explained.log_odds, log_p - log_p[:, [1]], atol=1e-9)
    assert all(part.shape == x.shape for part in explained.contributions)
    np.testing.assert_array_equal([part[:, 2] for part in explained.contributions], 0.0)
    np.testing.assert_array_equal([part[3, :3] for part in explained.contributions], 0.0)
    np.testing.assert_allclose(explained.base, np.tile(np.log(model.class_prior_ / model.class_prior_[1]) / 2, (60, 1)))
    walls = CategoricalNB().fit(x[:, [3]], y).explain(x[:, [3]], against=1)
    for part, alone in zip(explained.contributions, walls.contributions, strict=True):
        np.testing.assert_allclose(part[:, 3], alone[:, 0] / 2.0, atol=1e-12)
    assert "x3 = glass" in str(explained)


def test_samples_teach_what_they_were_drawn_from() -> None:
    x, y = draw(400, missing=0.1)
    model = make().fit(x, y)
    rows, labels = model.sample(4000, random_state=0)
    assert [type(cell) for cell in rows[0]] == [float, int, bool, str, str]
    again = make().fit(rows, labels)
    np.testing.assert_allclose(again.class_prior_, model.class_prior_, atol=0.03)
    assert (again.predict(x) == model.predict(x)).mean() > 0.97
    for k in model.classes_:
        given, drawn = ([known(column) for column in each.T] for each in (x[y == k], rows[labels == k]))
        assert np.mean(drawn[0]) == pytest.approx(np.mean(given[0]), abs=1.5)
        assert np.mean(drawn[1]) == pytest.approx(np.mean(given[1]), rel=0.1)
        assert np.mean(drawn[2]) == pytest.approx(np.mean(given[2]), abs=0.05)
        for wall in set(given[3]):
            assert drawn[3].count(wall) / len(drawn[3]) == pytest.approx(given[3].count(wall) / len(given[3]), abs=0.05)
        words, learned = (" ".join(each[4]).split() for each in (drawn, given))
        for word in WORDS:
            assert words.count(word) / len(words) == pytest.approx(learned.count(word) / len(learned), abs=0.03)
    texts, _ = model.sample(3, y=1, random_state=0, length=4)
    assert [len(text.split()) for text in texts[:, 4]] == [4, 4, 4]


@each_library
def test_samples_are_data_frames_of_the_same_library(library: str, tmp_path: Path) -> None:
    x, y = draw(60)
    frame = frame_of(library, x)
    model = MixedNB(columns={"rooms": "ignore"}).fit(frame, y)
    rows, labels = model.sample(20, random_state=0)
    assert type(rows) is type(frame)
    assert list(getattr(rows, "column_names", rows.columns)) == list(KINDS)
    np.testing.assert_array_equal(model.predict(rows), model.predict(rows))
    assert MixedNB(columns=model.column_kinds_).fit(rows, labels).score(rows, labels) > 0.5
    model.save(tmp_path / "a.model")
    kept, _ = suffice.load(tmp_path / "a.model").sample(20, random_state=0)
    assert isinstance(kept, np.ndarray)
    assert kept.shape == (20, 5)


@pytest.mark.parametrize("library", ["", "pandas", "polars"])
def test_a_loaded_model_goes_on(library: str, tmp_path: Path) -> None:
    x, y = draw(60)
    label = np.array(["a", "b", "c"])[y]
    part, rest, whole = (frame_of(library, some) if library else some for some in (x[:40], x[40:], x))
    kinds = {"rooms": "numeric"} if library else {**BY_POSITION, 1: "numeric"}
    model = MixedNB(columns=kinds, alpha={"text": 0.5}).fit(part, label[:40])
    model.save(tmp_path / "a.model")
    again = suffice.load(tmp_path / "a.model")
    assert again.column_kinds_ == model.column_kinds_
    assert again.get_params() == model.get_params()
    assert_same(again, model, whole)
    everything = MixedNB(columns=kinds, alpha={"text": 0.5}).fit(whole, label)
    assert_same(again + clone(model).fit(rest, label[40:]), everything, whole)
    assert_same(again.partial_fit(rest, label[40:]), everything, whole)
    assert_same(again.forget(rest, label[40:]), model, whole)


def test_rows_without_a_class_are_taken_in() -> None:
    x, y = draw(400, classes=2)
    for row in range(50, 400):
        x[row, 4] = f"{x[row, 4]} fresh{y[row]}" if isinstance(x[row, 4], str) else None
    few = make().fit(x[:12], y[:12])
    more = make().fit(x[:12], y[:12], unlabelled=x[12:])
    assert len(more.em_trace_) > 2
    assert (np.diff(more.em_trace_) >= 0).all()
    assert "fresh1" in more.words_[4]
    assert more.score(x, y) > few.score(x, y)


def test_adult_with_its_missing_cells(tmp_path: Path) -> None:
    import polars

    with tarfile.open(data_archive("uci")) as archive:
        archive.extractall(tmp_path, filter="data")

    def read(name: str) -> tuple[Any, Any]:
        lines = (tmp_path / "uci" / name).read_text().split("\n")
        text = "\n".join(line.rstrip(".").replace(", ", ",") for line in lines if line)
        frame = polars.read_csv(text.encode(), has_header=False, null_values="?")
        return frame[:, :-1], frame[:, -1].to_numpy()

    x, y = read("adult-train.csv")
    model = MixedNB().fit(x, y)
    assert set(model.column_kinds_.values()) == {"numeric", "count", "category"}
    test_x, test_y = read("adult-test.csv")
    assert sum(test_x.null_count().row(0)) > 0
    assert model.score(test_x, test_y) > 0.80
    halves = MixedNB(columns=model.column_kinds_)
    for start in range(0, len(y), 10_000):
        halves.partial_fit(x[start : start + 10_000], y[start : start + 10_000])
    np.testing.assert_allclose(halves.predict_proba(test_x), model.predict_proba(test_x), rtol=1e-8)


@pytest.mark.parametrize("gap", [None, np.nan])
@pytest.mark.parametrize("kind", [np.int64, np.float64, object])
def test_the_kind_of_a_column_does_not_depend_on_a_missing_cell(kind: Any, gap: Any) -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(3.0, size=(60, 1))
    y = random.integers(0, 2, 60)
    whole = MixedNB().fit(counts.astype(kind), y)
    holey = counts.astype(object if gap is None else np.float64)
    holey[7, 0] = gap
    some = MixedNB().fit(holey, y)
    assert whole.column_kinds_ == some.column_kinds_ == {0: "count"}
    import pandas

    frame = pandas.DataFrame({"calls": counts[:, 0]})
    frame.loc[7, "calls"] = None  # pandas makes floats of it
    assert MixedNB().fit(frame, y).column_kinds_ == {"calls": "count"}
