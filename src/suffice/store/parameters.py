"""Parameters of an estimator as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON values, without the engine, which is chosen after loading.

    >>> encode_parameters({"alpha": np.float64(0.5), "priors": {0: 0.2, 1: 0.8}, "n_jobs": 2})
    {'alpha': 0.5, 'priors': {'pairs': [[0, 0.2], [1, 0.8]]}, 'n_jobs': None}
    """
    return {name: None if name in ("n_jobs", "device") else _plain(value) for name, value in parameters.items()}


def decode_parameters(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that :func:`encode_parameters` encoded.

    >>> decode_parameters({"priors": {"pairs": [[0, 0.2], [1, 0.8]]}})
    {'priors': {0: 0.2, 1: 0.8}}
    """
    return {name: _unplain(value) for name, value in plain.items()}


def feature_names(model: Any) -> list[str] | None:
    """Return the feature names of a fitted model; None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def restore_features(model: Any, settings: Mapping[str, Any]) -> None:
    """Set the number and the names of a model's features from the settings of a file."""
    model.n_features_in_ = int(settings["features"])
    names = settings["feature_names"]
    if names is not None:
        if len(names) != model.n_features_in_:
            raise ValueError(f"feature_names has {len(names)} names for {model.n_features_in_} features")
        model.feature_names_in_ = np.array(names, dtype=object)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, dict):  # keys may be numbers, which JSON does not allow
        return {"pairs": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unplain(each) for key, each in value["pairs"]}
    return value
