"""Naive Bayes over any exponential family with T(x) = x: each class has one member of it for each feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy

from suffice.data.sql import DatabaseSums
from suffice.estimator import read_attribute
from suffice.families import Family, as_family
from suffice.families.base import hold_inside
from suffice.families.priors import check_alpha, pseudo_mean, require_evidence, require_known
from suffice.generative.base import PriorsGiven, Tuned, check_smoothing
from suffice.generative.conditional import Linear
from suffice.generative.discrete import ALPHAS
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import is_sparse
from suffice.kernels.protocol import Kernels
from suffice.statistics import DiagonalMoments, Labels, Statistics
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import ClassPriors


class FamilyNB(PriorsGiven):
    """Naive Bayes with a member of one exponential family per class and feature.

    The mean of each class and feature is estimated, and eta follows from it; so log p(x | y) is the sum over features
    of eta x - a(eta) + log b(x), and the posterior is linear in x.

    Parameters
    ----------
    family
        ``"poisson"``, ``"exponential"``, ``"bernoulli"``; a family of :mod:`suffice.families`, as
        ``NegativeBinomial(theta=2)``; or a :class:`~suffice.families.Family` of your own. Families with a dispersion,
        and those whose T(x) is not x, are not supported: use :class:`GaussianNB` for the Gaussian.
    alpha
        A number of pseudo-observations at the feature's mean over all rows, added to each class: one number, one per
        feature, or "auto" to choose it by held-out rows.
    priors
        The class priors, (k,), or a dictionary from class to prior; by default the classes' shares of the rows,
        "laplace" for these with one row more of each class.
    temperature, n_jobs, device
        As for :class:`GaussianNB`.

    Attributes
    ----------
    class_count_ : ndarray of shape (k,)
        The weight of the rows of each class.
    classes_ : ndarray of shape (k,)
        The classes.
    coef_ : ndarray
        The coefficients of the log-odds, where they are linear in x: (1, d) for two classes, else (k, d).
    intercept_ : ndarray
        The intercepts of the log-odds, where they are linear in x: (1,) for two classes, else (k,).
    mean_ : ndarray of shape (k, d)
        The mean of each feature in each class.
    natural_parameter_ : ndarray of shape (k, d)
        The natural parameter of each feature in each class.
    joint_ : Joint
        The estimated p(x, y): its class conditionals, prior and temperature.
    statistics_ : Statistics
        The sum over all rows, from which the model is read.
    em_trace_ : list of float
        The log-likelihood after each step of expectation maximisation, where there were any.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.families import NegativeBinomial
    >>> visits = np.array([[0, 3], [1, 0], [4, 9], [8, 1]])
    >>> model = FamilyNB(NegativeBinomial(theta=2), alpha=0).fit(visits, ["few", "few", "many", "many"])
    >>> model.mean_
    array([[0.5, 1.5],
           [6. , 5. ]])
    >>> model.predict([[0, 1], [7, np.nan]])
    array(['few', 'many'], dtype='<U4')
    """

    _tuned: ClassVar[dict[str, Tuned]] = {"alpha": Tuned(ALPHAS, 1.0)}

    def __init__(
        self,
        family: str | Family | type[Family] = "poisson",
        *,
        alpha: float | npt.ArrayLike | Literal["auto"] = 1.0,
        priors: ClassPriors = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.family = family
        self.alpha = alpha
        self.priors = priors
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    def _check_settings(self) -> None:
        super()._check_settings()
        check_scalar(as_family(self.family))
        check_smoothing(self.alpha)

    def _summed_parameters(self) -> dict[str, Any]:
        return {"family": as_family(self._params.family)}

    def _can_wait(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and bool(_fine(as_family(self._params.family), x).all())

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        return None  # the statistics T(x) of a family are computed here

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        return partial(summarise, as_family(self._params.family), labels)

    def _conditional(self, statistics: Any) -> Members:
        return Members.estimate(as_family(self._params.family), statistics, self._setting("alpha"))

    @read_attribute
    def mean_(self) -> FloatArray:
        """The mean of each class and feature, (k, d)."""
        conditional: Any = self.joint_.conditional
        mean: FloatArray = conditional.mean
        return mean

    @read_attribute
    def natural_parameter_(self) -> FloatArray:
        """The natural parameter eta of each class and feature, (k, d); -inf where the mean is at an end of 0."""
        conditional: Any = self.joint_.conditional
        with np.errstate(divide="ignore"):
            eta: FloatArray = conditional.family.natural_parameter(conditional.mean)
        return eta

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.positive_only = as_family(self.family).mean_range[0] >= 0
        tags.classifier_tags.poor_score = True
        return tags


def _squared_scale(family: Any, mean: FloatArray) -> FloatArray:
    """Return the square of what an error of each mean is small beside: its deviation, and the distance to an end."""
    low, high = family.mean_range
    inside = hold_inside(mean, family.mean_range)
    near = np.minimum(np.abs(inside - low), np.abs(high - inside))
    return np.asarray(np.minimum(near * near, family.variance(family.natural_parameter(inside))))


def check_scalar(family: Any) -> None:
    """Raise if the mean does not determine the member of a family.

    Examples
    --------
    >>> from suffice.families import Gaussian
    >>> check_scalar(Gaussian)
    Traceback (most recent call last):
    ...
    ValueError: T(x) of the family gaussian is not x: its mean does not determine its parameters; use GaussianNB
    """
    if not isinstance(family, type) and family.unknown:
        raise ValueError(f"naive Bayes does not estimate {family.unknown[0]} of {family!r}: give it")
    if family.has_dispersion:
        raise ValueError(f"the family {family.name} has a dispersion, which naive Bayes does not estimate: use GLM")
    one = np.full(1, 0.5)
    if getattr(family, "vector_values", False) or family.sufficient(one).shape != one.shape:
        cure = "; use GaussianNB" if family.name == "gaussian" else ""
        raise ValueError(f"T(x) of the family {family.name} is not x: its mean does not determine its parameters{cure}")


def summarise(family: Any, labels: Labels, batch: Batch, kernels: Kernels) -> DiagonalMoments:
    """Return the moments of a batch whose cells are checked to be in the support of a family, or missing."""
    x = batch.x
    stored = is_sparse(x)
    if stored:
        first, last = int(x.indptr[batch.start]), int(x.indptr[batch.stop])
        cells = np.asarray(x.data[first:last])
    else:
        cells = to_host(x[batch.start : batch.stop])
    fine = _fine(family, cells)
    if not fine.all():
        at = int(np.argmin(fine.reshape(-1)))
        row, column = divmod(at, max(cells.shape[-1], 1))
        if stored:
            row = int(np.searchsorted(x.indptr, first + at, side="right")) - 1 - batch.start
            column = int(x.indices[first + at])
        value = float(cells.reshape(-1)[at])
        raise ValueError(
            f"x[{batch.start + row}, {column}] is {value:g}: a {family.name} value must be {family.support}"
        )
    return DiagonalMoments.of(batch, kernels, labels, True)


def _fine(family: Any, cells: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which cells are in the support, or missing."""
    values = np.asarray(cells, dtype=np.float64)
    return np.asarray(family.contains(values) | np.isnan(values))


