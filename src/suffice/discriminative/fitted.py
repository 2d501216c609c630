"""What is kept of a fitted generalised linear model: theta, how sure it is, how well it fits; and its file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice import solvers
from suffice.discriminative.facts import Facts
from suffice.discriminative.inference import Inference, notes_on_rows
from suffice.discriminative.layout import Layout
from suffice.discriminative.predictor import LinearPredictor
from suffice.discriminative.separation import Separation
from suffice.families import Response
from suffice.families.links import Link
from suffice.fitted_parameters import read_parameters, write_parameters
from suffice.solvers import Solution, Step
from suffice.solvers.linear_algebra import Symmetric
from suffice.solvers.objective import flat
from suffice.statistics.base import FloatArray
from suffice.store import Contents, check_shapes, parameters


class Fitted(LinearPredictor):
    """A generalised linear model as it is after the fit."""

    l2: float
    l1: float
    covariance: str
    solution_: Solution
    separation_: Separation | None  #: a direction along which the likelihood rises for ever, if one was found
    facts_: Facts
    dispersion_: float
    _layout: Layout
    _information: FloatArray | None  # about theta as the solver saw it
    _covariance: FloatArray | None  # of the solution's theta, once it was asked for
    _notes: list[str]

    @abstractmethod
    def _response(self) -> Response:
        """Return the family and link."""

    _fixed_parameters: ClassVar[tuple[str, ...]] = ("fit_intercept",)

    def _fitted_theta(self) -> FloatArray:
        return self.solution_.theta

    @abstractmethod
    def _parameter_names(self) -> list[str]:
        """Return the name of each parameter, theta read column by column."""

    def _moving(self) -> npt.NDArray[np.bool_]:
        """Return which parameters, theta read column by column, were free to move."""
        return np.ones(self.solution_.theta.size, dtype=bool)

    # Inference.

    def _theta_covariance(self) -> FloatArray | None:
        """Return the covariance of theta read column by column, where it is known."""
        if self._covariance is None and self._information is not None and self._params.l1 == 0:
            inverse = Symmetric.of(self._information).inverse()
            self._covariance = self._layout.covariance_outward(inverse) * self.facts_.dispersion
        return self._covariance

    def _inference(self) -> Inference:
        if not hasattr(self, "facts_"):
            raise ValueError("partial_fit keeps no curvature to tell standard errors by: use fit for a summary")
        covariance = self._theta_covariance()
        notes = list(self._notes)
        response, params = self._response(), self._params
        if params.l1 > 0:
            notes.append("l1 > 0: there are no standard errors of coefficients that were set to zero")
        elif covariance is None:
            notes.append("standard errors were left out, as they take long here: give inference=True")
        if params.l2 > 0:
            notes.append(f"l2 = {params.l2:g}: standard errors are those of the posterior under a Gaussian prior")
        dispersed = response.likelihood.has_dispersion
        notes += notes_on_rows(self.facts_.rows, self.facts_.rank, dispersed or params.covariance == "HC1")
        moving = self._moving()
        if covariance is not None:
            covariance = covariance[np.ix_(moving, moving)]
        return Inference(
            title=f"{type(self).__name__} ({response.title})",
            names=tuple(np.array(self._parameter_names())[moving].tolist()),
            estimate=flat(self.solution_.theta)[moving],
            covariance=covariance,
            distribution="t" if dispersed else "z",
            df_residual=self.facts_.df_residual,
            rows=self.facts_.rows,
            rank=self.facts_.rank,
            log_likelihood=self.facts_.log_likelihood,
            null_log_likelihood=self.facts_.null_log_likelihood,
            deviance=self.facts_.deviance,
            null_deviance=self.facts_.null_deviance,
            dispersion=self.facts_.dispersion,
            covariance_kind=params.covariance,
            notes=tuple(notes),
            intercept=bool(params.fit_intercept),
            density=not response.likelihood.is_discrete,
        )

    # The file.

    def _contents(self) -> Contents:
        self._check_fitted()
        covariance = self._theta_covariance()
        arrays = {"theta": self.solution_.theta, "gradient": self.solution_.gradient}
        if covariance is not None:
            known = np.isfinite(np.diagonal(covariance))
            arrays["known"] = known
            arrays["covariance"] = covariance[np.ix_(known, known)]
        if self._is_assigned(self.solution_.theta):
            arrays["coef"], arrays["intercept"] = np.asarray(self.coef_), np.asarray(self.intercept_)
        arrays |= self._progress_arrays()
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(solvers_written),
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "facts": self.facts_.plain() if hasattr(self, "facts_") else None,
                "notes": list(self._notes),
                "solution": {
                    "log_likelihood": self.solution_.log_likelihood,
                    "converged": self.solution_.converged,
                    "why": self.solution_.why,
                    # Without the time that steps took: the same fit is the same file.
                    "trace": [list(step._replace(seconds=0.0)) for step in self.solution_.trace],
                },
                "progress": self._progress(),
                **self._more_settings(),
            },
            statistics={},
            arrays=arrays,
        )

    def _theta_columns(self, columns: int) -> tuple[int, int]:
        """Return how many columns theta has at least and at most, by the classes; as many as it has, without any."""
        return columns, columns

    @abstractmethod
    def _more_settings(self) -> dict[str, Any]:
        """Return what else a file must hold for the model to go on."""

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings, arrays = contents.settings, contents.arrays
        model = cls._with_parameters(settings, solvers_read, contents.families)._restore_features(settings)
        model._restore(settings)
        size, columns = model.n_features_in_ + int(model._params.fit_intercept), arrays["theta"].shape[1]
        least, most = model._theta_columns(columns)
        check_shapes(arrays, {"theta": (size, min(max(columns, least), most))})
        coef, intercept = model._shown(arrays["theta"])
        shapes = {"gradient": arrays["theta"].shape, "coef": np.shape(coef), "intercept": np.shape(intercept)}
        check_shapes(arrays, shapes)
        model._resume(settings["progress"], arrays)
        if settings["facts"] is not None:
            model.facts_ = Facts(**settings["facts"])
            model.dispersion_ = model.facts_.dispersion
        model._notes = list(settings["notes"])
        model._layout, model._information = Layout(model.n_features_in_, bool(model._params.fit_intercept)), None
        model._covariance = model.separation_ = None
        if "covariance" in arrays:
            known = np.flatnonzero(arrays["known"])
            check_shapes(arrays, {"known": (arrays["theta"].size,), "covariance": (len(known), len(known))})
            model._covariance = np.full((len(arrays["known"]), len(arrays["known"])), np.nan)
            model._covariance[np.ix_(known, known)] = arrays["covariance"]
        about = dict(settings["solution"])
        trace = tuple(Step(*step) for step in about.pop("trace"))
        model.solution_ = Solution(arrays["theta"], gradient=arrays["gradient"], trace=trace, **about)
        model.n_iter_ = max(len(trace), 1)
        model._set_theta(model.solution_.theta)
        if "coef" in arrays:
            intercept = arrays["intercept"]
            model.coef_, model.intercept_ = arrays["coef"], intercept if intercept.ndim else float(intercept)
        return model

    @abstractmethod
    def _progress(self) -> dict[str, Any]:
        """Return how far learning by batches has come."""

    @abstractmethod
    def _progress_arrays(self) -> dict[str, Any]:
        """Return what learning by batches goes on from."""

    def _resume(self, progress: Any, arrays: Mapping[str, Any]) -> None:
        """Take back what :meth:`_progress` and :meth:`_progress_arrays` wrote."""

    def _restore(self, settings: Any) -> None:
        """Take back what :meth:`_more_settings` wrote."""


def solvers_written(settings: dict[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters as its file holds them: a solver as its name and settings."""
    plain = dict(settings)
    for name, value in settings.items():
        if hasattr(value, "minimise"):
            each = {field.name: getattr(value, field.name) for field in fields(value)}
            plain[name] = {"solver": type(value).__name__, **each}
        elif isinstance(value, Link):
            plain[name] = value.name
    return write_parameters(plain)


def solvers_read(plain: dict[str, Any], families: Mapping[str, type]) -> dict[str, Any]:
    """Return the parameters that :func:`solvers_written` wrote; ``families`` are classes they may need."""
    settings = read_parameters(plain, families)
    for name, value in settings.items():
        if isinstance(value, dict) and "solver" in value:
            kind = getattr(solvers, value.pop("solver"))
            settings[name] = kind(**value)
    return settings
