"""A family under a link: value, derivative and Fisher information of a row's log-likelihood in its predictors."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import Distribution, Family
from suffice.families.bernoulli import Bernoulli
from suffice.families.beta import Beta
from suffice.families.dirichlet import Dirichlet
from suffice.families.exponential import Exponential
from suffice.families.gamma import Gamma
from suffice.families.gaussian import Gaussian
from suffice.families.inverse_gaussian import InverseGaussian
from suffice.families.links import LARGEST_PREDICTOR, Link, Power, array_namespace, arrays, quiet
from suffice.families.multinomial import Multinomial
from suffice.families.natural_likelihood import Canonical, NaturalLikelihood
from suffice.families.negative_binomial import NegativeBinomial
from suffice.families.poisson import Poisson
from suffice.families.row_likelihood import Curve, RowLikelihood
from suffice.families.tweedie import Tweedie
from suffice.statistics.base import FloatArray

__all__ = ["NAMED", "PARAMETRIC", "Curve", "Response", "as_family"]

#: Families with a regression and without parameters, by name.
NAMED: dict[str, type[Family]] = {
    family.name: family
    for family in (Gaussian, Bernoulli, Poisson, Exponential, Gamma, InverseGaussian, Multinomial, Beta, Dirichlet)
}
#: Families with parameters, by name.
PARAMETRIC: dict[str, type[Family]] = {family.name: family for family in (NegativeBinomial, Tweedie)}
#: Other names of families.
ALIASES = {"binomial": "bernoulli", "categorical": "multinomial", "normal": "gaussian"}
#: Names of regressions, and the family that each has.
_REGRESSIONS = {"linear": "gaussian", "logistic": "bernoulli", "softmax": "multinomial"}


def as_family(family: Any) -> Any:
    """Return the family of a name, a class or an instance: a subclass of Distribution, or an instance of Family.

    Examples
    --------
    >>> as_family("poisson").__name__, as_family(NegativeBinomial(theta=2.0))
    ('Poisson', NegativeBinomial(theta=2.0))
    >>> as_family("tweedie")
    Traceback (most recent call last):
    ...
    ValueError: the family 'tweedie' has parameters: give Tweedie(power=...) of suffice.families
    """
    if isinstance(family, str):
        name = ALIASES.get(family, family)
        if name in PARAMETRIC:
            try:
                return PARAMETRIC[name]()
            except TypeError:
                call = _call(PARAMETRIC[name])
                raise ValueError(f"the family {family!r} has parameters: give {call} of suffice.families") from None
        if name not in NAMED:
            if name in _REGRESSIONS:
                raise ValueError(f"there is no family {family!r}: {name} regression has family={_REGRESSIONS[name]!r}")
            known = ", ".join((*NAMED, *(_call(each) for each in PARAMETRIC.values())))
            raise ValueError(f"there is no regression for {family!r}; there is for: {known}")
        return NAMED[name]
    kind = family if isinstance(family, type) else type(family)
    if not issubclass(kind, Family):
        raise TypeError(f"family must be a name, or a class or an instance of Family; got {family!r}")
    if kind is not NAMED.get(kind.name, PARAMETRIC.get(kind.name, kind)):
        raise ValueError(f"the name {kind.name!r} of {kind.__qualname__} is that of another family: give it its own")
    if issubclass(kind, Distribution):
        return kind
    if not isinstance(family, type):
        return family
    try:
        return family()
    except TypeError as error:
        if not inspect.signature(kind).parameters:
            raise
        raise TypeError(f"the family {family.__name__} needs arguments ({error}): give {_call(family)}") from None


def _call(family: type[Family]) -> str:
    """Return the call of the constructor, as in ``Tweedie(power=...)``."""
    return f"{family.__name__}({', '.join(f'{name}=...' for name in inspect.signature(family).parameters)})"


@dataclass(frozen=True)
class Response:
    """A family with a link between its mean and the linear predictors. Use :meth:`of` for the default link.

    The default is the canonical link, if every predictor gives a valid mean under it. A beta response has two
    predictors, for the mean and for the log of the precision; a Dirichlet response has one per part, the log of its
    concentration.

    Examples
    --------
    >>> import numpy as np
    >>> response = Response.of("bernoulli")
    >>> response.name
    'bernoulli/logit'
    >>> response.curve(np.array([[0.0], [800.0]]), np.array([1.0, 1.0])).slope
    array([[0.5],
           [0. ]])
    >>> Response.of("bernoulli", "probit").can_separate, Response.of("gaussian").can_separate
    (True, False)
    """

    family: Family | type[Family]  #: a subclass of Distribution, or an instance of another Family
    link: Link
    observed: bool = False  #: whether curvatures are observed, not expected, where :attr:`has_observed`
    likelihood: RowLikelihood = field(init=False, repr=False, compare=False)  #: of a row, under each link
    name: str = field(init=False, repr=False, compare=False)  #: the family and the link, as in ``bernoulli/logit``
    kernel: str | None = field(init=False, repr=False, compare=False)  #: the name of compiled kernels; None without
    slope_share: float = field(init=False, repr=False, compare=False)  #: added to curvatures, in slopes
    vector_targets: bool = field(init=False, repr=False, compare=False)
    """Whether a target is a row of several numbers, (n, k), such as the parts of a Dirichlet response."""
    can_separate: bool = field(init=False, repr=False, compare=False)
    """Whether the likelihood may have no maximum: the mean approaches an end of its range, and does not reach it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.family.name}/{self.link.name}")
        likelihood = _likelihood_of(self.family)
        if likelihood is None or not likelihood.accepts(self.link):
            kinds = NAMED.values() if likelihood is None or self.family.name in NAMED else [self.family]
            known = [f"{each.name}/{link}" for each in kinds for link in _links_of(each)]
            raise ValueError(f"there is no response {self.name}; there are: {', '.join(known)}")
        object.__setattr__(self, "likelihood", likelihood)
        object.__setattr__(self, "kernel", self.name if self.link.name in likelihood.compiled_links else None)
        object.__setattr__(self, "slope_share", likelihood.slope_share(self.link) if self.observed else 0.0)
        object.__setattr__(self, "vector_targets", likelihood.vector_targets)
        object.__setattr__(self, "can_separate", self.link.name in likelihood.separating_links)

    @classmethod
    def of(cls, family: Family | type[Family] | str, link: Link | str | None = None) -> Self:
        """Return the response of a family, or its name, under a link, or its name, or the default link."""
        found = as_family(family)
        if link is None or link == "canonical":
            likelihood = _likelihood_of(found)
            if likelihood is None:
                raise ValueError(f"there is no regression for {found.name!r}; there is for: {', '.join(NAMED)}")
            canonical = found.canonical_link
            link = (canonical or Canonical(found)) if link == "canonical" else likelihood.link_names[0]
        return cls(found, links.by_name(link) if isinstance(link, str) else link)

    @property
    def has_observed(self) -> bool:
        """Whether the observed curvature differs from the expected one and is never negative, so solvers may use it."""
        return self.likelihood.slope_share(self.link) > 0

    @property
    def title(self) -> str:
        """The same with the parameters of the family, as in ``NegativeBinomial(theta=2.0)/log``."""
        if isinstance(self.family, type):
            return self.name
        parameters = ", ".join(f"{name}={_in_short(value)}" for name, value in self.family.parameters.items())
        return f"{type(self.family).__name__}({parameters})/{self.link.name}"

    def predictors(self, targets: int = 1) -> int:
        """Return the number of linear predictors of a row.

        ``targets`` is the number of classes of a multinomial response and of parts of a Dirichlet response; others
        ignore it.

        Examples
        --------
        >>> Response.of("poisson").predictors(), Response.of("beta").predictors()
        (1, 2)
        >>> Response.of("multinomial").predictors(4), Response.of("dirichlet").predictors(4)
        (3, 4)
        """
        return len(self.likelihood.predictor_names(targets))

    def predictor_names(self, targets: int = 1) -> tuple[str, ...]:
        """Return the names of the linear predictors.

        Examples
        --------
        >>> Response.of("beta").predictor_names()
        ('mean', 'precision')
        """
        return self.likelihood.predictor_names(targets)

    def check_targets(self, y: Any, classes: int | None = None) -> None:
        """Raise ValueError for the first target, in an array of any library, outside the support of the family.

        Bernoulli targets may be proportions (with the trials as weights), and Poisson targets rates (with the exposure
        as weights); multinomial targets are codes from 0 to ``classes`` - 1; Dirichlet targets are rows of positive
        parts that sum to 1, ``classes`` of them if given.

        Examples
        --------
        >>> Response.of("poisson").check_targets([0.0, 2.0, -1.0])
        Traceback (most recent call last):
        ...
        ValueError: y[2] is -1.0: a poisson target must be a finite number, 0 or more
        """
        xp, values = arrays(y)
        self.likelihood.check_targets(xp, values, classes)

    @quiet
    def curve(self, predictor: Any, y: Any) -> Curve:
        """Return value, slope and curvature of each row's log-likelihood, in the predictor's array library.

        Parameters
        ----------
        predictor
            The linear predictors, (n, t), float64; t is that of :meth:`predictors`. The predictor of the last class of
            a multinomial response is 0 and not included.
        y
            Legal targets, (n,), or (n, k) where they are vectors; class codes for the multinomial.

        Notes
        -----
        Where the mean is outside the range of the family, the value is -inf, and the slope and curvature are 0, so that
        a line search backtracks. Predictors are clipped at 1e100, exponents at 709 (354 for gaussian/log, whose mean is
        squared; 300 for logs of concentrations) and divisors at 1e-100, so that the value is never NaN; it may
        overflow to -inf.
        """
        found = self.likelihood.curve(*self._rows(predictor, y))
        if self.slope_share == 0:
            return found
        return found._replace(curvature=found.curvature + self.slope_share * found.slope[:, :, None])

    @quiet
    def deviance(self, predictor: Any, y: Any) -> Any:
        """Return the deviance of each row, (n,): twice the difference of :meth:`saturated` and its value.

        Examples
        --------
        >>> import numpy as np
        >>> Response.of("gaussian").deviance(np.array([[1e9]]), np.array([1e9 + 2]))
        array([4.])
        """
        return self.likelihood.deviance(*self._rows(predictor, y))

    @quiet
    def mean(self, predictor: Any) -> Any:
        """Return E[y] of each row, (n,), or (n, k): the probability of each class, the mean of each part.

        Examples
        --------
        >>> import numpy as np
        >>> Response.of("dirichlet").mean(np.log([[1.0, 3.0]]))
        array([[0.25, 0.75]])
        """
        xp, z = _held(predictor)
        return self.likelihood.mean(xp, self.link, z)

    @quiet
    def unit_variance(self, mean: Any) -> Any:
        """Return V(mean), the variance of y at unit dispersion, of an array of any library.

        The variance of y is the dispersion times this: 1 / (1 + precision) for the beta and Dirichlet, where it is that
        of each part.

        Examples
        --------
        >>> Response.of("bernoulli").unit_variance([0.5, 0.1])
        array([0.25, 0.09])
        """
        return self.likelihood.unit_variance(*arrays(mean))

    @quiet
    def pearson(self, mean: Any, y: Any) -> Any:
        """Return (y - mean)^2 / V(mean) of each row: over the degrees of freedom, their sum estimates the dispersion.

        Examples
        --------
        >>> import numpy as np
        >>> Response.of("gamma").pearson(np.array([2.0]), np.array([3.0]))
        array([0.25])
        """
        xp, centre = arrays(mean)
        return self.likelihood.pearson(xp, centre, y)

    @quiet
    def saturated(self, y: Any) -> Any:
        """Return the largest value of :meth:`curve` for each row, where the mean is y.

        Beta and Dirichlet responses have none: their density at the mean is unbounded as the precision grows.

        Examples
        --------
        >>> Response.of("poisson").saturated([0.0, 1.0])
        array([ 0., -1.])
        """
        return self.likelihood.saturated(*arrays(y))

    @quiet
    def log_base(self, y: Any, dispersion: float = 1.0) -> Any:
        """Return log b(y) of each row, (n,): the terms of the log-likelihood that :meth:`curve` omits.

        For proportions of trials, add :func:`~suffice.families.bernoulli.log_choose` instead.

        Examples
        --------
        >>> Response.of("poisson").log_base([2.0, 3.0]).round(3)
        array([-0.693, -1.792])
        """
        return self.likelihood.log_base(*arrays(y), dispersion)

    @quiet
    def start(self, mean: npt.ArrayLike, variance: npt.ArrayLike | None = None) -> FloatArray:
        """Return the predictors, (t,), of the distribution with this mean, as the initial value of a solver.

        Parameters
        ----------
        mean
            The mean of y: a number, or (k,) for the shares of classes and the means of parts.
        variance
            The variance of y, of the shape of the mean. It determines the precision of the beta and Dirichlet; without
            it, that is the precision of the uniform distribution, or close to it.

        Examples
        --------
        >>> Response.of("poisson").start(1.0)
        array([0.])
        >>> Response.of("beta").start(0.5, 0.25 / 11).round(3)
        array([0.   , 2.303])
        """
        centre = np.asarray(mean, dtype=np.float64)
        spread = None if variance is None else np.asarray(variance, dtype=np.float64)
        return self.likelihood.start(self.link, centre, spread).reshape(-1)

    def _rows(self, predictor: Any, y: Any) -> tuple[Any, Link, Any, Any]:
        """Return the namespace, the link, the clipped predictors and the targets in float64, all checked."""
        xp, z = _held(predictor)
        rows, columns = z.shape
        if self.vector_targets:
            if tuple(y.shape) != (rows, columns):
                raise ValueError(f"y must have a part per predictor, {(rows, columns)}; its shape is {tuple(y.shape)}")
        elif tuple(y.shape) != (rows,):
            raise ValueError(f"y must have one target per row, ({rows},); its shape is {tuple(y.shape)}")
        expected = self.predictors(columns + (self.family is Multinomial))
        if columns != expected:
            count = "one predictor" if expected == 1 else f"{expected} predictors"
            raise ValueError(f"{self.name} has {count} per row; got {columns}")
        return xp, self.link, z, xp.astype(y, xp.float64, copy=False)


