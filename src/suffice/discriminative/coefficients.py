"""Coefficients and intercepts of a theta, and those of each class, without estimators."""

from __future__ import annotations

import numpy as np

from suffice.statistics.base import FloatArray

Coefficients = tuple[FloatArray, FloatArray]  # coefficients, (t, d), and intercepts, (t,)


def split_theta(theta: FloatArray, has_intercept: bool) -> Coefficients:
    """Return the coefficients, (t, d), and the intercepts, (t,), of a theta, (p, t).

    Examples
    --------
    >>> coef, intercept = split_theta(np.array([[1.0], [2.0], [3.0]]), True)
    >>> coef.tolist(), intercept.tolist()
    ([[2.0, 3.0]], [1.0])
    """
    first = int(has_intercept)
    return np.array(theta[first:].T, order="C"), theta[0].copy() if first else np.zeros(theta.shape[1])


def centre_classes(theta: FloatArray, classes: int) -> FloatArray:
    """Return theta with one column for each class, (p, k), whose mean is 0; the last class may have no column.

    Examples
    --------
    >>> centre_classes(np.array([[2.0]]), 2).tolist()
    [[1.0, -1.0]]
    """
    if theta.shape[1] < classes:
        theta = np.concatenate([theta, np.zeros((len(theta), 1))], axis=1)
    return np.asarray(theta - theta.mean(axis=1, keepdims=True))


def add_first_class(coef: FloatArray, intercept: FloatArray) -> Coefficients:
    """Return the coefficients of two classes, those of the first being 0."""
    return np.concatenate([np.zeros_like(coef), coef]), np.concatenate([np.zeros(1), intercept])


def add_last_class(coef: FloatArray, intercept: FloatArray) -> Coefficients:
    """Return the coefficients of all classes, those of the last being 0."""
    return np.concatenate([coef, np.zeros((1, coef.shape[1]))]), np.concatenate([intercept, np.zeros(1)])
