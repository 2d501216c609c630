"""The parameters of an estimator as its file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def written(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters as JSON holds them; an engine is the reader's to choose.

    >>> written({"alpha": np.float64(0.5), "priors": {0: 0.2, 1: 0.8}, "n_jobs": 2})
    {'alpha': 0.5, 'priors': {'pairs': [[0, 0.2], [1, 0.8]]}, 'n_jobs': None}
    """
    return {name: None if name in ("n_jobs", "device") else _plain(value) for name, value in parameters.items()}


def read(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that :func:`written` wrote.

    >>> read({"priors": {"pairs": [[0, 0.2], [1, 0.8]]}})
    {'priors': {0: 0.2, 1: 0.8}}
    """
    return {name: _unplain(value) for name, value in plain.items()}


def feature_names(model: Any) -> list[str] | None:
    """Return the names of a fitted model's features, where it has them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def restore_features(model: Any, settings: Mapping[str, Any]) -> None:
    """Give a model the number and the names of its features, as a file's settings say them."""
    model.n_features_in_ = int(settings["features"])
    names = settings["feature_names"]
    if names is not None:
        if len(names) != model.n_features_in_:
            raise ValueError(f"feature_names has {len(names)} names for {model.n_features_in_} features")
        model.feature_names_in_ = np.array(names, dtype=object)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):  # keys may be numbers, which JSON's are not
        return {"pairs": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unplain(each) for key, each in value["pairs"]}
    return value