def _in_short(value: Any) -> str:
    """Return a parameter as text, a number with 6 digits at most."""
    return repr(float(f"{value:.6g}")) if isinstance(value, float) else repr(value)


def _held(predictor: Any) -> tuple[Any, Any]:
    """Return the namespace of predictors and the predictors clipped at 1e100."""
    xp: Any = array_namespace(predictor)
    if predictor.dtype != xp.float64 or len(predictor.shape) != 2:
        raise TypeError(f"predictor must be float64, (n, t); got {predictor.dtype}, {tuple(predictor.shape)}")
    if isinstance(predictor, np.ndarray):  # several times as fast for few rows
        return xp, np.clip(predictor, -LARGEST_PREDICTOR, LARGEST_PREDICTOR)
    return xp, xp.clip(predictor, min=-LARGEST_PREDICTOR, max=LARGEST_PREDICTOR)


def _likelihood_of(family: Any) -> RowLikelihood | None:
    """Return the log-likelihood of a row of a family; None for a distribution without a regression."""
    kind = family if isinstance(family, type) else type(family)
    found: RowLikelihood | None = family.row_likelihood
    return NaturalLikelihood(family) if found is None and not issubclass(kind, Distribution) else found


def _links_of(family: Any) -> tuple[str, ...]:
    likelihood = _likelihood_of(family)
    if likelihood is None:
        return ()
    return (*likelihood.link_names, "power(exponent)") if likelihood.accepts(Power(3)) else likelihood.link_names