@dataclass(frozen=True, eq=False)
class Members(Linear):
    """Independent members of a family, (k, d): log p(x | y) is the sum of eta x - a(eta), and log b(x) is shared."""

    family: Any = field(kw_only=True)
    mean: FloatArray = field(kw_only=True)  # (k, d)

    @classmethod
    def estimate(cls, family: Any, statistics: DiagonalMoments, alpha: Any) -> Members:
        """Return the members whose means are those of the rows and of ``alpha`` pseudo-observations.

        A feature whose mean over all rows is at an end of its range tells classes nothing. One of a class that is at 0,
        unsmoothed, makes other values than 0 impossible in it.
        """
        strength = check_alpha(alpha, statistics.mean.shape[1])
        require_evidence(statistics.labels, statistics.weights + strength.min(initial=np.inf), "mean is")
        require_known(statistics.labels, statistics.observed + strength, "mean is")
        pooled, _ = statistics.pooled()
        mean = pseudo_mean(statistics.mean, statistics.observed, pooled, strength)
        low, high = family.mean_range
        if statistics.forgotten:
            statistics.check_digits(_squared_scale(family, mean), means_alone=True)
        silent = (pooled <= low) | (pooled >= high)
        at_end = ((mean <= low) | (mean >= high)) & ~silent
        if at_end.any() and (low != 0 or (mean >= high).any()):
            code, feature = np.unravel_index(int(np.argmax(at_end)), at_end.shape)
            raise ValueError(
                f"the mean of feature {feature} in class {statistics.labels.names[int(code)]!r} is "
                f"{mean[code, feature]:g}, at an end of the range of the family {family.name}: give alpha > 0"
            )
        eta = np.asarray(family.natural_parameter(hold_inside(mean, family.mean_range)))
        partition = np.asarray(family.log_partition(eta))
        nothing = silent | at_end
        coef, partition = np.where(nothing, 0.0, eta), np.where(nothing, 0.0, partition)
        veto = Linear(at_end.astype(np.float64), np.zeros(len(coef))) if at_end.any() else None
        return cls(coef, -partition.sum(axis=1), partition, None, veto, family=family, mean=mean)

    def log_base(self, x: Any) -> FloatArray:
        """Return the sum of log b(x_j) of each row, (n,); missing cells add nothing."""
        if not is_sparse(x):
            return np.asarray(self._log_base(to_host(x)).sum(axis=1))
        absent = float(self._log_base(np.zeros(1))[0])
        stored: Any = scipy.sparse.csr_array((self._log_base(x.data) - absent, x.indices, x.indptr), shape=x.shape)
        return np.asarray(stored.sum(axis=1) + absent * x.shape[1])

    def _log_base(self, cells: npt.NDArray[Any]) -> FloatArray:
        values = np.asarray(cells, dtype=np.float64)
        known = ~np.isnan(values)
        inside = known & self.family.contains(values)
        base = np.zeros(values.shape)
        base[inside] = self.family.log_base(values[inside])
        return np.where(known & ~inside, -np.inf, base)

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return rows drawn from the members of their classes."""
        eta = self.family.natural_parameter(hold_inside(self.mean, self.family.mean_range))
        return self.family.draw(eta[codes], random)
