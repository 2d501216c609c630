"""Every public estimator in its settings, with rows that suit it, and what it cannot do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from suffice import (
    GDA,
    GLM,
    AdditiveClassifier,
    AdditiveRegressor,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    ElasticNet,
    ElasticNetCV,
    FamilyNB,
    GammaRegressor,
    GaussianNB,
    Lasso,
    LassoCV,
    LinearRegression,
    LocallyWeightedRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MixedNB,
    MultinomialNB,
    NBLogisticRegression,
    OrdinalRegression,
    Perceptron,
    PoissonNB,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    SoftmaxRegression,
    TableModel,
    TextClassifier,
    TweedieRegressor,
)
from suffice.families import NegativeBinomial, Tweedie
from suffice.kernels.engine import SMALL
from suffice.statistics import DiagonalMoments, EventCounts, FullMoments, NormalEquations, PresenceCounts, TiedMoments
from suffice.text import CountVectorizer, HashedVocabulary, HashingVectorizer, TfidfVectorizer

Array = npt.NDArray[Any]

ROWS = 42


@dataclass(frozen=True)
class Data:
    """Rows, their targets, what else each row has (sample_weight, offset, exposure, trials), and unlabelled rows."""

    x: Any
    y: Any
    beside: Mapping[str, Any] = field(default_factory=dict)
    unlabelled: Any = None

    def __len__(self) -> int:
        return len(self.x)

    def take(self, places: Any) -> Data:
        """Return some rows, in this order."""
        beside = {name: taken(values, places) for name, values in self.beside.items()}
        y = None if self.y is None else taken(self.y, places)
        return Data(taken(self.x, places), y, beside, self.unlabelled)

    def mapped(self, change: Callable[[Any], Any]) -> Data:
        """Return the rows with other features."""
        unlabelled = None if self.unlabelled is None else change(self.unlabelled)
        return replace(self, x=change(self.x), unlabelled=unlabelled)


def taken(values: Any, places: Any) -> Any:
    """Return some entries of an array, a data frame, a series or a list."""
    if isinstance(values, list):
        return [values[place] for place in np.arange(len(values))[places]]
    return values.iloc[places].reset_index(drop=True) if hasattr(values, "iloc") else values[places]


@dataclass(frozen=True)
class Entry:
    """An estimator in one of its settings.

    ``refuses`` names the laws that the model refuses to be asked about, with the words of the refusal (a pattern), and
    ``differs`` those under which its answers change, with the reason. Both are checked: a declaration that is not
    needed any more fails.
    """

    name: str
    make: Callable[..., Any]
    draw: Callable[[], Data]
    x: Literal["numbers", "counts", "names", "cells", "texts"] = "numbers"
    y: Literal["classes", "numbers", "positive", "counts", "shares", "none"] = "classes"
    tolerance: float = 1e-9
    #: How far predictions may be where rows come in batches: these models find theta anew only now and then.
    near: float | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    #: The settings of the same model where X and y are in units of these sizes: penalties, a bandwidth.
    units: Callable[[float, float], dict[str, Any]] = lambda x, y: {}
    #: What is summed of the rows, for the engines that sum them elsewhere.
    sums: Callable[[Any], Any] | None = None

    def __str__(self) -> str:
        return self.name


# Rows. Numbers are multiples of 1/64, so that float32 and an offset of a million lose nothing.


def drawn() -> np.random.Generator:
    return np.random.default_rng(3)


def on_grid(values: Any) -> Array:
    return np.asarray(np.round(np.asarray(values) * 64) / 64)


def classes(count: int = 3) -> Array:
    return np.arange(ROWS) * count // ROWS


NAMES = np.array(["ash", "elm", "oak"])


def measured() -> Data:
    """Return correlated numbers about a mean for each of three classes."""
    y = classes()
    mixing = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.2, 0.0, 1.5]])
    x = drawn().normal(size=(ROWS, 3)) @ mixing + 0.6 * y[:, None] * [1.0, -0.5, 1.0]
    return Data(on_grid(x), NAMES[y])


def with_gaps() -> Data:
    data = measured()
    return data.mapped(lambda x: np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x))


def some_unlabelled() -> Data:
    data = measured()
    return replace(data, unlabelled=on_grid(drawn().normal(size=(20, 3)) + 0.5))


def counted() -> Data:
    """Return counts of four words whose rates depend on the class."""
    rates = np.array([[3.0, 1.0, 0.2, 0.5], [0.5, 2.0, 1.0, 0.5], [1.0, 0.1, 3.0, 0.5]])
    return Data(drawn().poisson(rates[classes()]).astype(float), NAMES[classes()])


def of_two_classes(data: Data) -> Data:
    return replace(data, y=np.where(data.y == "ash", "ash", "other"))


def named() -> Data:
    random, y = drawn(), classes()
    colours = np.array(["red", "green", "blue", "grey"], dtype=object)
    sizes = np.array(["s", "m", "l"], dtype=object)
    x = np.stack([colours[(y + random.integers(0, 2, ROWS)) % 4], sizes[random.integers(0, 3, ROWS)]], axis=1)
    return Data(x, NAMES[y])


def mixed() -> Data:
    random, data = drawn(), named()
    table = pd.DataFrame(data.x, columns=["colour", "size"]).assign(
        length=measured().x[:, 0],
        visits=random.poisson(2.0 + classes()),
        new=random.random(ROWS) < 0.3,
        note=[" ".join(random.choice(WORDS, 4)) for _ in range(ROWS)],
    )
    table.loc[7:12, "length"] = np.nan
    return Data(table, data.y)


KINDS = {
    "colour": "category",
    "size": "category",
    "length": "numeric",
    "visits": "count",
    "new": "boolean",
    "note": "text",
}


def table_of(targets: Callable[[], Data]) -> Callable[[], Data]:
    """Return numbers and a name as a table."""

    def draw() -> Data:
        data = targets()
        table = pd.DataFrame(data.x, columns=["a", "b", "c"]).assign(colour=named().x[:, 0])
        return Data(table, data.y)

    return draw


WORDS = np.array(["free", "Money", "lunch", "monday", "goal", "straße", "team", "the", "win", "report"])


def texts() -> Data:
    random, y = drawn(), classes()
    leaning = 1.0 + 4.0 * (np.arange(len(WORDS)) % 3 == np.arange(3)[:, None])
    leaning /= leaning.sum(axis=1, keepdims=True)
    return Data([" ".join(random.choice(WORDS, 6, p=leaning[code])) for code in y], NAMES[y])


def untargeted() -> Data:
    return replace(texts(), y=None)


def predictors() -> tuple[Array, Array]:
    """Return rows, and linear predictors of theirs."""
    x = on_grid(drawn().normal(size=(ROWS, 3)) * [1.0, 0.5, 1.5])
    return x, 0.6 * (x @ [0.8, -1.0, 0.3]) + 0.2


def target(draw: Callable[[np.random.Generator, Array], Any]) -> Callable[[], Data]:
    """Return a function that draws targets for linear predictors z."""

    def drawing() -> Data:
        x, z = predictors()
        return Data(x, draw(drawn(), z))

    return drawing


real = target(lambda random, z: on_grid(z + random.normal(size=ROWS)))
pairs = target(lambda random, z: on_grid(np.stack([z + random.normal(size=ROWS), random.normal(size=ROWS)], axis=1)))
above_zero = target(lambda random, z: on_grid(np.exp(z) + 2 + 0.1 * random.normal(size=ROWS)))
two_classes = target(lambda random, z: np.where(random.random(ROWS) < 1 / (1 + np.exp(-z)), "yes", "no"))
zeros_and_ones = target(lambda random, z: (random.random(ROWS) < 1 / (1 + np.exp(-z))).astype(float))
three_classes = target(lambda random, z: NAMES[np.argmax(np.c_[z, 0 * z, -z] + random.gumbel(size=(ROWS, 3)), axis=1)])
separable = target(lambda random, z: np.where(z > 0.2, "yes", "no"))
events = target(lambda random, z: random.poisson(np.exp(z)).astype(float))
overdispersed = target(lambda random, z: random.poisson(random.gamma(0.8, np.exp(z + 1.5) / 0.8)).astype(float))
positive = target(lambda random, z: random.gamma(4.0, np.exp(z) / 4))
shares = target(lambda random, z: random.beta(2 + np.exp(z), 3.0))
compositions = target(
    lambda random, z: np.array([random.dirichlet(np.exp([0.5 + each, 1.0, 0.3 - each])) for each in z])
)


def ranked() -> Data:
    """Return numbers, and three classes that have the order of numbers."""
    data = real()
    return replace(data, y=np.searchsorted(np.quantile(data.y, [0.3, 0.7]), data.y))


def grouped() -> Data:
    x, z = predictors()
    trials = drawn().integers(2, 9, ROWS)
    return Data(x, drawn().binomial(trials, 1 / (1 + np.exp(-z))), {"trials": trials})


def clustered(draw: Callable[[], Data]) -> Callable[[], Data]:
    """Return a function that draws rows with the cluster of each."""

    def drawing() -> Data:
        data = draw()
        return replace(data, beside={**data.beside, "groups": np.arange(ROWS) % 7})

    return drawing


def exposed() -> Data:
    x, z = predictors()
    exposure = drawn().gamma(2.0, size=ROWS) + 0.1
    return Data(x, drawn().poisson(exposure * np.exp(z)).astype(float), {"exposure": exposure})


def with_offset() -> Data:
    data = exposed()
    return replace(data, beside={"offset": np.log(data.beside["exposure"])})


def enlarged(entry: Entry) -> Data:
    """Return an entry's rows again and again, with fractional weights and more columns: an engine cuts so many rows."""
    model, data = entry.make(), entry.draw()
    columns = {"numbers": 61, "counts": 60}.get(entry.x, 0)
    if isinstance(model, LocallyWeightedRegression | CategoricalNB | AdditiveClassifier | AdditiveRegressor):
        columns = 0
    width = columns + (data.x.shape[1] if entry.x != "texts" else min(map(len, data.x)))
    rows = SMALL // width + 1
    if isinstance(model, LocallyWeightedRegression):
        rows = math.isqrt(rows) + 1  # each is fitted from all others

    def widened(x: Any) -> Any:
        more = np.random.default_rng(5).random((len(x), columns)) * 0.2 - 0.1
        return np.hstack([x, np.round(10 * more + 1) if entry.x == "counts" else more]) if columns else x

    data = data.take(np.resize(np.arange(len(data)), rows)).mapped(widened)
    is_weighted = data.y is not None and not isinstance(model, TableModel)
    weight = {"sample_weight": np.random.default_rng(6).random(rows) + 0.5} if is_weighted else {}
    return replace(data, beside={**data.beside, **weight})


