"""Additive models of rows in parts: files, streams, clusters, and more rows than a sample or memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import AdditiveClassifier, AdditiveRegressor
from suffice.additive import parts
from suffice.data.refusals import RowsInPartsError
from suffice.generative.columns import read_columns


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    found = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 5, size=n)})
    found["kind"] = rng.choice(["u", "v", "w"], size=n)
    found.loc[::7, "a"] = np.nan
    found["y"] = np.nan_to_num(found["a"]) + (found["kind"] == "v") + 0.3 * rng.normal(size=n)
    return found


def batches(rows: pd.DataFrame, size: int = 70) -> Iterator[tuple[pd.DataFrame, pd.Series]]:
    for at in range(0, len(rows), size):
        part = rows.iloc[at : at + size]
        yield part.drop(columns="y"), part["y"]


@pytest.mark.parametrize("form", ["stream", "function", "file"])
def test_rows_in_parts_are_fitted_as_in_memory(form: str, tmp_path: Path) -> None:
    rows = table()
    here = AdditiveRegressor(max_bins=20).fit(rows.drop(columns="y"), rows["y"])
    model = AdditiveRegressor(max_bins=20)
    if form == "file":
        rows.to_csv(tmp_path / "rows.csv", index=False)
        model.fit(tmp_path / "rows.csv", y="y")
    else:
        model.fit(batches(rows) if form == "stream" else lambda: batches(rows))
    assert model.feature_names_in_.tolist() == ["a", "b", "kind"]
    assert [term.labels for term in model.terms_] == [term.labels for term in here.terms_]
    asked = rows.drop(columns="y")
    np.testing.assert_allclose(model.predict(asked), here.predict(asked), rtol=1e-10)


def test_quantiles_of_many_rows_are_those_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_ROWS", 2000)
    monkeypatch.setattr(parts, "FEWEST_ROWS", 2000)
    rng = np.random.default_rng(0)
    x = rng.exponential(size=(20_000, 1))
    y = np.sqrt(x[:, 0]) + 0.1 * rng.normal(size=len(x))
    stream = ((x[at : at + 1000], y[at : at + 1000]) for at in range(0, len(x), 1000))
    model = AdditiveRegressor(max_bins=10).fit(stream)
    shares = np.searchsorted(np.sort(x[:, 0]), model.terms_[0].edges[0]) / len(x)
    assert 0 < np.abs(shares - np.linspace(0, 1, 11)[1:-1]).max() < 0.04  # 0.01 is the standard error of a quantile


def test_the_survey_does_not_depend_on_the_order_of_the_rows_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_ROWS", "FEWEST_ROWS"):
        monkeypatch.setattr(parts, name, 100)
    rows = pd.concat([table(), table()[:200]], ignore_index=True)
    shuffled = rows.sample(frac=1.0, random_state=0)
    surveys = []
    for each, size in ((rows, 70), (rows, 33), (shuffled, 70), (shuffled, 500)):
        survey, *others = [parts.Survey.of(read_columns, 20, False, {"X": x, "y": y}) for x, y in batches(each, size)]
        for other in others[::-1]:
            survey = other.plus(20, survey)
        surveys.append(survey)
    for survey in surveys:
        assert (survey.rows, len(survey.keys)) == (500, 100)
        assert survey.counts.sum() > 120  # rows that are given twice
        for mine, theirs in zip(survey.bins(20), surveys[0].bins(20), strict=True):
            assert mine.labels() == theirs.labels()
        assert (survey.bins(20)[0].low, survey.bins(20)[0].high) == (table()["a"].min(), table()["a"].max())


def test_a_row_that_is_given_often_is_not_the_whole_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_ROWS", "FEWEST_ROWS"):
        monkeypatch.setattr(parts, name, 1000)
    x = np.random.default_rng(0).normal(size=(9000, 1))
    survey = parts.Survey.of(read_columns, 20, False, {"X": x})
    often = np.full((3000, 1), survey.sample[0][0])  # a row that is in the sample
    more = parts.Survey.of(read_columns, 20, False, {"X": np.append(x, often, axis=0)})
    assert more.counts.max() == 3001
    assert len(more.bins(20)[0]) >= len(survey.bins(20)[0]) - 2


def test_rare_levels_are_forgotten_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_LEVELS", 20)
    rng = np.random.default_rng(0)
    common, rare = np.repeat(["x", "y", "z"], 100), [f"once {number}" for number in range(300)]
    names = rng.permutation([*common, *rare])
    y = np.where(names == "x", 1.0, 0.0) + 0.1 * rng.normal(size=600)
    stream = ((pd.DataFrame({"name": names[at : at + 50]}), y[at : at + 50]) for at in range(0, 600, 50))
    model = AdditiveRegressor(max_bins=4).fit(stream)
    assert model.term("name").labels[0] == ("missing", "other", "x", "y", "z")


def test_bins_beyond_a_share_of_memory_are_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table()
    here = AdditiveRegressor().fit(lambda: batches(rows))
    monkeypatch.setattr(parts, "SHARE", 0.0)
    assert isinstance(parts.byte_array((2, 3)), np.memmap)
    there = AdditiveRegressor().fit(lambda: batches(rows))
    np.testing.assert_array_equal(there.predict(rows.drop(columns="y")), here.predict(rows.drop(columns="y")))


def test_rows_without_weight_are_left_out_of_parts() -> None:
    rows = table()
    weight = np.arange(300) % 3 / 2.0

    def weighted() -> Iterator[dict[str, Any]]:
        for at in range(0, 300, 50):
            part = rows.iloc[at : at + 50]
            yield {"X": part.drop(columns="y"), "y": part["y"], "sample_weight": weight[at : at + 50]}

    kept = rows[weight > 0]
    here = AdditiveRegressor().fit(kept.drop(columns="y"), kept["y"], weight[weight > 0])
    asked = rows.drop(columns="y")
    np.testing.assert_allclose(AdditiveRegressor().fit(weighted).predict(asked), here.predict(asked), rtol=1e-10)


def test_parts_that_do_not_fit_together_are_refused() -> None:
    mixed = [(pd.DataFrame({"a": [1.0, 2.0]}), [0.0, 1.0]), (pd.DataFrame({"a": ["x", "y"]}), [0.0, 1.0])]
    with pytest.raises(ValueError, match="column 'a' holds numbers in one part of X and text in another: convert it"):
        AdditiveRegressor().fit(iter(mixed))
    with pytest.raises(ValueError, match="all sample weights are zero"):
        AdditiveRegressor().fit(iter([(np.ones((2, 1)), [0.0, 1.0], [0.0, 0.0])]))
    with pytest.raises(ValueError, match="y has one class, 'a'"):
        AdditiveClassifier().fit(iter([(np.ones((2, 1)), ["a", "a"])]))
    negative = iter([(np.ones((2, 1)), [1.0, 2.0]), (np.ones((2, 1)), [1.0, -2.0])])
    with pytest.raises(ValueError, match="needs y that is 0 or more; row 1 is -2") as error:
        AdditiveRegressor(family="poisson").fit(negative)
    assert "in batch 1 of the stream, counted from 0" in error.value.__notes__


def test_scores_of_parts_are_those_of_rows_in_memory() -> None:
    rows = table()
    x, y, weight, offset = rows.drop(columns="y"), rows["y"], np.arange(300) % 3, np.linspace(-3, 3, 300)
    classes = np.where(y > 0.5, "high", "low")

    def weighted(target: Any) -> Iterator[dict[str, Any]]:
        for at in range(0, 300, 50):
            part = slice(at, at + 50)
            entries = {"y": target[part], "sample_weight": weight[part], "offset": offset[part]}
            yield {"X": x.iloc[part], **entries}

    for model, target in ((AdditiveRegressor(interactions=0), y.to_numpy()), (AdditiveClassifier(), classes)):
        model.fit(x, target, offset=offset)
        here = model.score(x, target, weight, offset=offset)
        assert model.score(weighted(target)) == pytest.approx(here, rel=1e-10)
        assert here != model.score(x, target, weight)


def test_explanations_of_parts_are_refused() -> None:
    rows = table()
    model = AdditiveRegressor(interactions=0).fit(lambda: batches(rows))
    with pytest.raises(RowsInPartsError, match="explain reads all rows at once: give rows in memory"):
        model.explain(lambda: (x for x, _ in batches(rows)))
