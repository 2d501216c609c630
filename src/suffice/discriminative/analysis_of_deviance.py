"""Analysis of variance and of deviance: tests of nested models, and of the terms of one model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

from suffice.discriminative.covariance import nearest_name
from suffice.discriminative.fit_rows import FitRows, check_columns, rows_of_fit
from suffice.discriminative.inference import Inference
from suffice.discriminative.layout import Layout
from suffice.discriminative.least_squares import LeastSquaresModel
from suffice.discriminative.normal_equations import products_of
from suffice.discriminative.regression import Regression
from suffice.discriminative.result_table import ResultTable
from suffice.solvers import Newton
from suffice.solvers.linear_algebra import Symmetric, flat

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, VectorLike

TESTS = ("auto", "lr", "f", "wald", "score")


def anova(
    *models: Any,
    test: str = "auto",
    kind: str = "sequential",
    terms: Mapping[str, Sequence[str]] | None = None,
    X: MatrixLike | None = None,
    y: VectorLike = None,
    sample_weight: VectorLike = None,
    **rows: Any,
) -> ResultTable:
    """Test nested models against each other, the smallest first; or the terms of one model.

    Parameters
    ----------
    *models
        Fitted regressions of the same rows. Two or more: each is tested against the one before, whose coefficients it
        must have, by name; columns of arrays have the names x0, x1, ... One: its terms are tested.
    test
        ``"lr"``: the likelihood ratio, a chi-squared test of the difference of deviances over the dispersion.
        ``"f"``: the same over its degrees of freedom, for a dispersion that is estimated. ``"auto"``: the one of these
        that fits the family. ``"wald"``: Wald test by the covariance of the larger model, robust ones included.
        ``"score"``: Rao's score test at the smaller model, for two or more models; it needs the rows of the fit.
    kind
        For one model: ``"sequential"``, each term given those before it, as R's ``anova``; ``"type 2"``, each given
        all others that do not contain it, as ``Anova`` of R's car (a term contains another if its name, split at
        ``:``, has all parts of the other's).
    terms
        For one model: the names of the coefficients of each term, in order. By default every coefficient is a term.
    X, y, sample_weight, **rows
        The rows of the fit and their ``offset``, ``exposure`` and ``trials``: for the terms of one model, and for
        ``test="score"``. :class:`~suffice.LinearRegression` needs none for its terms: it computes them from its sums.

    Returns
    -------
    ResultTable
        A row for each model or term.

    Examples
    --------
    >>> from suffice import LinearRegression
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 4.0], [5.0, 1.0]])
    >>> y = np.array([1.0, 2.5, 2.0, 4.0, 3.0, 6.0])
    >>> anova(LinearRegression().fit(x[:, :1], y), LinearRegression().fit(x, y))
    Analysis of variance
    <BLANKLINE>
        df_residual   deviance   df   difference        F        p
    --------------------------------------------------------------
    1             4   3.6048      -       -          -      -
    2             3   0.087010    1       3.5178   121.29   0.0016
    """
    if not models:
        raise TypeError("anova needs a fitted model, or several, the smallest first")
    test = str(test).lower()
    if test not in TESTS:
        raise ValueError(f"test must be one of {', '.join(TESTS)}; got {test!r}")
    if kind not in ("sequential", "type 2"):
        raise ValueError(f"kind must be 'sequential' or 'type 2'; got {kind!r}")
    check_columns("anova", rows)
    given = {"sample_weight": sample_weight, **rows}
    if len(models) > 1:
        return compare_models(models, test, X, y, given)
    fits = [_checked(models[0], test, "test='wald', kind='type 2'")]
    if test == "score":
        raise ValueError("test='score' is for two models or more: give the smaller one first")
    return _test_terms(models[0], fits[0], test, kind, terms, X, y, given)


def _checked(model: Any, test: str, wald: str = "test='wald'") -> Inference:
    """Return the inference of a fitted model; raise if it has no tests; ``wald`` are the arguments of Wald's."""
    if not isinstance(model, LeastSquaresModel | Regression):
        raise TypeError(f"anova is for fitted regressions; got {model!r}")
    fit = model.summary().inference
    params = model._params
    if _is_penalised(model):
        raise ValueError(f"{type(model).__name__} has a penalty: deviances of penalised fits do not give a test")
    if params.weights == "sampling" and test != "wald":
        raise ValueError(f"deviances under weights='sampling' are no test, as they grow with the weights: give {wald}")
    return fit


def _is_penalised(model: Any) -> bool:
    if isinstance(model, LeastSquaresModel):
        return not model._penalty().is_none
    return bool(model._params.is_penalised() or model._params.bias_reduction)