# Entries, and the reasons why a law does not hold.

HELD_OUT = "the rows that are held out to choose a setting depend on the order of the rows"
COPIES = "a copy of a row that is held out is learned, and tells its class"
UNTUNED = "batches leave no rows to hold out: settings that are 'auto' keep their defaults"
ONE_PENALTY = "one penalty for coefficients in different units"
ONE_VARIANCE = "the variances of columns in different units are mixed"
MIXED_BY_MODEL = "each model fills in what it does not know by its own rows alone"
ONE_OBSERVATION = "a weight belongs to one observation, and does not count several"
THROUGH_ZERO = "without an intercept the plane goes through zero"
STEPS = "steps depend on the order of the rows, their lengths on the units"

IN_ORDER = "folds depend on the order of the rows"
TUNED = {
    "order_of_rows": HELD_OUT,
    "weights_are_repetitions": COPIES,
    "batch_by_batch": UNTUNED,
    "row_by_row": UNTUNED,
    "a_stream": UNTUNED,
    "a_function_that_starts_a_stream": HELD_OUT,
    "a_folder_of_files": HELD_OUT,
    "a_sum_of_models": "each model chooses its settings by its own rows",
}
#: Laws of rows that are not here all at once.
IN_PARTS = ("dask", "a_function_that_starts_a_stream", "a_folder_of_files")
#: Of models whose solvers go through all rows again and again.
ITERATED = {"a_sum_of_models": "models cannot be added: what they learn depends on all rows at once"}
NO_UNLABELLED = {
    "batch_by_batch": "unexpected keyword argument 'unlabelled'",
    "row_by_row": "unexpected keyword argument 'unlabelled'",
}


