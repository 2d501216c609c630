"""What every model with linear predictors has: coefficients, answers that are linear in a row, a file, a summary."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice import door
from suffice.discriminative.inference import Inference
from suffice.discriminative.summary import Summary
from suffice.engines import Batch, Engine
from suffice.engines.choice import engine_for
from suffice.engines.reading import JOINT, Reading
from suffice.engines.results import joined
from suffice.statistics.base import FloatArray
from suffice.store import Stored


class LinearPredictor(Stored, BaseEstimator):  # type: ignore[misc]
    """A model of y whose predictors are z = theta' [1, x]: one column of theta per predictor."""

    fit_intercept: bool
    engine: Engine | None
    n_features_in_: int
    theta_: FloatArray  #: (p, t): the coefficients as the notes write them, the intercept first where there is one

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to predict from."""
        return "theta_" in vars(self)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)

    def _linear(self, theta: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return theta as coefficients, (t, d), and intercepts, (t,)."""
        theta = self.theta_ if theta is None else theta
        if self.fit_intercept:
            return np.ascontiguousarray(theta[1:].T), theta[0].copy()
        return np.ascontiguousarray(theta.T), np.zeros(theta.shape[1])

    def _read(self, X: Any, coef: FloatArray, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of x coef' + intercept for every row, in the rows' array library."""
        self._check_fitted()
        x = door.features(self, X, reset=False)
        with door.naming_cells():
            x = self._as_read(x)
            return joined(engine_for(self.engine, x).map(partial(_scores, coef, intercept, reading), Batch(x)))

    def _as_read(self, x: Any) -> Any:
        """Return features as the predictors are linear in them."""
        return x

    def _names(self) -> list[str]:
        """Return the names of a column of theta: of the intercept and the features."""
        names = getattr(self, "feature_names_in_", None)
        features = [f"x{place}" for place in range(self.n_features_in_)] if names is None else [str(n) for n in names]
        return ["intercept", *features] if self.fit_intercept else features

    @abstractmethod
    def _inference(self) -> Inference:
        """Return what the rows say about theta."""

    def summary(self, level: float = 0.95) -> Summary:
        """Return a table of coefficients with standard errors, tests and intervals, and how well the model fits.

        Parameters
        ----------
        level
            The probability with which an interval covers the truth.

        Returns
        -------
        Summary
            It prints as a table; ``frame()`` is the table as a data frame.
        """
        self._check_fitted()
        return self._inference().summary(level)

    def _restore_features(self, settings: Any) -> Self:
        """Take back the number and names of the features from a file's settings."""
        self.n_features_in_ = int(settings["features"])
        if settings["feature_names"] is not None:
            self.feature_names_in_ = np.array(settings["feature_names"], dtype=object)
        return self


def _scores(coef: FloatArray, intercept: FloatArray, reading: Reading, batch: Batch, kernels: Any) -> Any:
    return kernels.linear_scores(batch, coef, intercept, reading)
