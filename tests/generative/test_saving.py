"""Models in files: they go on where they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import GDA, CategoricalNB, GaussianNB, MultinomialNB
from suffice.store import StoreError, read, write

from .rows import CASES, Case
from .test_laws import assert_same


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_loaded_model_learns_merges_and_forgets(case: Case, tmp_path: Path) -> None:
    x, y = case.draw(60)
    path = tmp_path / "a.model"
    model = case.make().fit(x[:40], y[:40])
    model.save(path)
    again = suffice.load(path)
    assert type(again) is type(model)
    assert_same(again, model, x, case)
    assert again.n_features_in_ == model.n_features_in_
    whole = case.make().fit(x, y)
    assert_same(again + case.make().partial_fit(x[40:], y[40:]), whole, x, case)
    again.partial_fit(x[40:], y[40:])
    assert_same(again, whole, x, case)
    if case.forgets:
        again.forget(x[40:], y[40:])
        assert_same(again, model, x, case)


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (GDA("full", shrinkage="cv", priors={"a": 0.5, "b": 0.5}, temperature="auto"), ["a", "b"]),
        (GaussianNB(priors=[0.3, 0.7], alpha=np.array([1.0, 2.0, 0.5])), [True, False]),
        (MultinomialNB(alpha="auto", temperature=2.5), [-1.0, 1.0]),
        (CategoricalNB(bins=3), [1, 2]),
        (GDA(priors=None), np.array(["x", "y"], dtype=object)),
    ],
    ids=str,
)
def test_settings_and_labels_of_any_kind(model: Any, labels: Any, tmp_path: Path) -> None:
    x, y = CASES[0].draw(60, classes=2)
    x = np.abs(x)
    label = np.asarray(labels)[y]
    model.fit(x, label).save(tmp_path / "a.model")
    again = suffice.load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_allclose(again.predict_proba(x), model.predict_proba(x), rtol=1e-12)
    assert again.get_params().keys() == model.get_params().keys()


def test_names_are_kept(tmp_path: Path) -> None:
    import pandas

    x, y = CASES[0].draw(40)
    frame = pandas.DataFrame(x, columns=["length", "width", "depth"])
    GDA().fit(frame, y).save(tmp_path / "a.model")
    again = suffice.load(tmp_path / "a.model")
    assert list(again.feature_names_in_) == ["length", "width", "depth"]
    again.predict(frame)


def test_a_file_without_the_sums_that_its_settings_need_is_refused(tmp_path: Path) -> None:
    x, y = CASES[0].draw(40)
    path = tmp_path / "a.model"
    GDA().fit(x, y).save(path)
    statistics = read(path).statistics
    GDA(shrinkage="auto").fit(x, y).save(path)
    write(path, replace(read(path), statistics=statistics))
    with pytest.raises(ValueError, match="shrinkage='auto' needs sums that were not taken: fit the model again"):
        suffice.load(path).predict(x)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(b"not a model")
    with pytest.raises(StoreError, match="is not a model file"):
        suffice.load(path)
    x, y = CASES[0].draw(40)
    GDA().fit(x, y).save(path)
    whole = path.read_bytes()
    for length in (0, 7, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=r"is (empty|truncated|not a model file)"):
            suffice.load(path)


@pytest.mark.parametrize("case", [case for case in CASES if case.forgets], ids=str)
def test_a_model_whose_rows_were_all_forgotten_learns_again(case: Case, tmp_path: Path) -> None:
    x, y = case.draw(60)
    case.make().fit(x, y).forget(x, y).save(tmp_path / "a.model")
    again = suffice.load(tmp_path / "a.model").partial_fit(x, y)
    assert_same(again, case.make().fit(x, y), x, case)
