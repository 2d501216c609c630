"""The attributes of fitted estimators, and those in the section Attributes of their docstrings: the same."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import suffice
from suffice import text
from suffice.statistics.rounding import LostDigitsError
from tests.laws.estimators import ENTRIES, Data, Entry
from tests.laws.test_invariance import fit

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(40, 3)), RANDOM.normal(size=40)

FRAME = pandas.DataFrame(X, columns=["a", "b", "c"])
TEXTS, LABELS = ["good day", "bad day", "good", "bad"] * 5, ["a", "b"] * 10

#: Fits of estimators that are in no entry, or whose attributes depend on a setting.
MORE: list[tuple[str, Callable[[Path], Any]]] = [
    ("ElasticNetCV", lambda folder: suffice.ElasticNetCV(alphas=5).fit(FRAME, Y)),
    ("LogisticRegressionCV", lambda folder: suffice.LogisticRegressionCV(Cs=2).fit(FRAME, Y > 0)),
    ("RidgeCV", lambda folder: suffice.RidgeCV(store_cv_results=True).fit(X, Y)),
    ("TextClassifier", lambda folder: suffice.TextClassifier("auto").fit(TEXTS, LABELS)),
    ("TextClassifier", lambda folder: _of_files(folder)),
]


def _of_files(folder: Path) -> Any:
    """Return a text classifier of a folder with a file that cannot be read."""
    for label in ("a", "b"):
        (folder / label).mkdir()
        for number in range(4):
            (folder / label / f"{number}.txt").write_text(f"{label} word {number}")
    (folder / "a" / "gone.txt").symlink_to(folder / "missing")
    return suffice.TextClassifier("multinomial").fit(text.folder(folder))


def variants(entry: Entry) -> Iterator[Any]:
    """Yield fitted models of an entry: of rows as they are, with names, after forgetting, with unlabelled rows."""
    data = entry.draw()
    yield fit(entry.make(), data)
    if isinstance(data.x, np.ndarray) and data.x.ndim == 2:
        frame = pandas.DataFrame(data.x, columns=[f"column {j}" for j in range(data.x.shape[1])])
        with suppress(ValueError):
            yield fit(entry.make(), Data(frame, data.y, data.beside))
    model = entry.make()
    if hasattr(model, "forget") and entry.x != "texts" and not isinstance(model, suffice.TableModel):
        weight = {name: each[:2] for name, each in data.beside.items() if name == "sample_weight"}
        with suppress(ValueError, LostDigitsError):  # Ledoit and Wolf do not forget
            yield fit(model, data).forget(data.x[:2], data.y[:2], **weight)
    if "unlabelled" in inspect.signature(model.fit).parameters:
        with suppress(ValueError):
            yield entry.make().fit(data.x, data.y, unlabelled=data.x[:4])


def attributes(model: Any) -> set[str]:
    """Return the public attributes of a fitted model that end in an underscore."""
    names = {*vars(model), *(name for kind in type(model).__mro__ for name in vars(kind))}
    found = set()
    for name in names:
        if name.endswith("_") and not name.startswith("_"):
            with suppress(Exception):  # an attribute that this setting does not have
                getattr(model, name)
                found.add(name)
    return found


def documented(kind: type) -> set[str]:
    """Return the names in the section Attributes of a class."""
    doc = inspect.cleandoc(kind.__doc__ or "")
    section = re.search(r"^Attributes\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    lines = section[1].split("\n") if section else []
    return {name.strip() for line in lines if line[:1].strip() for name in line.partition(" :")[0].split(",")}


def kinds() -> dict[str, list[Callable[[Path], Iterator[Any]]]]:
    """Return by the name of each class the functions that fit it."""
    found: dict[str, list[Callable[[Path], Iterator[Any]]]] = {}
    for entry in ENTRIES:
        found.setdefault(type(entry.make()).__name__, []).append(lambda _, entry=entry: variants(entry))
    for name, make in MORE:
        found.setdefault(name, []).append(lambda folder, make=make: iter([make(folder)]))
    return found


KINDS = kinds()


@pytest.mark.parametrize("name", sorted(KINDS))
def test_attributes_of_a_fitted_model_are_documented(name: str, tmp_path: Path) -> None:
    seen: set[str] = set()
    kind: type | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, models in enumerate(KINDS[name]):
            folder = tmp_path / str(number)
            folder.mkdir()
            for model in models(folder):
                seen |= attributes(model)
                kind = type(model)
    assert kind is not None
    assert seen - documented(kind) == set(), "in the model, and not in the docstring"
    assert documented(kind) - seen == set(), "in the docstring, and not in the model"


def test_every_public_estimator_is_among_them() -> None:
    public = [getattr(module, name) for module in (suffice, text) for name in module.__all__]
    estimators = {each.__name__ for each in public if inspect.isclass(each) and hasattr(each, "fit")}
    assert estimators - set(KINDS) == set()