def _notes(fit: Inference, test: str) -> tuple[str, ...]:
    """Return a sentence where the test does not use a robust covariance."""
    if test == "wald" or fit.covariance_kind == "classical":
        return ()
    return (f"deviances do not know the {fit.covariance_kind} covariance: test='wald' uses it",)


def _uses_f(fit: Inference, test: str) -> bool:
    return test == "f" or (test == "auto" and fit.estimates_dispersion)


def compare_models(
    models: Sequence[Any],
    test: str,
    X: Any,
    y: Any,
    given: dict[str, Any],
    are_nested: Callable[[int], bool] | None = None,
) -> ResultTable:
    """Test each model against the one before.

    ``are_nested(i)`` is asked, where it is given, if model i has coefficients that model i + 1 lacks: whether its
    columns are combinations of those of the other, so that deviances can be compared.
    """
    fits = [_checked(model, test) for model in models]
    unsure = []
    for place, (small, large) in enumerate(pairwise(fits)):
        _check_same_rows(small, large)
        lacking = [name for name in small.names if name not in large.names]
        if (
            lacking
            and not set(large.names) < set(small.names)  # in the wrong order
            and (test in ("wald", "score") or are_nested is None or not are_nested(place))
        ):
            raise ValueError(
                f"the models are not nested: {lacking[0]} is a coefficient of {_formula(small)}, not of "
                f"{_formula(large)}; a model is compared with one that has all its coefficients and more"
            )
        _check_order(small, large)
        if not _are_same_columns(models[place], models[place + 1]):
            unsure.append(
                f"columns without names were compared by position: model {place + 2} must have all columns of model "
                f"{place + 1}"
            )
    top = fits[-1]
    found = [_Test.none()]
    for place in range(1, len(fits)):
        small, large = fits[place - 1], fits[place]
        df = small.df_residual - large.df_residual
        difference = _difference(small, large)
        if test == "wald":
            names = [name for name in large.names if name not in small.names]
            found.append(_wald(large, names))
        elif test == "score":
            model = models[place]
            found.append(_score(models[place - 1], model, small, top, X, y, given))
        else:
            found.append(_deviance_test(difference, df, top, _uses_f(top, test)))
    columns = {
        "df_residual": [fit.df_residual for fit in fits],
        "deviance": [fit.deviance for fit in fits],
        "df": [each.df for each in found],
        "difference": [np.nan, *(_difference(one, two) for one, two in pairwise(fits))],
        found[-1].name: [each.statistic for each in found],
        "p": [each.p for each in found],
    }
    numbers = tuple(str(place + 1) for place in range(len(fits)))
    notes = tuple(f"{number}: {_formula(fit)}" for number, fit in zip(numbers, fits, strict=True))
    notes = notes if test in ("wald", "score") else ()
    if any(fit.shapes for fit in fits):
        notes += ("theta was estimated for each model: differences are those of twice the log-likelihood, as in R",)
    return ResultTable(_title(top), numbers, columns, (*notes, *unsure, *_notes(top, test)))


def _difference(small: Inference, large: Inference) -> float:
    """Return the difference of deviances; of families with estimated parameters, that of twice the log-likelihoods."""
    if small.shapes or large.shapes or np.isnan(large.deviance):  # a family such as the beta has no deviance
        return 2 * (large.log_likelihood - small.log_likelihood)
    return small.deviance - large.deviance


def _family(fit: Inference) -> str:
    """Return the family and link as the title has them, without the value of a parameter that was estimated."""
    words = fit.title.partition(" ")[2]
    return re.sub(r"theta=[^)]*", "theta", words) if fit.shapes else words


def _title(fit: Inference) -> str:
    return "Analysis of variance" if fit.least_squares else "Analysis of deviance"


def _formula(fit: Inference) -> str:
    more = f", and {len(fit.names) - 8} more" if len(fit.names) > 8 else ""
    return " + ".join(fit.names[:8]) + more


def _are_same_columns(small: Any, large: Any) -> bool:
    """Whether common columns are known to be the same: by their names, or, of least squares, by their sums."""
    names = getattr(small, "feature_names_in_", None), getattr(large, "feature_names_in_", None)
    if not small.n_features_in_ or all(each is not None for each in names):
        return True
    if not isinstance(small, LeastSquaresModel) or not isinstance(large, LeastSquaresModel):
        return False
    count = min(small.n_features_in_, large.n_features_in_)
    one, two = (np.diagonal(model.statistics_.about_zero())[:count] for model in (small, large))
    return bool(np.isclose(one, two, rtol=1e-6, atol=0.0).all())