def regression(name: str, make: Callable[..., Any], draw: Callable[[], Data], **more: Any) -> Entry:
    refuses = {**ITERATED, **more.pop("refuses", {})}
    return Entry(name, make, draw, **{"tolerance": 1e-6, "near": 0.1, **more}, refuses=refuses)


def events_of(labels: Any) -> Any:
    return EventCounts.over(labels, True)


def made(model: Callable[..., Any], *args: Any, **settings: Any) -> Callable[..., Any]:
    """Return what makes a model with settings, and with others in their place."""
    return lambda **more: model(*args, **{**settings, **more})


GENERATIVE = [
    Entry(
        "GaussianNB",
        GaussianNB,
        measured,
        sums=lambda labels: DiagonalMoments.over(labels, True),
        differs={"units_of_each_column": "var_smoothing is a share of the largest variance"},
    ),
    Entry("GaussianNB, unsmoothed", made(GaussianNB, var_smoothing=0.0), measured),
    Entry(
        "GaussianNB, smoothed",
        made(GaussianNB, alpha=2.0, var_smoothing=0.1),
        measured,
        differs={"units_of_each_column": ONE_VARIANCE},
    ),
    Entry(
        "GaussianNB, calibrated",
        made(GaussianNB, temperature="auto", var_smoothing=0.0),
        measured,
        differs=TUNED,
    ),
    Entry("GaussianNB, missing cells", made(GaussianNB, var_smoothing=0.0), with_gaps),
    Entry(
        "GaussianNB, unlabelled",
        made(GaussianNB, var_smoothing=0.0),
        some_unlabelled,
        refuses=NO_UNLABELLED,
        differs={"a_sum_of_models": MIXED_BY_MODEL},
    ),
    Entry("MultinomialNB", MultinomialNB, counted, x="counts", sums=events_of),
    Entry("ComplementNB", ComplementNB, counted, x="counts", sums=events_of),
    Entry("BernoulliNB", BernoulliNB, counted, x="counts", sums=lambda labels: PresenceCounts.over(labels, 0.0, True)),
    Entry("PoissonNB", PoissonNB, counted, x="counts", sums=events_of),
    Entry("FamilyNB", made(FamilyNB, NegativeBinomial(theta=2)), counted, x="counts"),
    Entry("CategoricalNB", CategoricalNB, named, x="names"),
    Entry(
        "CategoricalNB, codes",
        CategoricalNB,
        counted,
        x="counts",
        refuses={"sparse_rows": "the category 0 is not an empty cell"},
    ),
    Entry(
        "CategoricalNB, bins",
        made(CategoricalNB, bins=3),
        measured,
        refuses={
            "a_sum_of_models": "have different sums",
            "sparse_rows": "bins need dense columns",
        },
        differs=dict.fromkeys(["batch_by_batch", "row_by_row"], "the first batch says where bins are cut"),
    ),
    Entry("MixedNB", made(MixedNB, columns=KINDS), mixed, x="cells"),
    Entry(
        "MixedNB, kinds from rows",
        MixedNB,
        mixed,
        x="cells",
        differs={"row_by_row": "one row does not tell counts from other numbers"},
    ),
    Entry("GDA", GDA, measured, sums=lambda labels: TiedMoments.over(labels)),
    Entry("GDA, full", made(GDA, "full"), measured, sums=lambda labels: FullMoments.over(labels)),
    Entry("GDA, Ledoit and Wolf", made(GDA, shrinkage="auto"), measured),
    Entry("GDA, full, Ledoit and Wolf", made(GDA, "full", shrinkage="auto"), measured),
    Entry("GDA, diagonal", made(GDA, "diagonal"), measured),
    Entry("GDA, tied_diagonal", made(GDA, "tied_diagonal"), measured),
    *(
        Entry(f"GDA, {name}", make, measured, differs={"units_of_each_column": ONE_VARIANCE})
        for name, make in (
            ("spherical", made(GDA, "spherical")),
            ("tied_spherical", made(GDA, "tied_spherical")),
            ("shrunk", made(GDA, "full", shrinkage=0.3)),
            ("oas", made(GDA, "full", shrinkage="oas")),
        )
    ),
    Entry(
        "GDA, missing cells",
        made(GDA, missing="em"),
        with_gaps,
        tolerance=1e-6,
        refuses=dict.fromkeys(
            ["batch_by_batch", "row_by_row", "a_stream", *IN_PARTS], "learned by fit, all at once, not added"
        ),
        differs={"a_sum_of_models": MIXED_BY_MODEL},
    ),
    Entry("GDA, unlabelled", GDA, some_unlabelled, refuses=NO_UNLABELLED, differs={"a_sum_of_models": MIXED_BY_MODEL}),
]

