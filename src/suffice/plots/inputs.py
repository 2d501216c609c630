"""Input validation shared by all displays: features by name or index, columns, labels and probabilities."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

Array = npt.NDArray[Any]


def resolve_feature_names(model: Any, X: Any = None) -> list[str]:
    """Return the feature names of a fitted model, else those of X; x0, x1, ... where neither has names."""
    names = getattr(model, "feature_names_in_", None)
    frame = _as_data_frame(X)
    if names is None and frame is not None:
        names = frame.columns
    if names is not None and all(isinstance(name, str) for name in names):
        return [str(name) for name in names]
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        if X is None:
            raise ValueError(f"the features of {type(model).__name__} are not known: give X")
        n_features = X.shape[1] if hasattr(X, "shape") else len(X[0])
    return [f"x{index}" for index in range(int(n_features))]


def feature_index(names: Sequence[str], feature: Any) -> int:
    """Return the index of a feature, given by name or by index.

    Examples
    --------
    >>> feature_index(["height", "weight"], "weight"), feature_index(["height", "weight"], 0)
    (1, 0)
    >>> feature_index(["height", "weight"], "hieght")
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
    raise ValueError(f"there is no feature {feature!r}; {_suggestion(feature, names)}")


def class_index(classes: Array, label: Any) -> int:
    """Return the index of a class."""
    found = np.flatnonzero(classes == label)
    if not found.size:
        raise ValueError(f"there is no class {label!r}; {_suggestion(label, [str(each) for each in classes])}")
    return int(found[0])


def encode_labels(labels: Array, classes: Array, argument: str) -> npt.NDArray[np.int64]:
    """Return the class index of each label, (n,)."""
    index = {label: code for code, label in enumerate(classes.tolist())}
    unknown = next((label for label in labels.tolist() if label not in index), None)
    if unknown is not None:
        raise ValueError(f"{argument} holds {unknown!r}, which is none of the classes {classes.tolist()!r}")
    return np.array([index[label] for label in labels.tolist()], dtype=np.int64)


def _suggestion(name: Any, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    more = ", ..." if len(known) > 8 else ""
    return f"there are: {', '.join(map(repr, known[:8]))}{more}"


def select_column(X: Any, index: int) -> Array:
    """Return one column of a data frame, an array, a sparse matrix or a list of rows, (n,)."""
    frame = _as_data_frame(X)
    if frame is not None:
        return np.asarray(frame[:, index].to_numpy())
    if hasattr(X, "toarray"):
        return np.asarray(X[:, [index]].toarray()).reshape(-1)
    return np.asarray([row[index] for row in X] if isinstance(X, list) else X[:, index])


def select_rows(X: Any, rows: npt.NDArray[np.intp]) -> Any:
    """Return some rows of a data frame, an array, a sparse matrix or a list, as the same type."""
    frame = _as_data_frame(X)
    if frame is not None:
        return frame[rows.tolist()].to_native()
    return [X[row] for row in rows] if isinstance(X, list) else X[rows]


def _as_data_frame(X: Any) -> Any:
    """Return a data frame of any library as a narwhals frame; None of anything else."""
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def select_numeric_column(X: Any, index: int, name: str) -> FloatArray:
    """Return one numeric column, NaN where a cell is missing, (n,)."""
    cells = select_column(X, index)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        invalid = next(str(cell) for cell in cells if isinstance(cell, str) or cell is None)
        raise ValueError(f"feature {name!r} holds {invalid!r}, which is not a number: choose another feature") from None


def validate_labels(y: Any, n_rows: int) -> Array:
    """Return y as an array, (n,), with one label per row."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one label per row, (n,); its shape is {labels.shape}")
    if len(labels) != n_rows:
        raise ValueError(f"there are {n_rows} rows and {len(labels)} labels: there must be one label per row")
    return labels


def sample_rows(n_rows: int, max_rows: int, random_state: int) -> npt.NDArray[np.intp]:
    """Return the sorted indices of a uniform sample of at most ``max_rows`` rows."""
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).choice(n_rows, max_rows, replace=False))


def predict_probabilities(model: Any, X: Any) -> tuple[FloatArray, Array]:
    """Return p(y | x) of each row, (n, k), and the classes, (k,)."""
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{type(model).__name__} has no predict_proba: give a model that has, or calibrate it "
            "(sklearn.calibration.CalibratedClassifierCV)"
        )
    return np.asarray(model.predict_proba(X), dtype=np.float64), np.asarray(model.classes_)


def validate_probabilities(y: Any, p: Any, classes: Any) -> tuple[Array, FloatArray, Array]:
    """Return labels, (n,), probabilities, (n, k), and classes, (k,), of consistent shapes.

    For two classes, p may hold the probabilities of the second class only, (n,).
    """
    given = np.asarray(p, dtype=np.float64)
    if given.ndim not in (1, 2) or not given.size:
        raise ValueError(f"probabilities must have the shape (n,) or (n, k), n above 0; theirs is {given.shape}")
    labels = validate_labels(y, len(given))
    known = np.unique(labels) if classes is None else np.asarray(classes)
    if given.ndim == 1:
        given = np.stack([1 - given, given], axis=1)
    if given.shape[1] != len(known):
        raise ValueError(
            f"there are probabilities of {given.shape[1]} classes, and y has the classes {known.tolist()!r}: "
            "give classes= in the order of the probabilities"
        )
    is_valid = ((given >= 0) & (given <= 1 + 1e-9)).all(axis=1)
    if not is_valid.all():
        row = int(np.argmin(is_valid))
        raise ValueError(f"the probabilities of row {row} are {given[row].tolist()}; each must be from 0 to 1")
    encode_labels(labels, known, "y")
    return labels, given, known