def _check_same_rows(small: Inference, large: Inference) -> None:
    """Raise if the models have other families, or other rows."""
    if _family(small) != _family(large) or small.shapes != large.shapes:
        raise ValueError(f"models of one family and link are compared; got {small.title} and {large.title}")
    same_null = np.isclose(small.null_deviance, large.null_deviance, rtol=1e-6, equal_nan=True)
    if small.rows != large.rows or not (same_null or small.shapes):  # theta is in the null deviance
        raise ValueError(
            f"models of the same rows are compared; these have {small.rows:g} and {large.rows:g} rows, and the null "
            f"deviances {small.null_deviance:g} and {large.null_deviance:g}"
        )


def _check_order(small: Inference, large: Inference) -> None:
    """Raise if the smaller model is not the smaller one."""
    if small.df_residual <= large.df_residual:
        raise ValueError(
            f"the smaller model comes first; {_formula(small)} has {small.rank} parameters, {_formula(large)} "
            f"{large.rank}"
        )
    if _difference(small, large) < -1e-9 * np.nan_to_num(abs(large.deviance)):
        raise ValueError(f"{_formula(small)} is not nested in {_formula(large)}: it has the smaller deviance")


class _Test(NamedTuple):
    """A test of one difference."""

    name: str
    df: float
    statistic: float
    p: float

    @classmethod
    def none(cls) -> _Test:
        return cls("", np.nan, np.nan, np.nan)


def _deviance_test(difference: float, df: float, fit: Inference, by_f: bool) -> _Test:
    """Return the test of a difference of deviances, scaled by the dispersion of the largest model."""
    if by_f:
        free = fit.df_residual if fit.estimates_dispersion else np.inf
        statistic = _over(max(difference, 0.0), df * fit.dispersion)
        p = stats.f.sf(statistic, df, free) if np.isfinite(free) else stats.chi2.sf(statistic * df, df)
        return _Test("F", df, statistic, float(p))
    statistic = _over(max(difference, 0.0), fit.dispersion)
    return _Test("chi2", df, statistic, float(stats.chi2.sf(statistic, df)) if df else np.nan)


