"""Naive Bayes over tables of numbers, counts, booleans, categories and text, with missing cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt

from suffice import partitioned, validation
from suffice.column_kinds import FEATURE_KINDS, IGNORE
from suffice.data import Dataset
from suffice.data.frames import data_frame
from suffice.data.sql import DatabaseSums
from suffice.estimator import read_attribute
from suffice.families.priors import check_alpha
from suffice.generative import columns as tables
from suffice.generative.base import PriorsGiven, Tuned, is_auto
from suffice.generative.columns import Name
from suffice.generative.discrete import ALPHAS
from suffice.generative.event_models import Arrivals, Categories, Presences
from suffice.generative.explanation import Explanations
from suffice.generative.gaussian_nb import GaussianNB
from suffice.generative.joint import Joint
from suffice.generative.product import Cells, Product, Texts, class_weights, pruned, strength_of, summarise
from suffice.kernels import Batch
from suffice.kernels.protocol import Kernels
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import ClassLabel, ClassPriors, MatrixLike, VectorLike


class MixedNB(PriorsGiven):
    """Naive Bayes over a table: every column has a distribution of its kind.

    Tables are data frames (pandas, polars, Arrow and others), arrays or lists of rows. A missing cell (NaN, None, NaT
    or a data frame's null) is ignored in the fit; in predictions its factor is left out.

    Parameters
    ----------
    columns
        A dictionary from column to kind; columns are called by their names in data frames, by their positions
        otherwise. The kinds of other columns are inferred from the rows of :meth:`fit`, or the first batch:

        - "numeric": a Gaussian. Inferred for numbers that are not counts.
        - "count": a Poisson. Inferred for whole numbers, floats too, whose smallest is 0 to 9 and whose variance is at
          most three times their mean.
        - "boolean": a Bernoulli. Inferred for booleans, the numbers 0 and 1, and two truth words such as yes and no.
        - "category": a distribution over labels of any type. Inferred for categorical types, for strings that repeat,
          for cells of mixed types, and for a column without a known cell.
        - "text": a distribution over words (runs of two or more letters and digits, in lower case). Inferred for
          strings that have three words on average, at least a fifth of which are distinct.
        - "ignore": the column is left out. Inferred for identifiers: 20 or more cells that are consecutive numbers, or
          strings of which more than 90 % are distinct.

        Tables (:func:`suffice.fit`) infer the same kinds; :mod:`suffice.column_kinds` has all rules.
    alpha
        Laplace smoothing, added to the counts of counts, booleans, categories and words: one number, "auto" to choose
        it by how well rows are predicted that were held out, or a dictionary from kind to number. A category that was
        never seen has the probability of one with a count of 0. A word that was never seen is ignored: its smoothed
        probability would only favour the class with the fewest words. "numeric" columns are smoothed by it only if a
        dictionary has them, as with alpha of :class:`GaussianNB`.
    var_smoothing
        The smoothing of the variances of "numeric" columns, as for :class:`GaussianNB`.
    priors
        The class priors, (k,), or a dictionary from class to prior; by default the classes' shares of the rows,
        "laplace" for these with one row more of each class.
    temperature
        Scores are divided by it: above 1, posteriors are less extreme; "auto" calibrates it on held-out rows.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.

    Attributes
    ----------
    column_kinds_
        The kind of each column.
    categories_ : dict
        The categories of each column of categories.
    class_count_ : ndarray of shape (k,)
        The weight of the rows of each class.
    class_prior_ : ndarray of shape (k,)
        The class priors.
    classes_ : ndarray of shape (k,)
        The classes.
    words_ : dict
        The words of each column of text.
    joint_ : Joint
        The estimated p(x, y): its class conditionals, prior and temperature.
    statistics_ : Statistics
        The sum over all rows, from which the model is read.
    em_trace_ : list of float
        The log-likelihood after each step of expectation maximisation, where there were any.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the columns.

    Examples
    --------
    >>> houses = [
    ...     [120.5, "wood", True, "quiet street near the old park"],
    ...     [80.0, "brick", None, "loud street above a bar"],
    ...     [None, "wood", True, "garden with a view over the park"],
    ...     [65.5, "stone", False, "dark but close to the bar"],
    ... ]
    >>> model = MixedNB().fit(houses, ["sold", "empty", "sold", "empty"])
    >>> model.column_kinds_
    {0: 'numeric', 1: 'category', 2: 'boolean', 3: 'text'}
    >>> model.predict([[None, "wood", None, "park view"], [70.0, "straw", False, ""]])
    array(['sold', 'empty'], dtype='<U5')
    """

    _tuned: ClassVar[dict[str, Tuned]] = {"alpha": Tuned(ALPHAS, 1.0)}

    column_kinds_: dict[Name, str]
    _library: Any  # of the data frame that came first; None: there was none

    def __init__(
        self,
        *,
        columns: Mapping[Any, str] | None = None,
        alpha: float | Mapping[str, float] | Literal["auto"] = 1.0,
        var_smoothing: float = 1e-9,
        priors: ClassPriors = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.columns = columns
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.temperature = temperature
        self.n_jobs = n_jobs

    # Validation.

    def _check_settings(self) -> None:
        super()._check_settings()
        GaussianNB(var_smoothing=self.var_smoothing)._check_settings()
        tables.check_kinds(self.columns)
        if isinstance(self.alpha, Mapping):
            strange = [kind for kind in self.alpha if kind not in FEATURE_KINDS]
            if strange:
                raise ValueError(
                    f"alpha has {strange[0]!r}, which is not a kind of column; the kinds are {list(FEATURE_KINDS)}"
                )
            check_alpha(list(self.alpha.values()), len(self.alpha))
        elif not is_auto(self.alpha):
            if isinstance(self.alpha, str) or np.ndim(self.alpha):
                raise ValueError(
                    f"alpha must be a number, a dictionary from kind to number, or 'auto'; got {self.alpha!r}"
                )
            check_alpha(self.alpha, 1)

    def _features(self, X: Any, reset: bool) -> Cells:
        if isinstance(X, Cells):  # a table that was read by columns: used in place
            return X
        X = X if reset else self._in_order(X)
        table = tables.read_columns(X)
        frame = data_frame(X)
        validation.check_columns(self, table if frame is None else X, len(table), reset)
        if reset:
            self.column_kinds_ = tables.infer_kinds(table, self._params.columns)
            self._library = None if frame is None else frame.implementation.value
        kinds = {column.name: kind for column, kind in zip(table, self.column_kinds_.values(), strict=True)}
        return Cells.of(table, kinds)

    def _reads_once(self) -> bool:
        return False  # some rows suggest the kinds of columns, before all are summed

    def _set_features(self, data: Dataset) -> None:
        self._features(partitioned.sample_rows(data, self)["X"], reset=True)

    def _in_order(self, X: Any) -> Any:
        """Return a data frame with its columns in the order of the first; others as they are."""
        frame = data_frame(X)
        names = getattr(self, "feature_names_in_", None)
        if frame is None or names is None or set(frame.columns) != set(names):
            return X
        return frame.select(list(names)).to_native()

    # What to sum, and how to read it.

    def _summed_parameters(self) -> dict[str, Any]:
        return {"columns": getattr(self, "column_kinds_", self._params.columns)}

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        return None  # columns of several kinds are encoded row by row

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        return partial(summarise, labels)

    def forget(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Unlearn rows, with the names and words that no other rows hold; see :meth:`GaussianNB.forget`."""
        super().forget(X, y, sample_weight)
        self._memory.replace(self._memory.labels, pruned(self.statistics_))
        return self

    def estimate_joint(self, statistics: Any) -> Joint:
        """Return p(x, y), estimated from a sum without the names that only rows of weight 0 hold."""
        return super().estimate_joint(pruned(statistics))

    def _class_weights(self, statistics: Any) -> FloatArray:
        return class_weights(statistics)

    def _conditional(self, statistics: Any) -> Product:
        return Product.estimate(statistics, self._setting("alpha"), self._params.var_smoothing)

    def _log_smoothing(self, conditional: Any) -> float:
        strengths = {kind: strength_of(self._setting("alpha"), kind) for kind in conditional.factors}
        return sum(alpha * _log_prior(conditional.factors[kind]) for kind, alpha in strengths.items() if alpha)

    def _readable(self, joint: Joint, x: Any) -> Any:
        conditional: Any = joint.conditional
        return conditional.readable(x)

    # What was read.

    @read_attribute
    def class_prior_(self) -> FloatArray:
        """The class priors, (k,)."""
        return self._prior(self.statistics_)

    @read_attribute
    def categories_(self) -> dict[Name, npt.NDArray[Any]]:
        """The categories of each category column that were seen."""
        return self._vocabularies("category")

    @read_attribute
    def words_(self) -> dict[Name, npt.NDArray[Any]]:
        """The words of each text column that were seen."""
        return self._vocabularies("text")

    def _vocabularies(self, wanted: str) -> dict[Name, npt.NDArray[Any]]:
        names = [name for name, kind in self.column_kinds_.items() if kind == wanted]
        conditional: Any = self.joint_.conditional
        found = conditional.factors[wanted].vocabularies if names else ()
        return dict(zip(names, map(validation.classes_array, found), strict=True))

    def explain(self, X: MatrixLike, against: ClassLabel | None = None) -> Explanations:
        """Return the contribution of each column to the log-odds of rows; see :meth:`GaussianNB.explain`."""
        return super().explain(self._in_order(X), against)

    def _as_given(self, rows: Any) -> Any:
        """Return drawn cells as a data frame, where the model learned from one, or else as an array of objects."""
        cells = {kind: iter(drawn) for kind, drawn in rows.items()}
        n = len(next(iter(rows.values()))[0])
        drawn: dict[Any, Any] = {
            name: [None] * n if kind == IGNORE else next(cells[kind]) for name, kind in self.column_kinds_.items()
        }
        if getattr(self, "_library", None) is not None and hasattr(self, "feature_names_in_"):
            return nw.from_dict(drawn, backend=self._library).to_native()
        table = np.empty((n, len(drawn)), dtype=object)
        for j, column in enumerate(drawn.values()):
            table[:, j] = column
        return table

    def _more_settings(self) -> dict[str, Any]:
        return {"column_kinds": [[name, kind] for name, kind in self.column_kinds_.items()]}

    def _restore(self, settings: Any) -> None:
        self.column_kinds_ = dict(settings["column_kinds"])
        if len(self.column_kinds_) != self.n_features_in_:
            raise ValueError(f"column_kinds has {len(self.column_kinds_)} kinds for {self.n_features_in_} features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _log_prior(factor: Any) -> float:
    """Return the log-density, up to a constant, of the prior that an alpha of 1 stands for; none, for Gaussians."""
    match factor:
        case Texts():
            return float(factor.coef.sum())
        case Presences():
            return float((np.log(factor.family.p) + np.log(factor.family.q)).sum())
        case Arrivals():
            return float((factor.coef - factor.family.rate).sum())
        case Categories():
            return float(sum(table[:-1].sum() for table in factor.tables))
        case _:
            return 0.0
