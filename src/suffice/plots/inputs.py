"""Features and classes by name: which column is meant, what its cells are, and what a model thinks of rows."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

Array = npt.NDArray[Any]


def feature_names(model: Any, X: Any = None) -> list[str]:
    """Return the names of the features a model has learnt, or else those of X; x0, x1, ... where there are none."""
    names = getattr(model, "feature_names_in_", None)
    frame = _data_frame(X)
    if names is None and frame is not None:
        names = frame.columns
    if names is not None and all(isinstance(name, str) for name in names):
        return [str(name) for name in names]
    width = getattr(model, "n_features_in_", None)
    if width is None:
        if X is None:
            raise ValueError(f"the features of {type(model).__name__} are not known: give X")
        width = X.shape[1] if hasattr(X, "shape") else len(X[0])
    return [f"x{place}" for place in range(int(width))]


def place_of(names: Sequence[str], feature: Any) -> int:
    """Return the place of a feature, given by name or by place.

    Examples
    --------
    >>> place_of(["height", "weight"], "weight"), place_of(["height", "weight"], 0)
    (1, 0)
    >>> place_of(["height", "weight"], "hieght")
    Traceback (most recent call last):
    ...
    ValueError: there is no feature 'hieght'; did you mean 'height'?
    """
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if not 0 <= feature < len(names):
            raise ValueError(f"there is no feature {feature}; features are 0 to {len(names) - 1}")
        return int(feature)
    if feature in names:
        return list(names).index(feature)
    raise ValueError(f"there is no feature {feature!r}; {_nearest(feature, names)}")


def class_code(classes: Array, label: Any) -> int:
    """Return the place of a class among all."""
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(f"there is no class {label!r}; {_nearest(label, [str(each) for each in classes])}")
    return int(found[0])


def codes_of(labels: Array, classes: Array, name: str) -> npt.NDArray[np.int64]:
    """Return the place of each label among the classes, (n,)."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    strange = next((label for label in labels.tolist() if label not in place), None)
    if strange is not None:
        raise ValueError(f"{name} holds {strange!r}, which is none of the classes {classes.tolist()!r}")
    return np.array([place[label] for label in labels.tolist()], dtype=np.int64)


def _nearest(name: Any, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    more = ", ..." if len(known) > 8 else ""
    return f"there are: {', '.join(map(repr, known[:8]))}{more}"


def column(X: Any, place: int) -> Array:
    """Return the cells of one column of a data frame, an array, a sparse matrix or a list of rows, (n,)."""
    frame = _data_frame(X)
    if frame is not None:
        return np.asarray(frame[:, place].to_numpy())
    if hasattr(X, "toarray"):
        return np.asarray(X[:, [place]].toarray()).reshape(-1)
    return np.asarray([row[place] for row in X] if isinstance(X, list) else X[:, place])


def _data_frame(X: Any) -> Any:
    """Return a data frame of any library, or None where X is none."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def measured(X: Any, place: int, name: str) -> FloatArray:
    """Return the cells of a column of numbers, NaN where they are missing, (n,)."""
    cells = column(X, place)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        strange = next(str(cell) for cell in cells if isinstance(cell, str) or cell is None)
        raise ValueError(f"feature {name!r} holds {strange!r}, which is no number: choose another feature") from None


def labels_of(y: Any, rows: int) -> Array:
    """Return the labels of rows, (n,), checked to be as many as there are rows."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per row, (n,); its shape is {labels.shape}")
    if len(labels) != rows:
        raise ValueError(f"there are {rows} rows and {len(labels)} labels: there must be one label per row")
    return labels


def some_rows(rows: int, most: int, random_state: int) -> npt.NDArray[np.intp]:
    """Return the places of at most so many rows, drawn without bias, in their order."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(random_state).choice(rows, most, replace=False))


def probabilities(model: Any, X: Any) -> tuple[FloatArray, Array]:
    """Return p(y | x) of each row, (n, k), and the classes, (k,)."""
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} has no predict_proba: give a model that has, or calibrate it "
            "(sklearn.calibration.CalibratedClassifierCV)"
        )
    return np.asarray(model.predict_proba(X), dtype=np.float64), np.asarray(model.classes_)


def scored(y: Any, p: Any, classes: Any) -> tuple[Array, FloatArray, Array]:
    """Return labels, (n,), probabilities, (n, k), and classes, (k,), checked to fit together.

    Of two classes, the probabilities may be those of the second alone, (n,).
    """
    given = np.asarray(p, dtype=np.float64)
    if given.ndim not in (1, 2) or not given.size:
        raise ValueError(f"probabilities must have the shape (n,) or (n, k), n above 0; theirs is {given.shape}")
    labels = labels_of(y, len(given))
    known = np.unique(labels) if classes is None else np.asarray(classes)
    if given.ndim == 1:
        given = np.stack([1 - given, given], axis=1)
    if given.shape[1] != len(known):
        raise ValueError(
            f"there are probabilities of {given.shape[1]} classes, and y has the classes {known.tolist()!r}: "
            "give classes= in the order of the probabilities"
        )
    if not ((given >= 0) & (given <= 1 + 1e-9)).all():
        row = int(np.argmax(~((given >= 0) & (given <= 1 + 1e-9)).all(axis=1)))
        raise ValueError(f"the probabilities of row {row} are {given[row].tolist()}; each must be from 0 to 1")
    codes_of(labels, known, "y")
    return labels, given, known