def _over(difference: float, scale: float) -> float:
    """Return a ratio; infinite, or NaN, where a perfect fit leaves no dispersion."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(difference) / scale)


def _wald(fit: Inference, names: Iterable[str]) -> _Test:
    places = [fit.names.index(name) for name in names]
    if not places:
        raise ValueError("the Wald test needs coefficients that the larger model alone has, by name: it has none")
    found = fit.wald_test(np.eye(len(fit.names))[places])
    return _Test("F" if np.isfinite(found.df_residual) else "chi2", found.df, found.statistic, found.p)


def _score(small: Any, large: Any, smaller: Inference, top: Inference, X: Any, y: Any, given: dict[str, Any]) -> _Test:
    """Return Rao's score test: the gradient of the larger model's likelihood at the smaller model."""
    if isinstance(large, LeastSquaresModel):
        raise ValueError("test='score' is for generalised linear models; for least squares give test='f'")
    with rows_of_fit(large, "a score test", X, y, plain=True, **given) as rows:
        theta = np.zeros(large.solution_.theta.shape)
        names = large._names()
        for name, values in zip(small._names(), small.solution_.theta, strict=True):
            theta[names.index(name)] = values
        here = rows.objective.value_gradient_hessian(theta)
        gradient = flat(here.gradient)
        statistic = float(gradient @ Symmetric.of(here.hessian).solve(gradient)) / top.dispersion
    df = smaller.df_residual - large.facts_.df_residual
    return _Test("chi2", df, statistic, float(stats.chi2.sf(statistic, df)))


def _test_terms(
    model: Any,
    fit: Inference,
    test: str,
    kind: str,
    terms: Mapping[str, Sequence[str]] | None,
    X: Any,
    y: Any,
    given: dict[str, Any],
) -> ResultTable:
    """Test the terms of one model."""
    features = model._names()[int(model._params.fit_intercept) :]
    columns = _columns_of_terms(features, terms)
    if test == "wald":
        if kind == "sequential":
            raise ValueError("test='wald' tests each term given all others: give kind='type 2'")
        found = {
            name: _wald(fit, _all_of(fit, [features[place] for place in places])) for name, places in columns.items()
        }
        return _table_of_terms(fit, found, None, kind, ())
    deviances = _Deviances(model, fit)
    by_f = _uses_f(fit, test)
    if isinstance(model, LeastSquaresModel):
        return _terms_by_deviance(deviances.from_sums(model), columns, fit, kind, by_f)
    with rows_of_fit(model, "anova", X, y, plain=True, **given) as rows:
        return _terms_by_deviance(deviances.from_rows(rows), columns, fit, kind, by_f)


def _all_of(fit: Inference, names: Sequence[str]) -> list[str]:
    """Return the coefficients of some features, for every class if there are several."""
    return [name for name in fit.names if name in names or name.partition(": ")[2] in names]


def _columns_of_terms(features: Sequence[str], terms: Mapping[str, Sequence[str]] | None) -> dict[str, list[int]]:
    """Return the positions of the features of each term."""
    if terms is None:
        return {name: [place] for place, name in enumerate(features)}
    places = {name: place for place, name in enumerate(features)}
    found: dict[str, list[int]] = {}
    for term, names in terms.items():
        for name in [names] if isinstance(names, str) else names:
            if name not in places:
                raise ValueError(f"term {term!r}: there is no coefficient {name!r}; {nearest_name(name, features)}")
        found[term] = [places[name] for name in ([names] if isinstance(names, str) else names)]
    every = [place for each in found.values() for place in each]
    missing = [name for name, place in places.items() if every.count(place) != 1]
    if missing:
        raise ValueError(
            f"every coefficient must belong to one term; {missing[0]!r} belongs to {every.count(places[missing[0]])}"
        )
    return found


class _Fitted(NamedTuple):
    """The deviance of a smaller model, and its rank."""

    deviance: float
    rank: int


class _Deviances:
    """The deviances of models with subsets of the features, each computed once."""

    def __init__(self, model: Any, fit: Inference) -> None:
        self.model, self.fit = model, fit
        self.known: dict[frozenset[int], _Fitted] = {}

    def from_sums(self, model: LeastSquaresModel) -> _Deviances:
        products = products_of(model.statistics_, bool(model._params.fit_intercept))
        if products.yy.shape != (1, 1):
            raise ValueError(f"anova needs one target; y has {len(products.yy)}")

        def find(places: list[int]) -> _Fitted:
            factored = Symmetric.of(products.xx[np.ix_(places, places)])
            xy = products.xy[places, 0]
            rank = factored.rank + int(model._params.fit_intercept)
            return _Fitted(max(float(products.yy[0, 0] - xy @ factored.solve(xy)), 0.0), rank)

        self.find = find
        return self

    def from_rows(self, rows: FitRows) -> _Deviances:
        full = self.model.solution_.theta
        least = rows.objective.value_gradient(full).value
        intercept = int(rows.objective.intercept)

        def find(places: list[int]) -> _Fitted:
            inside = np.array([*range(intercept), *(place + intercept for place in places)], dtype=np.intp)
            objective = rows.objective.columns(inside)
            start = rows.model._start(objective, rows.targets, Layout(len(places), bool(intercept)))
            solution = Newton(1e-10, 200).minimise(objective, start)
            rank = Symmetric.of(solution.hessian).rank if solution.hessian is not None else solution.theta.size
            rank -= 0 if objective.free is None else int((objective.free == 0).sum())
            return _Fitted(np.nan_to_num(self.fit.deviance) + 2 * (solution.value - least), rank)

        self.find = find
        return self

    def of(self, places: Iterable[int]) -> _Fitted:
        key = frozenset(places)
        if key not in self.known:
            self.known[key] = self.find(sorted(key))
        return self.known[key]


def _terms_by_deviance(
    deviances: _Deviances, columns: dict[str, list[int]], fit: Inference, kind: str, by_f: bool
) -> ResultTable:
    found: dict[str, _Test] = {}
    differences: dict[str, float] = {}
    before: list[int] = []
    for name, places in columns.items():
        if kind == "type 2":
            before = [
                place
                for other, each in columns.items()
                if other != name and not _contains(other, name)
                for place in each
            ]
        small, large = deviances.of(before), deviances.of([*before, *places])
        differences[name] = small.deviance - large.deviance
        found[name] = _deviance_test(differences[name], large.rank - small.rank, fit, by_f)
        before = [*before, *places]
    return _table_of_terms(fit, found, differences, kind, _notes(fit, "deviance"))


def _contains(term: str, other: str) -> bool:
    """Whether a term is an interaction that contains another term.

    Examples
    --------
    >>> _contains("a:b", "a"), _contains("a:b", "a:c")
    (True, False)
    """
    return set(other.split(":")) < set(term.split(":"))


def _table_of_terms(
    fit: Inference, found: dict[str, _Test], differences: dict[str, float] | None, kind: str, notes: tuple[str, ...]
) -> ResultTable:
    tests = list(found.values())
    columns: dict[str, Any] = {"df": [*(each.df for each in tests), fit.df_residual]}
    if differences is not None:
        columns["difference"] = [*differences.values(), fit.deviance]
    columns[tests[0].name if tests else "F"] = [*(each.statistic for each in tests), np.nan]
    columns["p"] = [*(each.p for each in tests), np.nan]
    return ResultTable(f"{_title(fit)}, {kind}", (*found, "residuals"), columns, notes)