LINEAR = [
    Entry("LinearRegression", LinearRegression, real, y="numbers", sums=lambda labels: NormalEquations.over()),
    Entry("LinearRegression, two targets", LinearRegression, pairs, y="numbers"),
    Entry(
        "LinearRegression, no intercept",
        made(LinearRegression, fit_intercept=False),
        real,
        y="numbers",
        differs={"zero_of_x": THROUGH_ZERO, "zero_of_y": THROUGH_ZERO},
    ),
    Entry(
        "LinearRegression, positive",
        made(LinearRegression, positive=True),
        real,
        y="numbers",
    ),
    Entry(
        "Ridge",
        made(Ridge, alpha=2.0),
        real,
        y="numbers",
        units=lambda x, y: {"alpha": 2.0 * x**2},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    Entry(
        "Ridge, two targets",
        made(Ridge, alpha=(2.0, 5.0), fit_intercept=False),
        pairs,
        y="numbers",
        units=lambda x, y: {"alpha": (2.0 * x**2, 5.0 * x**2)},
        differs={"units_of_each_column": ONE_PENALTY, "zero_of_x": THROUGH_ZERO, "zero_of_y": THROUGH_ZERO},
    ),
    Entry(
        "Ridge, positive",
        made(Ridge, alpha=2.0, positive=True),
        real,
        y="numbers",
        units=lambda x, y: {"alpha": 2.0 * x**2},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    Entry(
        "Lasso",
        made(Lasso, alpha=0.12),
        real,
        y="numbers",
        tolerance=1e-6,
        units=lambda x, y: {"alpha": 0.12 * x * y},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    Entry(
        "ElasticNet",
        made(ElasticNet, alpha=0.1),
        real,
        y="numbers",
        tolerance=1e-6,
        units=lambda x, y: {"alpha": 0.05 * (x * y + x**2), "l1_ratio": y / (y + x)},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    *(
        Entry(
            name,
            make,
            real,
            y="numbers",
            tolerance=1e-6,
            units=units,
            refuses={
                **ITERATED,
                **dict.fromkeys(["batch_by_batch", "row_by_row"], "has no attribute 'partial_fit'"),
            },
            differs=differs,
        )
        for name, make, units, differs in (
            (
                "RidgeCV",
                made(RidgeCV, alphas=(2.0, 20.0)),
                lambda x, y: {"alphas": (2.0 * x**2, 20.0 * x**2)},
                {"units_of_each_column": ONE_PENALTY},
            ),
            (
                "RidgeCV, folds",
                made(RidgeCV, alphas=(2.0, 20.0), cv=3),
                lambda x, y: {"alphas": (2.0 * x**2, 20.0 * x**2)},
                {
                    "units_of_each_column": ONE_PENALTY,
                    **dict.fromkeys(["a_stream", "a_function_that_starts_a_stream", "a_folder_of_files"], IN_ORDER),
                },
            ),
            ("LassoCV", LassoCV, lambda x, y: {}, {"units_of_each_column": ONE_PENALTY}),
        )
    ),
    Entry(
        "ElasticNetCV",
        made(ElasticNetCV, l1_ratio=(0.5, 1.0)),
        real,
        y="numbers",
        tolerance=1e-6,
        refuses={
            **ITERATED,
            **dict.fromkeys(["batch_by_batch", "row_by_row"], "has no attribute 'partial_fit'"),
        },
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    Entry(
        "LinearRegression, HC3",
        made(LinearRegression, covariance="HC3"),
        real,
        y="numbers",
        refuses=dict.fromkeys(["batch_by_batch", "row_by_row", "a_sum_of_models"], "needs all rows at once"),
    ),
    Entry(
        "LinearRegression, clustered",
        made(LinearRegression, covariance="clustered"),
        clustered(real),
        y="numbers",
        refuses=dict.fromkeys(["batch_by_batch", "row_by_row", "a_sum_of_models"], "needs all rows at once"),
    ),
    Entry(
        "LinearRegression, precision weights",
        made(LinearRegression, weights="precision"),
        real,
        y="numbers",
        differs={"weights_are_repetitions": ONE_OBSERVATION},
    ),
    Entry(
        "LinearRegression, newton",
        made(LinearRegression, "newton"),
        real,
        y="numbers",
        tolerance=1e-6,
    ),
]

ITERATIVE = [
    regression("LogisticRegression", LogisticRegression, two_classes),
    regression("LogisticRegression, three classes", LogisticRegression, three_classes),
    regression(
        "LogisticRegression, l2",
        made(LogisticRegression, C=0.5),
        three_classes,
        units=lambda x, y: {"C": 0.5 / x**2},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    regression(
        "LogisticRegression, l1",
        made(LogisticRegression, C=1.0, l1_ratio=1.0),
        two_classes,
        units=lambda x, y: {"C": 1 / x},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    regression("LogisticRegression, firth", made(LogisticRegression, bias_reduction=True), two_classes),
    regression(
        "LogisticRegression, balanced",
        made(LogisticRegression, class_weight="balanced", covariance="HC1"),
        two_classes,
        refuses={"batch_by_batch": "class_weight='balanced' needs all rows at once"},
    ),
    regression("LogisticRegression, newton", made(LogisticRegression, solver="newton"), two_classes),
    regression("SoftmaxRegression", SoftmaxRegression, three_classes),
    regression("PoissonRegressor", PoissonRegressor, events, y="counts"),
    regression("PoissonRegressor, exposure", PoissonRegressor, exposed, y="counts"),
    regression("PoissonRegressor, quasi", made(PoissonRegressor, dispersion="pearson"), events, y="counts"),
    regression(
        "PoissonRegressor, newey-west",
        made(PoissonRegressor, covariance="newey-west", lags=2, weights="precision"),
        events,
        y="counts",
        differs={
            "weights_are_repetitions": ONE_OBSERVATION,
            **dict.fromkeys(
                ("order_of_rows", "a_stream", "a_function_that_starts_a_stream", "a_folder_of_files"),
                "rows are in the order of time, and these laws change it",
            ),
        },
    ),
    regression(
        "LogisticRegression, clustered", made(LogisticRegression, covariance="clustered"), clustered(two_classes)
    ),
    regression(
        "GammaRegressor, sampling weights",
        made(GammaRegressor, weights="sampling"),
        positive,
        y="positive",
        differs={"weights_are_repetitions": ONE_OBSERVATION},
    ),
    regression("PoissonRegressor, offset, HC0", made(PoissonRegressor, covariance="HC0"), with_offset, y="counts"),
    regression("GammaRegressor", GammaRegressor, positive, y="positive"),
    regression("TweedieRegressor", made(TweedieRegressor, power=1.5), positive, y="positive"),
    regression(
        "PoissonRegressor, alpha",
        made(PoissonRegressor, alpha=0.1),
        events,
        y="counts",
        units=lambda x, y: {"alpha": 0.1 * x**2},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    regression(
        "GammaRegressor, elastic net",
        made(GammaRegressor, alpha=0.1, l1_ratio=1.0),
        positive,
        y="positive",
        units=lambda x, y: {"alpha": 0.1 * x},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    regression("GLM negative binomial", made(GLM, NegativeBinomial(theta=2)), events, y="counts"),
    regression(
        "GLM negative binomial, theta estimated",
        made(GLM, NegativeBinomial()),
        overdispersed,
        y="counts",
        refuses={"batch_by_batch": "partial_fit does not estimate theta"},
    ),
    regression("GLM Tweedie", made(GLM, Tweedie(power=1.5)), positive, y="positive"),
    regression("GLM gaussian", GLM, real, y="numbers"),
    regression(
        "GLM gaussian, l1 and l2",
        made(GLM, l1=3.0, l2=2.0),
        real,
        y="numbers",
        units=lambda x, y: {"l1": 3.0 * x * y, "l2": 2.0 * x**2},
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    regression("GLM gaussian/log", made(GLM, "gaussian", "log"), above_zero, y="positive"),
    regression("GLM bernoulli, trials", made(GLM, "binomial"), grouped, y="counts"),
    regression("GLM bernoulli/probit", made(GLM, "binomial", "probit"), zeros_and_ones, y="shares"),
    regression(
        "GLM bernoulli/cloglog, trials, HC1",
        made(GLM, "binomial", "cloglog", covariance="HC1"),
        grouped,
        y="counts",
        differs={"groups_are_their_trials": "robust errors take the trials of a row for one observation"},
    ),
    regression("GLM gamma/inverse", made(GLM, "gamma", "inverse"), above_zero, y="positive"),
    regression("GLM inverse Gaussian", made(GLM, "inverse_gaussian"), above_zero, y="positive"),
    regression("GLM poisson/sqrt", made(GLM, "poisson", "sqrt"), events, y="counts"),
    regression("GLM bernoulli/cauchit", made(GLM, "binomial", "cauchit"), zeros_and_ones, y="shares"),
    regression("GLM exponential", made(GLM, "exponential", "log"), positive, y="positive"),
    regression("GLM multinomial", made(GLM, "multinomial"), three_classes),
    regression("GLM beta", made(GLM, "beta"), shares, y="shares"),
    regression("GLM dirichlet", made(GLM, "dirichlet"), compositions, y="shares"),
]

SPARSE_LOCAL = {"sparse_rows": "needs dense rows", **ITERATED}
ONE_BANDWIDTH = {"units_of_each_column": "one bandwidth for columns in different units"}
OTHERS = [
    Entry(
        "LocallyWeightedRegression",
        LocallyWeightedRegression,
        real,
        y="numbers",
        units=lambda x, y: {"bandwidth": x},
        refuses=SPARSE_LOCAL,
        differs=ONE_BANDWIDTH,
    ),
    Entry(
        "LocallyWeightedRegression, auto",
        made(LocallyWeightedRegression, "auto"),
        real,
        y="numbers",
        refuses={**SPARSE_LOCAL, "row_by_row": "needs at least two rows"},
        differs={**ONE_BANDWIDTH, "weights_are_repetitions": COPIES},
    ),
    Entry(
        "LocallyWeightedRegression, classes",
        made(LocallyWeightedRegression, bandwidth=1.5, family="bernoulli"),
        two_classes,
        units=lambda x, y: {"bandwidth": 1.5 * x},
        refuses={**SPARSE_LOCAL, "row_by_row": "Only binary classification is supported"},
        differs=ONE_BANDWIDTH,
    ),
    Entry(
        "NBLogisticRegression",
        made(NBLogisticRegression, tol=1e-12),
        counted,
        x="counts",
        tolerance=1e-4,
        refuses={
            **ITERATED,
            **dict.fromkeys(["batch_by_batch", "row_by_row"], "has no attribute 'partial_fit'"),
        },
    ),
    *(
        Entry(
            f"OrdinalRegression, {link}",
            made(OrdinalRegression, link),
            ranked,
            tolerance=1e-6,
            refuses={
                **ITERATED,
                **dict.fromkeys(["batch_by_batch", "row_by_row"], "has no attribute 'partial_fit'"),
            },
            differs={"order_of_classes": "its distribution is not symmetric"} if link == "cloglog" else {},
        )
        for link in ("logit", "probit", "cloglog")
    ),
    Entry(
        "LogisticRegressionCV",
        made(LogisticRegressionCV, Cs=(0.1, 1.0), cv=3, scoring="neg_log_loss"),
        two_classes,
        tolerance=1e-5,
        units=lambda x, y: {"Cs": (0.1 / x**2, 1.0 / x**2)},
        refuses={
            **ITERATED,
            **dict.fromkeys(["batch_by_batch", "row_by_row"], "has no attribute 'partial_fit'"),
            **dict.fromkeys(["a_stream", *IN_PARTS], "reads all rows at once"),
        },
        differs={"units_of_each_column": ONE_PENALTY},
    ),
    Entry(
        "Perceptron",
        Perceptron,
        separable,
        refuses=ITERATED,
        differs={
            **dict.fromkeys(["a_stream", *IN_PARTS], "the order of rows is drawn within each part"),
            **dict.fromkeys(["units_of_x", "units_of_each_column", "zero_of_x", "order_of_rows"], STEPS),
            "weights_are_repetitions": "a weight makes a step longer, a copy makes another one",
            "rows_without_weight_are_absent": "the order in which rows are visited depends on their number",
            **dict.fromkeys(
                ["batch_by_batch", "row_by_row"], "batches are visited once, rows of fit until all is right"
            ),
        },
    ),
    Entry(
        "Perceptron, in order",
        made(Perceptron, shuffle=False, average=True),
        separable,
        refuses=ITERATED,
        differs={
            **dict.fromkeys(["units_of_x", "units_of_each_column", "zero_of_x", "order_of_rows"], STEPS),
            **dict.fromkeys(
                ["a_stream", "a_function_that_starts_a_stream", "a_folder_of_files"], STEPS
            ),  # which have another order
            "weights_are_repetitions": "a weight makes a step longer, a copy makes another one",
            **dict.fromkeys(
                ["batch_by_batch", "row_by_row"], "batches are visited once, rows of fit until all is right"
            ),
        },
    ),
]

NOT_SUMMED = {
    **ITERATED,
    **dict.fromkeys(["batch_by_batch", "row_by_row"], "has no attribute 'partial_fit'"),
}
NO_SPARSE = {"sparse_rows": "sparse data was passed"}
FOLDED = {
    "weights_are_repetitions": COPIES,
    "order_of_columns": "terms are fitted one after the other, in a fixed number of cycles",
}
ADDITIVE = [
    Entry(
        "AdditiveClassifier",
        AdditiveClassifier,
        measured,
        refuses={**NOT_SUMMED, **NO_SPARSE},
        differs=FOLDED,
    ),
    Entry(
        "AdditiveClassifier, table",
        AdditiveClassifier,
        mixed,
        x="cells",
        refuses=NOT_SUMMED,
        differs=FOLDED,
    ),
    Entry(
        "AdditiveRegressor",
        AdditiveRegressor,
        real,
        y="numbers",
        refuses={**NOT_SUMMED, **NO_SPARSE},
        differs=FOLDED,
    ),
    Entry(
        "AdditiveRegressor, counts",
        made(AdditiveRegressor, family="poisson"),
        with_offset,
        y="counts",
        refuses={**NOT_SUMMED, **NO_SPARSE},
        differs=FOLDED,
    ),
]

TEXT = [
    *(
        Entry(f"TextClassifier, {form}", made(TextClassifier, form), texts, x="texts")
        for form in ("multinomial", "boolean", "bernoulli", "complement")
    ),
    Entry("TextClassifier, hashed", made(TextClassifier, vocabulary=HashedVocabulary(bits=8)), texts, x="texts"),
    Entry(
        "TextClassifier, logistic",
        made(TextClassifier, "logistic"),
        texts,
        x="texts",
        tolerance=1e-3,
    ),
    Entry(
        "TextClassifier, nb_logistic",
        made(TextClassifier, "nb_logistic"),
        texts,
        x="texts",
        tolerance=0.1,  # its solver stops within 3e-4 of log-likelihood per document
    ),
    *(
        Entry(type(make()).__name__, make, untargeted, x="texts", y="none", refuses={"saved_and_loaded": "'save'"})
        for make in (CountVectorizer, TfidfVectorizer, made(HashingVectorizer, n_features=64))
    ),
]

UNWEIGHTED = {
    **dict.fromkeys(["weights_are_repetitions", "rows_without_weight_are_absent"], "'sample_weight'"),
    **dict.fromkeys(["batch_by_batch", "row_by_row"], "'partial_fit'"),
    "a_stream": "required positional argument: 'target'",
}
HASHED = "the rows that are held out are chosen by a hash of their cells, and of the rank of their class"
TABLES = [
    *(
        Entry(
            f"TableModel, {form}",
            made(TableModel, form, columns=columns, folds=2),
            draw,
            x="cells",
            refuses=UNWEIGHTED,
            differs={
                **dict.fromkeys(["order_of_columns", "order_of_classes", "units_of_x", "zero_of_x"], HASHED),
                "a_sum_of_models": "each model chooses its temperature by its own rows",
            },
        )
        for form, draw, columns in (("nb", mixed, KINDS), ("gda", table_of(measured), None))
    ),
    Entry(
        "TableModel, linear",
        made(TableModel, "linear", folds=2),
        table_of(real),
        x="cells",
        y="numbers",
        refuses=UNWEIGHTED,
        differs={"a_sum_of_models": "the description of the columns cuts the target into bins of the first model"},
    ),
]

ENTRIES = [*GENERATIVE, *LINEAR, *ITERATIVE, *OTHERS, *ADDITIVE, *TEXT, *TABLES]
