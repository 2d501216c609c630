"""The rows that local fits are made from: how they are kept, asked, and asked about themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from suffice.discriminative.local_bandwidth import choose_bandwidth, neighbours_together
from suffice.discriminative.local_fit import Answer, LeastSquares, LocalFit, Logistic
from suffice.discriminative.local_validation import check_rows
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.choice import Execution, engine_for, is_foreign
from suffice.kernels.neighbourhood import Neighbourhood
from suffice.statistics.base import FloatArray

#: How many rows are asked about themselves at most, to choose a bandwidth or to estimate a variance.
_ASKED = 2000


@dataclass(frozen=True)
class LocalRows:
    """Rows with their targets and weights, on the device they came from."""

    batch: Batch  # x, (n, d), y, (n, t), and weight, (n,) or None: float64, of one array library
    targets: FloatArray  # (n, t), on the host
    weight: FloatArray  # (n,), on the host

    @classmethod
    def of(cls, x: Any, targets: FloatArray, weight: FloatArray | None, in_order: bool = False) -> LocalRows:
        """Return the rows that weigh anything; those of NumPy in an order that keeps neighbours together."""
        check_rows(x)
        if is_foreign(x):
            return cls._foreign(x, targets, weight)
        x = np.asarray(x, dtype=np.float64)
        if not in_order:
            kept = np.arange(len(x)) if weight is None else np.flatnonzero(weight)
            kept = kept[neighbours_together(x[kept])]
            x, targets, weight = x[kept], targets[kept], None if weight is None else weight[kept]
        return cls(Batch(x, targets, weight), targets, np.ones(len(x)) if weight is None else weight)

    @classmethod
    def _foreign(cls, x: Any, targets: FloatArray, weight: FloatArray | None) -> LocalRows:
        xp, device = array_api_compat.array_namespace(x), array_api_compat.device(x)
        x = xp.astype(x, xp.float64)
        y = xp.asarray(targets, device=device)
        scale = None if weight is None else xp.asarray(weight, device=device)
        return cls(Batch(x, y, scale), targets, np.ones(len(targets)) if weight is None else weight)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the rows as a model's file holds them."""
        weight = {} if self.batch.weight is None else {"weight": self.weight}
        return {"x": np.asarray(to_host(self.batch.x)), "y": self.targets, **weight}

    def ask(
        self,
        x: Any,
        settings: Mapping[str, Any],
        bandwidth: float,
        engine: Engine | Execution | None,
        with_variance: bool = False,
        left_out: npt.NDArray[np.int64] | None = None,
    ) -> Answer:
        """Return what the fits say at queries, each without one of the rows where ``left_out`` says so."""
        queries = Batch(self._beside(x), left_out, work=max(1, self.batch.rows))
        fit = self._fit(settings, bandwidth, with_variance)
        return Answer.joined(engine_for(engine, self.batch.x).map(fit, queries))

    def _fit(self, settings: Mapping[str, Any], bandwidth: float, with_variance: bool) -> LocalFit:
        neighbourhood = Neighbourhood(settings["kernel"], bandwidth, settings["degree"])
        what = self.batch, self.targets, neighbourhood, settings["l2"]
        if settings["family"] == "bernoulli":
            return Logistic(*what, settings["max_iter"], settings["tol"])
        return LeastSquares(*what, with_variance)

    def _beside(self, x: Any) -> Any:
        """Return queries in the array library of the rows, on their device."""
        home = self.batch.x
        if isinstance(home, np.ndarray):
            return to_host(x) if is_foreign(x) else x
        xp, device = array_api_compat.array_namespace(home), array_api_compat.device(home)
        if is_foreign(x) and array_api_compat.array_namespace(x) is xp:
            return array_api_compat.to_device(x, device)
        return xp.asarray(to_host(x) if is_foreign(x) else np.array(x), device=device)

    def _themselves(self) -> tuple[Any, npt.NDArray[np.int64]]:
        """Return rows to be asked about, all or evenly chosen from their order, and their places."""
        count = self.batch.rows
        places = np.unique(np.linspace(0, count - 1, min(count, _ASKED)).astype(np.int64))
        if isinstance(self.batch.x, np.ndarray):
            return self.batch.x[places], places
        return to_host(self.batch.x)[places], places

    def residual_variance(
        self, settings: Mapping[str, Any], bandwidth: float, engine: Engine | Execution | None
    ) -> FloatArray:
        """Return the variance of the targets about the fit, (t,), for the degrees of freedom that it leaves."""
        x, places = self._themselves()
        answer = self.ask(x, settings, bandwidth, engine, with_variance=True)
        weight = self.weight[places]
        residual = self.targets[places] - answer.value
        # Of a row of weight w, w residual^2 has the expectation of the variance times this.
        free = float(np.sum(weight * (1 - 2 * weight * answer.influence / weight + answer.variance)))
        if free <= 1e-9 * float(weight.sum()):
            raise ValueError(
                f"bandwidth {bandwidth:g} leaves no degrees of freedom: the fit runs through every row, and its errors "
                "cannot be told; choose a larger bandwidth"
            )
        return np.asarray((weight[:, None] * residual**2).sum(axis=0) / free)

    def tuned(self, settings: Mapping[str, Any], engine: Engine | Execution | None) -> tuple[float, FloatArray]:
        """Return the bandwidth that predicts best the rows left out, and the table of all that were tried."""
        if self.batch.rows < 2:
            raise ValueError("bandwidth='auto' needs two rows at least, to predict one from the others: pass a number")
        x, places = self._themselves()
        weight = self.weight[places] / self.weight[places].sum()
        y = self.targets[places]

        def score(bandwidth: float) -> float:
            value = self.ask(x, settings, bandwidth, engine, left_out=places).value
            if settings["family"] == "bernoulli":
                return float(-weight @ log_expit(np.where(y > 0, value, -value))[:, 0])
            return float(weight @ ((y - value) ** 2).mean(axis=1))

        low, high = self._scales(x, places, engine)
        if high == 0:
            return 1.0, np.array([[1.0, score(1.0)]])
        return choose_bandwidth(score, low, high)

    def _scales(self, x: Any, places: npt.NDArray[np.int64], engine: Engine | Execution | None) -> tuple[float, float]:
        """Return the distance of a row from its neighbour, and of the rows farthest apart, twice."""
        high = 2 * float(np.linalg.norm(np.ptp(x, axis=0)))
        constant = {"family": "gaussian", "degree": 0, "kernel": "gaussian", "l2": 0.0}
        if high == 0:
            return 0.0, 0.0
        # In bandwidths of the whole extent, the Gaussian kernel at the nearest other row tells how far that is.
        log_weight = self.ask(x, constant, high, engine, left_out=places).log_weight
        low = high * float(np.median(np.sqrt(-2 * log_weight)))
        return max(low, high * 1e-4), high
