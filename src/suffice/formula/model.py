"""Regressions by a formula: ``fit("low ~ age + C(race) * smoke", table)``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from suffice.data.frames import NamedMatrix
from suffice.discriminative import (
    GLM,
    CollinearityWarning,
    ElasticNet,
    LinearRegression,
    LogisticRegression,
    Ridge,
    SoftmaxRegression,
)
from suffice.discriminative.analysis_of_deviance import anova, compare_models
from suffice.discriminative.base import LinearPredictor, ScoredClasses, dependence, warn_of_extrapolation
from suffice.discriminative.contrasts import estimate_contrasts
from suffice.discriminative.covariance import Covariance
from suffice.discriminative.diagnostics import Diagnostics
from suffice.discriminative.inference import Inference
from suffice.discriminative.least_squares import LeastSquaresModel
from suffice.discriminative.result_table import ResultTable
from suffice.discriminative.robust import depend_on
from suffice.discriminative.summary import Summary
from suffice.discriminative.theta_covariance import with_gaps
from suffice.explain import EXPECTED_NUMBER, ClassScores, Contribution, Explanation
from suffice.families import as_family
from suffice.formula.cells import Categories, Cells, Kind, Level, Table
from suffice.formula.design import (
    Census,
    Design,
    category_cells,
    evaluate,
    learn_transforms,
    resolve,
    stateful_calls,
)
from suffice.formula.errors import FormulaError
from suffice.formula.expressions import Call, Column, Expression, columns_of, parse_expression
from suffice.formula.grammar import parse_formula
from suffice.formula.transforms import Coding, Learner, LevelLearner, Scaling, Transform, find_level, learner_of
from suffice.html_fragments import fragment, table, title
from suffice.metrics import Evaluation
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, nest_contents, unnest_contents
from suffice.tables.errors import TableError, UsageError, listed, nearest
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import RandomState, TableLike

#: The name of the intercept among the coefficients.
INTERCEPT = "intercept"
#: The arguments of ``fit`` with an entry for each row, by name.
BESIDE = ("weights", "offset", "exposure", "trials", "groups")


class WeightsWarning(UserWarning):
    """Frequency weights that are shares: standard errors would be those of very few rows."""


def fit(
    formula: str,
    data: TableLike,
    *,
    family: Any = None,
    estimator: Any = None,
    weights: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    trials: str | None = None,
    groups: str | None = None,
    weight_kind: str | None = None,
    positive: Any = None,
    unseen: str = "error",
    missing: str = "drop",
    **settings: Any,
) -> FormulaModel:
    """Fit the regression of a formula to the rows of a table.

    Parameters
    ----------
    formula
        The target, ``~``, and the terms, as in R: ``a + b``, ``a:b`` (interaction), ``a * b``, ``a / b``,
        ``(a + b)**2``, ``- 1`` (no intercept), ``.`` (all other columns). A column of texts or booleans is a category.
        Functions are ``log``, ``exp``, ``sqrt``, ``poly``, ``bs``, ``cr``, ``scale``, ``center``, ``offset``, ``C``
        and ``I``, with arithmetic in their arguments: ``log(income + 1)``, ``I(age**2)``,
        ``C(race, Treatment("white"))``. No other code is run.
    data
        A data frame of pandas, Polars or Arrow; or what :func:`suffice.tables.open_table` takes: files, databases and
        streams of data frames, which are read in batches. A first pass finds levels, means and knots.
    family
        The distribution of the target: a name (``"binomial"``, ``"poisson"``, ``"gamma"``, ``"multinomial"``, ...), or
        a family of :mod:`suffice.families`. By default Gaussian for numbers, binomial for two classes, multinomial for
        more.
    estimator
        The estimator, a class or an instance; by default that of the family: Gaussian
        :class:`~suffice.LinearRegression` (with ``alpha`` :class:`~suffice.Ridge`, with ``l1_ratio``
        :class:`~suffice.ElasticNet`), binomial :class:`~suffice.LogisticRegression`, multinomial
        :class:`~suffice.SoftmaxRegression`, others :class:`~suffice.GLM`.
    weights, offset, exposure, trials, groups
        The column, or an expression of columns, that is ``sample_weight``, ``offset``, ``exposure``, ``trials`` or
        ``groups`` of the estimator's ``fit``.
    weight_kind
        Meaning of the weights, the parameter ``weights`` of the estimator: ``"frequency"`` (default), ``"precision"``
        (as in R's ``lm`` and ``glm``) or ``"sampling"``.
    positive
        The modelled class of two; by default the second in order.
    unseen
        Levels at prediction that were not in the fit: ``"error"``, or ``"reference"``, which predicts them as the
        reference level.
    missing
        ``"drop"`` drops rows with missing cells, and reports their number; ``"raise"`` raises. Blank texts are missing.
    **settings
        Parameters of the estimator: ``C=1.0``, ``alpha=1.0``, ``covariance="HC3"``, ``bias_reduction=True``,
        ``link="probit"``.

    Returns
    -------
    FormulaModel
        The fitted model, with ``summary()``, ``predict``, ``design`` and ``save``.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "weight": [4.2, 5.6, 5.2, 6.1, 4.5, 4.8, 4.2, 4.4, 3.6, 5.9],
    ...     "group": ["ctrl"] * 5 + ["trt"] * 5,
    ... })
    >>> model = fit("weight ~ group", table)
    >>> {name: round(value, 4) for name, value in model.coefficients.items()}
    {'intercept': 5.12, 'group[trt]': -0.54}
    """
    if unseen not in ("error", "reference"):
        raise UsageError(f"unseen must be 'error' or 'reference'; got {unseen!r}")
    if missing not in ("drop", "raise"):
        raise UsageError(f"missing must be 'drop' or 'raise'; got {missing!r}")
    if "fit_intercept" in settings:
        raise UsageError("fit_intercept is part of the formula: write - 1 for none")
    table = Table(data)
    parsed = parse_formula(formula, table.names)
    if weight_kind is not None:
        if weights is None:
            raise FormulaError(f"weight_kind={weight_kind!r} needs weights: give weights='column'")
        settings["weights"] = weight_kind
    given = {"weights": weights, "offset": offset, "exposure": exposure, "trials": trials, "groups": groups}
    beside = {name: _column_or_expression(name, value, table) for name, value in given.items() if value is not None}
    plain = [factor for term in parsed.terms for factor in term]
    read = list(dict.fromkeys(c for each in (parsed.target, *plain, *parsed.offsets) for c in columns_of(each)))
    table.check_columns(read)
    for name, expression in beside.items():
        table.check_columns(list(columns_of(expression)), f"{name}={given[name]!r}")
    read = list(dict.fromkeys([*read, *(c for each in beside.values() for c in columns_of(each))]))
    terms = list(dict.fromkeys(tuple(dict.fromkeys(resolve(f, table) for f in term)) for term in parsed.terms))
    known = [*parsed.offsets, *([beside.pop("offset")] if "offset" in beside else [])]

    choice = _Choice.of(family, estimator, settings, "trials" in beside, bool(known) or "exposure" in beside)
    target = resolve(parsed.target, table)
    if choice.needs_classes and not _is_category(target):
        target = Call("C", (("x", target),))
    learned = stateful_calls([target.x if isinstance(target, Call) and _is_category(target) else target])
    if learned:
        raise FormulaError(
            f"formula: {next(iter(learned))} of the target learns from the rows, which new targets cannot: "
            "use log, exp, sqrt or arithmetic"
        )
    expressions = [target, *(factor for term in terms for factor in term), *known, *beside.values()]
    learners: dict[str, Learner] = {}
    if isinstance(target, Call) and target.function == "C":
        learners[str(target)] = ClassLearner.of(target, choice.families)
    transforms, census = learn_transforms(expressions, lambda: table.batches(read), table.is_in_memory, learners)
    _check_census(census, missing, table)
    outcome = Outcome.of(target, transforms.pop(str(target), None), positive)
    design = replace(Design.learn(terms, parsed.intercept, transforms), unseen=unseen)
    if not design.intercept and not design.names:
        raise FormulaError(f"formula {formula!r} has neither terms nor an intercept")
    kinds = {name: table.kind(name) for name in read}
    model = FormulaModel(
        formula, outcome, design, tuple(known), beside, kinds, census, choice.estimator(outcome, design)
    )
    model._learn(table)
    return model


def _column_or_expression(name: str, value: Any, table: Table) -> Expression:
    if not isinstance(value, str):
        raise FormulaError(
            f"{name} must be the name of a column of the table, or an expression such as 'log(n)'; got "
            f"{type(value).__name__}: add the values to the table as a column"
        )
    return Column(value) if value in table.names else parse_expression(value)


def _is_category(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "C"


def _check_census(census: Census, missing: str, table: Table) -> None:
    """Raise if no row is left, or if ``missing="raise"`` and cells are missing."""
    if not census.rows:
        raise TableError(f"{table.title} has no rows: there is nothing to learn from")
    cells = ", ".join(f"{name} in {count:,}" for name, count in census.missing.items())
    if census.incomplete and missing == "raise":
        raise TableError(
            f"{census.incomplete:,} of {census.rows:,} rows have missing cells ({cells}): fill them in, or drop the "
            "rows with missing='drop'"
        )
    if census.incomplete == census.rows:
        raise TableError(f"every row has a missing cell ({cells}): there is nothing to learn from")


# The target.


@dataclass(frozen=True)
class ClassLearner(LevelLearner):
    """The classes of the target; fractions between 0 and 1 are proportions."""

    families: tuple[str, ...] = ()  # the families of a target with classes

    @classmethod
    def of(cls, target: Call, families: tuple[str, ...]) -> Self:
        """Return the learner of a target ``C(...)``."""
        inner = target.x
        named = f"the target {inner}"
        plain = learner_of(target, named)
        assert isinstance(plain, LevelLearner)
        return cls(named, plain.contrast, plain.reference, plain.levels, families)

    def settle(self, statistic: Any) -> Transform:
        """Return the classes and the reference class."""
        counts = statistic[0]
        numbers = all(isinstance(level, int | float) and not isinstance(level, bool) for level in counts)
        fractions = numbers and any(level != int(level) for level in counts)
        if "bernoulli" in self.families and fractions and all(0 <= level <= 1 for level in counts):
            return Scaling(0.0, 1.0)
        if len(counts) < 2:
            raise TableError(f"{self.name} has one class, {next(iter(counts))!r}: there is nothing to predict")
        if self.families == ("bernoulli",) and len(counts) > 2:
            raise FormulaError(
                f"{self.name} has {len(counts)} classes ({listed(counts)}), and the binomial family needs two: use "
                "family='multinomial'"
            )
        found = super().settle(statistic)
        assert isinstance(found, Coding)
        return found

    def _check(self, count: int) -> None:
        if self.families != ("bernoulli",):
            super()._check(count)


@dataclass(frozen=True)
class Outcome:
    """The target of a formula: numbers, or classes, the first of which is the reference."""

    expression: Expression
    classes: tuple[Level, ...] = ()

    @classmethod
    def of(cls, target: Expression, found: Transform | None, positive: Any) -> Self:
        """Return the outcome, given the classes."""
        if not isinstance(found, Coding):
            if positive is not None:
                raise FormulaError(f"positive={positive!r} names a class; the target {target} has numbers")
            inner = target.x if isinstance(target, Call) and _is_category(target) else target
            return cls(inner)
        levels, reference = list(found.levels), found.reference
        if positive is not None:
            if len(levels) > 2:
                raise FormulaError(
                    f"positive={positive!r} needs two classes; {target} has {len(levels)}: choose the reference "
                    "class by C(target, Treatment('class')) ~ ..."
                )
            assert isinstance(target, Call)
            reference = 1 - find_level(positive, levels, f"positive={positive!r}: the target {target.x}")
        return cls(target, (levels[reference], *(each for place, each in enumerate(levels) if place != reference)))

    @property
    def name(self) -> str:
        """The name of the target in messages."""
        coded = isinstance(self.expression, Call) and self.expression.function == "C"
        return str(self.expression.x if isinstance(self.expression, Call) and coded else self.expression)

    @property
    def coding(self) -> Coding:
        """The classes as levels."""
        return Coding(self.classes, "treatment", 0)

    def values(self, cells: Cells) -> npt.NDArray[Any]:
        """Return the target of each row: numbers, or codes of classes; -1 if missing, -2 if unknown."""
        if not self.classes:
            return evaluate(self.expression, cells, {})
        assert isinstance(self.expression, Call)
        source = category_cells(self.expression.x, cells, {})
        return self.coding.encode(source, self.name, "error")[0]

    def unknown(self, cells: Cells, codes: npt.NDArray[Any]) -> list[str]:
        """Return the classes of rows that are unknown to the model."""
        assert isinstance(self.expression, Call)
        source = category_cells(self.expression.x, cells, {})
        rows = np.flatnonzero(codes == -2)
        if isinstance(source, Categories):
            return [str(source.levels[source.codes[row]]) for row in rows]
        return [f"{source[row]:g}" for row in rows]


# The estimator.


@dataclass(frozen=True)
class _Choice:
    """The requested family and estimator."""

    family: Any  # as it was given; None for the default
    given: Any  # an estimator, not fitted; None for the one of the family
    settings: Mapping[str, Any]
    trials: bool
    shifted: bool  # whether there are offsets

    @classmethod
    def of(cls, family: Any, estimator: Any, settings: Mapping[str, Any], trials: bool, shifted: bool) -> Self:
        given = None
        if estimator is not None:
            if family is not None:
                raise FormulaError("give a family or an estimator, not both: the estimator has its own family")
            is_class = isinstance(estimator, type)
            if not (issubclass(estimator, LinearPredictor) if is_class else isinstance(estimator, LinearPredictor)):
                raise FormulaError(
                    "estimator must be LinearRegression, Ridge, Lasso, ElasticNet, LogisticRegression, "
                    f"SoftmaxRegression, PoissonRegressor, GammaRegressor or GLM; got {estimator!r}"
                )
            given = estimator(**settings) if is_class else clone(estimator).set_params(**settings)
        if family is not None:
            as_family(family)
        elif estimator is None and trials:
            raise FormulaError("trials need family='binomial'")
        return cls(family, given, settings, trials, shifted)

    @property
    def families(self) -> tuple[str, ...]:
        """The names of the possible families of a target with classes."""
        if isinstance(self.given, ScoredClasses):
            one_of_two = isinstance(self.given, LogisticRegression)
            return ("bernoulli", "multinomial") if one_of_two else ("multinomial",)
        family = self.given.family if isinstance(self.given, GLM) else self.family
        if family is None:
            return ("bernoulli", "multinomial") if self.given is None else ()
        return (str(as_family(family).name),)

    @property
    def needs_classes(self) -> bool:
        """Whether numbers of the target are classes."""
        if self.trials or (self.family is None and self.given is None):
            return False
        return self.families[:1] in (("bernoulli",), ("multinomial",))

    def estimator(self, outcome: Outcome, design: Design) -> LinearPredictor:
        """Return the unfitted estimator."""
        settings = {**self.settings, "fit_intercept": design.intercept}
        if "class_weight" in settings and isinstance(settings["class_weight"], Mapping):
            is_two = self.given is None or _has_one_predictor(self.given, outcome)
            shift = 0 if is_two and len(outcome.classes) == 2 else 1
            places = {str(label): (code - shift) % len(outcome.classes) for code, label in enumerate(outcome.classes)}
            given = settings["class_weight"]
            strange = [label for label in given if str(label) not in places]
            if strange:
                raise FormulaError(
                    f"class_weight names {strange[0]!r}; the classes are {listed(outcome.classes)}"
                    f"{nearest(str(strange[0]), places)}"
                )
            settings["class_weight"] = {places[str(label)]: weight for label, weight in given.items()}
        if self.given is not None:
            self._check_outcome(outcome)
            found: LinearPredictor = clone(self.given).set_params(**settings)
            return found
        return self._of_family(outcome, settings)

    def _check_outcome(self, outcome: Outcome) -> None:
        classifier = isinstance(self.given, ScoredClasses)
        if outcome.classes and not classifier and self.families != ("bernoulli",):
            raise FormulaError(
                f"{type(self.given).__name__} needs numbers, and the target {outcome.name} has the classes "
                f"{listed(outcome.classes)}: use family='binomial' or 'multinomial'"
            )
        if classifier and not outcome.classes:
            raise FormulaError(
                f"{type(self.given).__name__} needs classes, and the target {outcome.name} has proportions or numbers: "
                "use family='binomial' without estimator="
            )

    def _of_family(self, outcome: Outcome, settings: Mapping[str, Any]) -> LinearPredictor:
        family = self.family
        if family is None:
            family = "gaussian" if not outcome.classes else "binomial" if len(outcome.classes) == 2 else "multinomial"
        name, link = as_family(family).name, settings.get("link")
        if outcome.classes and name not in ("bernoulli", "multinomial"):
            raise FormulaError(
                f"the target {outcome.name} has the classes {listed(outcome.classes)}, and the {name} family needs "
                "numbers: use family='binomial' or 'multinomial'"
            )
        try:
            if name == "gaussian" and not self.shifted and link is None:
                penalised = ElasticNet if "l1_ratio" in settings else Ridge if "alpha" in settings else None
                return LinearRegression(**settings) if penalised is None else penalised(**settings)
            if name == "bernoulli" and outcome.classes and link is None and not self.trials:
                return LogisticRegression(**settings)
            if name == "multinomial":
                return SoftmaxRegression(**settings)
            return GLM(family, **settings)
        except TypeError as error:
            raise FormulaError(f"the estimator of the {name} family: {error}") from None


def _without_groups(rows: dict[str, Any]) -> dict[str, Any]:
    """Return rows as methods read them that do not estimate a covariance."""
    return {name: value for name, value in rows.items() if name != "groups"}


def _has_one_predictor(estimator: Any, outcome: Outcome) -> bool:
    return isinstance(estimator, LogisticRegression) and len(outcome.classes) == 2


# The model.


class FormulaModel(Stored):
    """A regression fitted by a formula, returned by :func:`suffice.formula.fit`.

    Attributes
    ----------
    formula : the formula
    design : the terms and their columns; ``design.matrix(data)`` is the design matrix
    estimator_ : the estimator that was fitted to them
    classes_ : (k,), if classes are predicted; the first is the reference
    column_kinds_ : the columns that the formula reads, each "number" or "category"
    rows_ : rows of the table, ``dropped_rows_`` of which had missing cells and were dropped
    dropped_columns_ : collinear columns, each with those it depends on; they have no coefficient

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import formula
    >>> wet = ["yes", "no", "no", "yes", "yes", "no", "no", "yes"]
    >>> rain = pd.DataFrame({"wet": wet, "cloud": [7, 2, 4, 8, 3, 1, 5, 6]})
    >>> model = formula.fit("wet ~ cloud", rain, positive="yes")
    >>> model.predict(pd.DataFrame({"cloud": [1, 8]}))
    array(['no', 'yes'], dtype=object)
    >>> print(model)
    FormulaModel: wet ~ cloud (LogisticRegression)
      intercept  -3.7209
      cloud       0.82688
    """

    def __init__(
        self,
        formula: str,
        outcome: Outcome,
        design: Design,
        offsets: tuple[Expression, ...],
        beside: Mapping[str, Expression],
        kinds: Mapping[str, Kind],
        census: Census,
        estimator: LinearPredictor,
    ) -> None:
        self.formula = formula
        self.design = design
        self.estimator_ = estimator
        self.rows_, self.dropped_rows_ = census.rows, census.incomplete
        self.dropped_columns_: dict[str, list[str]] = {}
        self._null: FloatArray | None = None  # (k, p), combinations of all columns that are 0 in the rows of the fit
        self._outcome = outcome
        self._offsets = offsets
        self._beside = dict(beside)
        self.column_kinds_ = dict(kinds)
        self._missing = dict(census.missing)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, (k,)."""
        if not self._outcome.classes:
            raise AttributeError(f"the target {self._outcome.name} has numbers, not classes")
        found = np.empty(len(self._outcome.classes), dtype=object)
        found[:] = self._outcome.classes
        return found

    @property
    def has_classes(self) -> bool:
        """Whether classes are predicted, not numbers."""
        return bool(self._outcome.classes)

    @property
    def target(self) -> str:
        """The target, as in the formula."""
        return self._outcome.name

    @property
    def _is_classifier(self) -> bool:
        return isinstance(self.estimator_, ScoredClasses)

    # Learning.

    def _learn(self, table: Table) -> None:
        """Fit the estimator; collinear columns are dropped, as in R, unless there is a penalty."""
        piece: dict[str, Any] | None = None
        if table.is_in_memory:
            (cells,) = table.batches(list(self.column_kinds_))
            piece = self._piece(cells.complete() if self.dropped_rows_ else cells)
            self._check_weights(piece.get("sample_weight"))
        elif "weights" in self._beside:
            self._check_weights(self._summed_weights(table))
        plain = type(self.estimator_) is LinearRegression
        if not self.estimator_.is_penalised() and len(self.design.names):
            sums = self.estimator_ if plain else LinearRegression(fit_intercept=self.design.intercept)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CollinearityWarning)
                self._fit(sums, table, piece, only_sums=not plain)
            if sums.rank_ < len(self.design.names):
                self.dropped_columns_, self._null = dict(sums.dependent_columns_), sums.null_directions()
                kept = [place for place, name in enumerate(self.design.names) if name not in self.dropped_columns_]
                self.design = self.design.drop(list(self.dropped_columns_))
                if piece is not None:
                    piece["X"] = NamedMatrix(np.ascontiguousarray(piece["X"].values[:, kept]), self._names)
            elif plain:
                return
        self._fit(self.estimator_, table, piece)

    def _fit(
        self, estimator: LinearPredictor, table: Table, piece: dict[str, Any] | None, only_sums: bool = False
    ) -> None:
        def reduced(part: dict[str, Any]) -> dict[str, Any]:
            if not only_sums:
                return part
            found = {name: value for name, value in part.items() if name in ("X", "sample_weight")}
            return {**found, "y": np.asarray(part["y"], dtype=np.float64)}

        try:
            if piece is None:
                estimator.fit(lambda: map(reduced, self._pieces(table)))
                return
            part = dict(reduced(piece))
            estimator.fit(part.pop("X"), part.pop("y"), **part)
        except TypeError as error:
            taken = [name for name in ("offset", "exposure", "trials", "groups") if f"'{name}'" in str(error)]
            if not taken:
                raise
            raise FormulaError(
                f"{type(estimator).__name__} takes no {taken[0]}: give family= instead of estimator="
            ) from None

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.design.names)

    def _piece(self, cells: Cells) -> dict[str, Any]:
        """Return rows as arguments of the estimator's ``fit``, by name."""
        found: dict[str, Any] = {"X": self._features(cells), "y": self._encoded_targets(cells)}
        if "weights" in self._beside:
            found["sample_weight"] = self._weights(cells)
        found.update(self._known_parts(cells))
        if "trials" in self._beside:
            found["trials"] = evaluate(self._beside["trials"], cells, self.design.transforms)
        if "groups" in self._beside:
            found["groups"] = self._groups(cells)
        return found

    def _groups(self, cells: Cells) -> npt.NDArray[Any]:
        found = category_cells(self._beside["groups"], cells, self.design.transforms)
        return np.array(list(map(str, found.levels)))[found.codes] if isinstance(found, Categories) else found

    def _features(self, cells: Cells) -> NamedMatrix:
        return NamedMatrix(self.design.evaluate(cells, self.estimator_.n_jobs), self._names)

    def _encoded_targets(self, cells: Cells) -> npt.NDArray[Any]:
        values = self._outcome.values(cells)
        if not self.has_classes:
            return values
        if not self._is_classifier:
            return values.astype(np.float64)
        return values if self._is_two else (values - 1) % len(self._outcome.classes)

    @property
    def _is_two(self) -> bool:
        """Whether two classes have one predictor, the log-odds of the second.

        Otherwise the reference of the estimator is its last class, and that of a formula the first: class c of the
        formula has the code c - 1 of the estimator, and the first has the last code.
        """
        return _has_one_predictor(self.estimator_, self._outcome)

    def _weights(self, cells: Cells) -> FloatArray:
        found = evaluate(self._beside["weights"], cells, self.design.transforms)
        bad = np.flatnonzero(found < 0)
        if bad.size:
            raise TableError(
                f"weights: {self._beside['weights']} is {found[bad[0]]:g} in row {cells.position(int(bad[0]))}; "
                "weights must not be negative"
            )
        return found

    def _known_parts(self, cells: Cells) -> dict[str, FloatArray]:
        """Return the offset and the exposure of each row."""
        found: dict[str, FloatArray] = {}
        if self._offsets:
            parts = [evaluate(each, cells, self.design.transforms) for each in self._offsets]
            found["offset"] = np.sum(parts, axis=0)
        if "exposure" in self._beside:
            found["exposure"] = evaluate(self._beside["exposure"], cells, self.design.transforms)
        return found

    def _summed_weights(self, table: Table) -> FloatArray:
        parts = [self._weights(cells.complete()) for cells in table.batches(list(self.column_kinds_))]
        return np.array([sum(float(each.sum()) for each in parts)])

    def _check_weights(self, weights: FloatArray | None) -> None:
        if weights is None:
            return
        total, rows = float(weights.sum()), self.rows_ - self.dropped_rows_
        name = self._beside["weights"]
        if not total > 0:
            raise TableError(f"weights: {name} is 0 in all {rows:,} rows: there is nothing to learn from")
        counts = getattr(self.estimator_, "weights", "frequency") == "frequency"
        if counts and abs(total - 1) < 1e-6 and rows > 1:
            warn_user(
                f"weights: {name} sums to 1 over {rows:,} rows. Frequency weights give the standard errors of one "
                f"row; give weight_kind='precision' for relative weights, or weights='{name} * {rows}'",
                WeightsWarning,
            )

    # Predictions.

    def predict(self, data: TableLike) -> npt.NDArray[Any]:
        """Return the class, or the expected number, of each row of a table, (n,).

        NaN, or None for classes, for rows with a missing cell.
        """
        if not self.has_classes:
            return np.concatenate([np.zeros(0), *(found for _, found in self._answers(data))])
        parts = [np.zeros(0, dtype=object), *(self._named(found) for _, found in self._answers(data))]
        return np.concatenate(parts)

    def predict_proba(self, data: TableLike) -> FloatArray:
        """Return the probability of each class for each row of a table, (n, k); NaN for rows with a missing cell."""
        classes = self.classes_
        return np.concatenate([np.zeros((0, len(classes))), *(found for _, found in self._answers(data))])

    def _named(self, probabilities: FloatArray) -> npt.NDArray[Any]:
        """Return the most probable class of each row; None if it is unknown."""
        unknown = np.isnan(probabilities).any(axis=1)
        found = self.classes_[np.where(unknown, 0, np.nan_to_num(probabilities).argmax(axis=1))]
        found[unknown] = None
        return found

    def _answers(self, data: Any) -> Iterator[tuple[Cells, FloatArray]]:
        """Yield batches of a table with the probabilities of classes, or the expected numbers, of their rows."""
        table = data if isinstance(data, Table) else Table(data)
        read = self.columns_to_predict
        table.check_columns(read)
        for cells in table.batches(read):
            yield cells, self.predict_cells(cells)

    @property
    def columns_to_predict(self) -> list[str]:
        """The columns of a table that predictions need."""
        known = [*self._offsets, *(each for name, each in self._beside.items() if name == "exposure")]
        return list(dict.fromkeys([*self.design.columns_read, *(c for each in known for c in columns_of(each))]))

    def predict_cells(self, cells: Cells) -> FloatArray:
        """Return the probabilities of classes, (n, k), or the expected numbers, (n,), of a batch; NaN where unknown."""
        return _spread_rows(self._answer_complete(cells.complete()), cells)

    def _answer_complete(self, cells: Cells) -> FloatArray:
        if not cells.rows:
            return np.zeros((0, len(self._outcome.classes)) if self.has_classes else 0)
        rows, known = self._features(cells), self._known_parts(cells)
        warn_of_extrapolation("FormulaModel", self._not_estimable(cells), cells.position)
        if self._is_classifier:
            found = np.asarray(self.estimator_.predict_proba(rows, **known))
            return found if self._is_two else np.roll(found, 1, axis=1)
        found = np.asarray(self.estimator_.predict(rows, **known), dtype=np.float64)
        return np.column_stack([1 - found, found]) if self.has_classes else found

    def _not_estimable(self, cells: Cells) -> npt.NDArray[np.bool_]:
        """Whether the predictions of rows, (n,), depend on what was dropped: the fit does not determine them."""
        if self._null is None:
            return np.zeros(cells.rows, dtype=bool)
        columns = replace(self.design, dropped=()).evaluate(cells, self.estimator_.n_jobs)
        return depend_on(self._null, columns, self.design.intercept)

    def predict_interval(
        self, data: TableLike, level: float = 0.95, *, of: str = "mean"
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of an interval for each row, each (n,); NaN for rows with a missing cell.

        For two classes it is that of the probability of the modelled class; for more, of each, (n, k).

        Parameters
        ----------
        data
            A table, as for :meth:`predict`.
        level
            Confidence level.
            of
            ``"mean"``: confidence interval of the mean. ``"observation"``: prediction interval of a new number.
        """
        parts = list(self._with_known_parts(data, "predict_interval", level=level, of=of))
        low, high = (np.concatenate([part[end] for part in parts] or [np.zeros(0)]) for end in (0, 1))
        return low, high

    def predict_se(self, data: TableLike) -> FloatArray:
        """Return the standard error of each row's linear predictor, (n,); for more than two classes, of each share."""
        several = self._is_classifier and not self._is_two
        settings = {"scale": "mean"} if several else {}
        parts = [part[0] for part in self._with_known_parts(data, "predict_se", **settings)]
        return np.concatenate(parts or [np.zeros(0)])

    def _with_known_parts(self, data: Any, method: str, **settings: Any) -> Iterator[tuple[FloatArray, ...]]:
        """Yield the arrays that a method of the estimator returns for each batch, NaN for rows with a missing cell."""
        several = self._is_classifier and not self._is_two
        shape = (0, len(self._outcome.classes)) if several else (0,)
        table = Table(data)
        table.check_columns(self.columns_to_predict)
        for cells in table.batches(self.columns_to_predict):
            complete = cells.complete()
            if complete.rows:
                rows, known = self._features(complete), self._known_parts(complete)
                found = getattr(self.estimator_, method)(rows, **settings, **known)
            else:
                found = np.zeros((2, *shape)) if method == "predict_interval" else np.zeros(shape)
            arrays = [np.asarray(each) for each in (found if method == "predict_interval" else (found,))]
            if complete.rows:
                unknown = self._not_estimable(complete)
                warn_of_extrapolation("FormulaModel", unknown, complete.position)
                arrays = [with_gaps(each, unknown) for each in arrays]
            if several:
                arrays = [np.roll(each, 1, axis=1) for each in arrays]
            yield tuple(_spread_rows(each, cells) for each in arrays)

    def evaluate(self, data: TableLike) -> Evaluation:
        """Return the score of the estimator on a table whose target is known, without rows with missing cells."""
        table = Table(data)
        read = list(dict.fromkeys([*columns_of(self._outcome.expression), *self.columns_to_predict]))
        table.check_columns(read)
        found = Evaluation("classes" if self.has_classes else "numbers", Labels(self._outcome.classes))
        for cells in table.batches(read):
            complete = cells.complete()
            if not complete.rows:
                continue
            values, answers = self._outcome.values(complete), self._answer_complete(complete)
            if self.has_classes:
                found.add(answers, np.maximum(values, -1), self._outcome.unknown(complete, values))
            else:
                found.add(answers, values)
        if not found.rows:
            raise TableError(f"no row has the target {self._outcome.name} and all cells that the formula reads")
        return found

    def explain(self, data: TableLike) -> list[Explanation]:
        """Return the contribution of each term to the linear predictor of each row; the base: intercept, offset."""
        table = Table(data)
        read = self.columns_to_predict
        table.check_columns(read)
        return [each for cells in table.batches(read) for each in self.explain_cells(cells)]

    def explain_cells(self, cells: Cells) -> Iterator[Explanation]:
        """Yield the explanation of each row of a batch."""
        incomplete = cells.incomplete()
        if incomplete.any():
            row = int(np.argmax(incomplete))
            name = next(name for name, count in cells.take(np.array([row])).missing().items() if count)
            raise TableError(f"column {name!r} is missing in row {cells.position(row)}: there is no prediction")
        features, known = self._features(cells), self._known_parts(cells)
        coef, intercept = self._coefficients_by_class()
        shift = known.get("offset", np.zeros(cells.rows))
        if "exposure" in known:
            shift = shift + np.log(known["exposure"])
        terms = self.design.columns_of_terms() if self.design.names else {}
        places = {term: [self._names.index(name) for name in names] for term, names in terms.items()}
        effects = np.stack(
            [features.values[:, at] @ coef[:, at].T for at in places.values()] or [np.zeros((cells.rows, len(coef)))],
            axis=2,
        )  # (n, k, terms)
        names, read = list(places) or [INTERCEPT], self.design.columns_read_by_terms()
        answers = self._answer_complete(cells)
        linear = isinstance(self.estimator_, LeastSquaresModel) or self._response_name.endswith("/identity")
        for row in range(cells.rows):
            base = intercept + shift[row] * (np.arange(len(intercept)) > 0 if self.has_classes else 1.0)
            values = [_shown_cells(read.get(term, ()), cells, row) for term in names]
            if self.has_classes:
                scores = ClassScores(list(self._outcome.classes), names, values, effects[row].tolist(), base.tolist())
                yield Explanation.of(scores, row=cells.position(row))
                continue
            parts = effects[row, 0]
            order = [place for place in np.argsort(-np.abs(parts), kind="stable") if parts[place]]
            yield Explanation(
                prediction=float(answers[row]),
                against=None,
                probability=None,
                base=float(base[0]),
                total=float(base[0] + parts.sum()),
                contributions=tuple(Contribution(names[at], values[at], float(parts[at])) for at in order),
                unit=EXPECTED_NUMBER if linear else f"linear predictor ({self._response_name})",
                row=cells.position(row),
            )

    @property
    def _response_name(self) -> str:
        title = self.estimator_.summary().inference.title
        return str(title.partition("(")[2].rpartition(")")[0])

    def _coefficients_by_class(self) -> tuple[FloatArray, FloatArray]:
        """Return coefficients, (k, p), and intercepts, (k,): of each class against the first, or of one predictor."""
        coef = np.atleast_2d(np.asarray(self.estimator_.coef_, dtype=np.float64))
        intercept = np.atleast_1d(np.asarray(self.estimator_.intercept_, dtype=np.float64))
        if not self.has_classes:
            return coef, intercept
        if len(coef) == 1:
            return np.concatenate([np.zeros_like(coef), coef]), np.concatenate([np.zeros(1), intercept])
        coef, intercept = np.roll(coef, 1, axis=0), np.roll(intercept, 1)
        return coef - coef[:1], intercept - intercept[:1]

    # Inference.

    @property
    def coefficients(self) -> dict[str, float]:
        """The coefficient of each column by its name, the intercept first; NaN for columns that were dropped."""
        found = self.summary().inference
        return {name: float(value) for name, value in zip(found.names, found.estimate, strict=True)}

    @property
    def covariance_(self) -> Covariance:
        """The covariance of the coefficients with their names; NaN for columns that were dropped."""
        found = self.summary().inference
        if found.covariance is None:
            raise AttributeError(f"covariance_ is unknown: {'; '.join(found.notes)}")
        return Covariance(found.names, found.covariance, found.covariance_kind)

    def summary(self, level: float = 0.95) -> Summary:
        """Return the table of coefficients by the names of the terms, with standard errors, tests and intervals.

        Parameters
        ----------
        level
            Confidence level.

        Returns
        -------
        Summary
            It prints as a table with notes: the reference levels, the modelled class, dropped rows and columns.
        """
        found = self._inference(level)
        everything = [INTERCEPT, *self.design.all_names] if self.design.intercept else self.design.all_names
        groups = self._groups_of_coefficients(found)
        titles = [f"{group}: {name}" if group else name for group in groups for name in everything]
        titles += [name for name in found.names if name not in titles]  # the precision of the beta family
        positions = {name: place for place, name in enumerate(titles)}
        places = np.array([positions[name] for name in found.names], dtype=np.intp)
        estimate = np.full(len(titles), np.nan)
        estimate[places] = found.estimate
        covariance = None
        if found.covariance is not None:
            covariance = np.full((len(estimate), len(estimate)), np.nan)
            covariance[np.ix_(places, places)] = found.covariance
        return Summary(
            replace(
                found,
                title=f"{found.title}: {self.formula}",
                names=tuple(titles),
                estimate=estimate,
                covariance=covariance,
                notes=(*self._notes(), *found.notes),
            ),
            level,
        )

    def _inference(self, level: float = 0.95) -> Inference:
        """Return the inference of the estimator, with the names of terms and classes."""
        found = self.estimator_.summary(level).inference
        if not self.has_classes:
            return found
        names = [INTERCEPT, *self.design.names] if self.design.intercept else self.design.names
        if len(found.names) == len(names):
            return replace(found, names=tuple(names))
        classes = self._outcome.classes
        groups = [classes[(code + 1) % len(classes)] for code in range(len(found.names) // len(names))]
        return replace(found, names=tuple(f"{each}: {name}" for each in groups for name in names))

    def _groups_of_coefficients(self, found: Inference) -> list[str]:
        """Return the class of each column of theta; empty if there is one column."""
        step = len(self.design.names) + int(self.design.intercept)
        if not self.has_classes or len(found.names) <= step:
            return [""]
        return [name.rpartition(": ")[0] for name in found.names[::step]]

    def confint(self, level: float = 0.95, method: str = "wald", data: TableLike | None = None) -> ResultTable:
        """Return the confidence interval of each coefficient.

        Parameters
        ----------
        level
            Confidence level.
        method
            ``"wald"``; or ``"profile"``, by the profile likelihood, as R's ``confint`` of a glm.
        data
            The table that the model was fitted to, which ``"profile"`` needs.
        """
        if method == "wald":
            found = self.summary(level).inference
            low, high = found.interval(level).T
            title = f"{100 * level:g}% intervals, {found.covariance_kind}"
            return ResultTable(title, found.names, {"lower": low, "upper": high})
        table = self.estimator_.confint(level, method, **self._rows_again(data, f"method={method!r}"))
        return replace(table, names=self._inference().names)

    def contrast(self, contrasts: str | Sequence[str], level: float = 0.95) -> ResultTable:
        """Return estimates, errors, tests and intervals of linear combinations of coefficients.

        Parameters
        ----------
        contrasts
            Linear expressions in the names of coefficients, as ``"race[black] - race[other]"``; one or several.
        level
            Confidence level.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import formula
        >>> table = pd.DataFrame({"y": [1.0, 1.2, 2.0, 2.4, 3.5, 3.1], "dose": list("aabbcc")})
        >>> formula.fit("y ~ dose", table).contrast("dose[c] - dose[b]")["estimate"].round(3)
        array([1.1])
        """
        return estimate_contrasts(self._inference(), contrasts, level)

    def anova(
        self, *larger: FormulaModel, data: TableLike | None = None, test: str = "auto", kind: str = "sequential"
    ) -> ResultTable:
        """Test the terms of the model; or this model against larger ones, the smallest first.

        Parameters
        ----------
        *larger
            Models of the same rows whose coefficients include those of this one; or whose columns do, as those of
            ``poly(x, 2)`` include x, which needs ``data``.
        data
            The table that the models were fitted to. Not needed for the terms of a linear regression.
        test, kind
            As for :func:`suffice.anova`: ``kind="type 2"`` tests each term given all that do not contain it.
        """
        from_sums = isinstance(self.estimator_, LeastSquaresModel) or test == "wald"
        needed = test == "score" or not (larger or from_sums)
        rows = self._rows_again(data, "anova") if needed or data is not None else {}
        if not larger:
            terms = {term: names for term, names in self.design.columns_of_terms().items() if names}
            return anova(self.estimator_, test=test, kind=kind, terms=terms, **rows)
        if data is not None and test == "score":
            rows = larger[-1]._rows_again(data, "anova")
        models = (self, *larger)

        def are_nested(place: int) -> bool:
            small, large = models[place], models[place + 1]
            if data is None:
                raise FormulaError(
                    f"{small.formula!r} has coefficients that {large.formula!r} does not have, so the models may not "
                    "be nested: give data=, the table of the fit, which tells whether the columns are"
                )
            return large._contains_columns(small, data)

        X, y = rows.pop("X", None), rows.pop("y", None)
        found = compare_models([each.estimator_ for each in models], test, X, y, rows, are_nested)
        formulas = [f"{place + 1}: {each.formula}" for place, each in enumerate(models)]
        others = [note for note in found.notes if not re.match(r"\d+: ", note)]  # not the coefficients of each model
        return replace(found, notes=(*formulas, *others))

    def _contains_columns(self, smaller: FormulaModel, data: Any) -> bool:
        """Whether the columns of a smaller model are combinations of those of this one, in the rows of a table."""
        own, others = self.design.matrix(data), smaller.design.matrix(data)
        if smaller.design.intercept:
            others = np.column_stack([np.ones(len(others)), others])
        known = np.isfinite(own).all(axis=1) & np.isfinite(others).all(axis=1)
        model = LinearRegression(fit_intercept=self.design.intercept).fit(own[known], others[known])
        left = others[known] - model.predict(own[known])
        return bool((np.abs(left).max(axis=0) <= 1e-7 * np.abs(others[known]).max(axis=0)).all())

    def diagnostics(self, data: TableLike, *, dfbetas: bool = True, random_state: RandomState = 0) -> Diagnostics:
        """Return residuals, leverage and influence of each row of the fit, and variance inflation of each term.

        Parameters
        ----------
        data
            The table that the model was fitted to. Results of rows with missing cells are NaN.
        dfbetas, random_state
            As for the estimator's ``diagnostics``.
        """
        terms = {term: names for term, names in self.design.columns_of_terms().items() if names}
        rows = self._rows_again(data, "diagnostics")
        settings = {"dfbetas": dfbetas, "terms": terms, "random_state": random_state}
        found: Diagnostics = self.estimator_.diagnostics(**rows, **settings)
        table = Table(data)
        kept = np.concatenate([~cells.incomplete() for cells in table.batches(list(self.column_kinds_))])
        if kept.all():
            return found
        spread: dict[str, Any] = {}
        for name in (*Diagnostics.COLUMNS, "linear_predictor", "dfbetas"):
            some = getattr(found, name)
            if some is not None:
                spread[name] = np.full((len(kept), *some.shape[1:]), np.nan)
                spread[name][kept] = some
        return replace(found, **spread)

    def _rows_again(self, data: Any, what: str) -> dict[str, Any]:
        """Return the rows of the fit as arguments of the estimator's ``fit``, by name."""
        if data is None:
            raise UsageError(f"{what} needs the rows of the fit, which a model does not keep: give data=")
        table = Table(data)
        table.check_columns(list(self.column_kinds_))
        if not table.is_in_memory:
            return {"X": lambda: map(_without_groups, self._pieces(table))}
        (cells,) = table.batches(list(self.column_kinds_))
        return _without_groups(self._piece(cells.complete()))

    def _pieces(self, table: Table) -> Iterator[dict[str, Any]]:
        """Yield the complete rows of each batch, as arguments of the estimator's ``fit``."""
        for cells in table.batches(list(self.column_kinds_)):
            complete = cells.complete()
            if complete.rows:
                yield self._piece(complete)

    def _notes(self) -> list[str]:
        """Return notes on the table: classes, reference levels, dropped rows and columns."""
        notes = []
        classes = self._outcome.classes
        if len(classes) == 2:
            notes.append(f"modelled class: {self._outcome.name} = {classes[1]}, against {classes[0]}")
        elif classes:
            notes.append(f"log-odds of each class of {self._outcome.name} against {classes[0]}")
        for name, coding in self.design.codings().items():
            level = coding.levels[coding.reference]
            if coding.contrast == "treatment":
                notes.append(f"{name}: reference level {level}")
            else:
                notes.append(f"{name}: sum contrasts; {level} is minus the sum of the others")
        if self.dropped_rows_:
            cells = ", ".join(f"{name} {count:,}" for name, count in self._missing.items())
            notes.append(f"{self.dropped_rows_:,} of {self.rows_:,} rows with missing cells were dropped ({cells})")
        for name, others in self.dropped_columns_.items():
            notes.append(f"{name} was dropped: {dependence(name, others)}")
        return notes

    def __repr__(self) -> str:
        found = self.coefficients
        width = max(map(len, found))
        lines = [f"  {name:<{width}}  {value: .5g}" for name, value in list(found.items())[:20]]
        more = [f"  ... and {len(found) - 20} more: summary()"] if len(found) > 20 else []
        return "\n".join([f"FormulaModel: {self.formula} ({type(self.estimator_).__name__})", *lines, *more])

    def _repr_html_(self) -> str:
        rows = [(name, f"{value:.5g}") for name, value in self.coefficients.items()]
        return fragment(title(f"{self.formula} ({type(self.estimator_).__name__})"), table(["", "coefficient"], rows))

    # The file.

    def _contents(self) -> Contents:
        own = {
            "formula": self.formula,
            "target": str(self._outcome.expression),
            "classes": list(self._outcome.classes),
            "design": self.design.settings(),
            "offsets": [str(each) for each in self._offsets],
            "beside": {name: str(each) for name, each in self._beside.items()},
            "kinds": self.column_kinds_,
            "rows": self.rows_,
            "dropped_rows": self.dropped_rows_,
            "missing": self._missing,
            "dropped_columns": self.dropped_columns_,
        }
        own["null"] = None if self._null is None else self._null.tolist()
        return nest_contents(type(self).__name__, own, {"estimator": self.estimator_._contents()})

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        own, parts = unnest_contents(contents)
        kind = Stored.kinds[parts["estimator"].kind]
        if not issubclass(kind, LinearPredictor):
            raise ValueError(f"the estimator of a formula cannot be {kind.__name__}")
        estimator = kind._from_contents(parts["estimator"])
        design = Design.from_settings(own["design"])
        outcome = Outcome(parse_expression(own["target"]), tuple(own["classes"]))
        census = Census(int(own["rows"]), int(own["dropped_rows"]), dict(own["missing"]))
        offsets = tuple(parse_expression(each) for each in own["offsets"])
        beside = {name: parse_expression(own["beside"][name]) for name in BESIDE if name in own["beside"]}
        model = cls(
            str(own["formula"]), outcome, design, offsets, beside, _checked_kinds(own["kinds"]), census, estimator
        )
        model.dropped_columns_ = {str(name): list(others) for name, others in own["dropped_columns"].items()}
        if own.get("null"):
            model._null = np.array(own["null"], dtype=np.float64)
            width = len(design.all_names) + int(design.intercept)
            if model._null.ndim != 2 or model._null.shape[1] != width or not np.isfinite(model._null).all():
                raise ValueError(f"array 'null' must have {width} finite columns")
        if list(getattr(estimator, "feature_names_in_", ())) != list(model._names):
            raise ValueError("the columns of the design are not those of the estimator")
        expected = len(estimator.classes_) if model._is_classifier else len(outcome.classes) and 2
        if len(outcome.classes) != expected or len(set(outcome.classes)) != expected:
            raise ValueError(f"the classes {list(outcome.classes)!r} are not those of the estimator")
        return model


def _spread_rows(some: FloatArray, cells: Cells) -> FloatArray:
    """Return the results of complete rows at their positions among all rows, NaN for the others."""
    if len(some) == cells.rows:
        return some
    found = np.full((cells.rows, *some.shape[1:]), np.nan)
    found[~cells.incomplete()] = some
    return found


def _checked_kinds(kinds: Mapping[str, Any]) -> dict[str, Kind]:
    if not all(kind in ("number", "category") for kind in kinds.values()):
        raise ValueError(f"columns hold numbers or categories; the file has {kinds!r}")
    return {str(name): kind for name, kind in kinds.items()}


def _shown_cells(columns: Sequence[str], cells: Cells, row: int) -> str:
    """Return the cells of a row that a term reads, as text."""
    found = []
    for name in columns:
        column = cells.columns[name]
        found.append(str(column.levels[column.codes[row]]) if isinstance(column, Categories) else f"{column[row]:g}")
    return ", ".join(found)
