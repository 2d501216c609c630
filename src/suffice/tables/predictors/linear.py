"""Linear predictors over a table: regressions and Gaussian discriminants on a design matrix."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.data.dataset import Piece
from suffice.data.stream import StreamDataset
from suffice.generative.joint import Joint
from suffice.kernels import Batch
from suffice.kernels.engine import engine_for
from suffice.kernels.libraries import is_sparse
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.design_matrix import (
    Design,
    Levels,
    Number,
    Words,
    build_design,
)
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError
from suffice.tables.predictors.base import Effects, EncodedRows, Predictor, ignore_warnings
from suffice.tables.predictors.naive_bayes import Description
from suffice.tables.predictors.scorers import LinearMean, LinearScores
from suffice.tables.prefetch import prefetch

if TYPE_CHECKING:
    from suffice.discriminative.summary import Summary
    from suffice.tables.term_summary import TermSummary

R = TypeVar("R")

#: Tolerance of solvers: far below the standard errors.
_CLOSE = 1e-6
#: Largest number of parameters for Newton's method, and of products for its Hessian.
_NEWTON = 600
_PRODUCTS = 1e11
#: Largest number of second derivatives by the scores of two classes, over all rows: 1,000 rows of 1,000 classes.
_DERIVATIVES = 1e9
#: Number of parameters above which passes with a Hessian take much longer than those without.
_FEW = 128
#: Cells of the matrix of the rows that a solver starts from.
_START = 1 << 23
#: Largest number of cells of a matrix that is encoded at a time in a pass.
_PIECE = 1 << 20


class LinearPredictor(Predictor):
    """Regressions on a design matrix, fitted by solvers; :class:`SummedPredictor` is fitted from sums."""

    design: Design

    def prepare(self, sample: Block) -> None:
        """Choose the columns of the design matrix."""
        self.design = build_design(sample, text=True)
        self.columns = self.design.width

    def extend_levels(self, description: Description) -> None:
        """Add columns for levels and missing cells that are not in the sample."""
        self.design = self.design.extend(description.levels(), description.gaps())

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit to the matrix of all rows."""
        with (
            stack_rows((self.design.encode(block), values, block.weights) for block, values in rows) as stacked,
            ignore_warnings(),
        ):
            matrix, values, weights = stacked
            self._check_classes(matrix.shape[0])
            self._set_contents(self._fit(matrix, values, weights))
        return self

    def _fit(self, matrix: Any, values: npt.NDArray[Any], weights: FloatArray | None) -> Contents:
        """Fit to a matrix, and return what the file of the estimator holds."""
        from suffice.discriminative.regression_fit import fit_ridge  # with all solvers; predictions do not need them
        from suffice.families import Response

        solver = "newton" if self._is_quick(matrix) else "auto"
        kind, parameters = self._estimator()
        settings: dict[str, Any] = {"parameters": {**parameters, "solver": solver}}
        targets = 1
        y: npt.NDArray[Any] = values.astype(np.float64)
        if self.task == "counts":
            settings |= {"parts": 1, "classes": None}
            response, l2 = Response.of("poisson"), parameters["l2"]
        else:
            present, codes = np.unique(values, return_inverse=True)
            names = np.array(self.labels.names)[present]
            if len(names) < 2:
                raise ValueError(f"all rows are of one class, {names.tolist()[0]!r}: a regression needs two")
            settings["classes"] = {"names": names.tolist(), "dtype": names.dtype.kind}
            has_one_predictor = len(names) == 2 and kind == "LogisticRegression"
            response = Response.of("bernoulli" if has_one_predictor else "multinomial")
            targets, y = (1, codes.astype(np.float64)) if has_one_predictor else (len(names), codes)
            l2 = 1 / parameters["C"]
        rows = Batch(matrix, y, validation.weights(weights, len(y)))
        alike = kind == "LogisticRegression" and targets > 2
        return fit_ridge(rows, response, targets, l2, solver, _CLOSE, alike).contents(kind, settings)

    def _estimator(self) -> tuple[str, dict[str, Any]]:
        """Return the class of the estimator, and its parameters as a file has them."""
        shared = {"fit_intercept": True, "tol": _CLOSE, "inference": False}
        if self.task == "counts":
            return "GLM", {"family": "poisson", "l2": self.penalty, **shared}
        name = "SoftmaxRegression" if self.model_type.name == "softmax" else "LogisticRegression"
        return name, {"C": 1 / self.penalty, **shared}

    def learn_in_passes(self, read: Callable[[], Iterator[EncodedRows]], rows: int) -> Self:
        """Fit in several passes over rows that are never in memory as one matrix.

        Parameters
        ----------
        read
            Starts a pass over the rows.
        rows
            Number of rows.
        """
        from suffice import discriminative

        pieces = partial(self._pieces, read)
        kind, parameters = self._estimator()
        self.inner = getattr(discriminative, kind)(**parameters)
        self._start_from_some(read, rows)
        with closing(pieces()) as started:
            head = next(started)
        with ignore_warnings():
            if self.design.has_words:  # encoding words takes long: the matrix is kept in a temporary file
                self.inner.fit(StreamDataset(lambda: prefetch(pieces()), is_read_once=True, head=head))
            else:
                self.inner.fit(_EncodedInEachPass(lambda: prefetch(pieces()), head=head))
        if "warm_start" in self.inner.get_params():
            self.inner.set_params(warm_start=False, solver="auto")
        if self.task == "classes":  # it was fitted to codes
            self.inner = _with_contents(
                self.inner, Labels(tuple(self.labels.names[code] for code in self.inner.classes_)), {}
            )
        return self

    def _start_from_some(self, read: Callable[[], Iterator[EncodedRows]], rows: int) -> None:
        """Fit to a sample of rows for a warm start: Newton's method then takes two or three passes."""
        parameters = (self.design.width + 1) * max(len(self.labels) - 1, 1)
        if self.task == "numbers" or self.design.is_sparse or parameters > _FEW:
            return
        every = slice(None, None, -(-rows * self._row_size // _START))
        drawn = ((block[every], values[every]) for block, values in read())
        some = ((self.design.encode(block, self._is_mostly_zero), values, block.weights) for block, values in drawn)
        with stack_rows(some) as (matrix, values, weights), ignore_warnings():
            if self.task != "classes" or len(np.unique(values)) == len(self.labels):
                self.inner.set_params(warm_start=True, solver="newton").fit(matrix, values, sample_weight=weights)

    @property
    def _is_mostly_zero(self) -> bool:
        """Whether the matrix is CSR in passes of a solver, since most cells of many categories are 0.

        Hessians of few columns are summed over dense rows.
        """
        return self.design.is_sparse or (self.design.width > _FEW and 2 * self.design.stored <= self.design.width)

    @property
    def _row_size(self) -> int:
        """Number of entries that are stored for each row of that matrix, without words."""
        return self.design.stored if self._is_mostly_zero else self.design.width

    def _pieces(self, read: Callable[[], Iterator[EncodedRows]]) -> Generator[Piece, None, None]:
        """Yield rows as matrices of at most a million cells, with their targets."""
        is_sparse = self._is_mostly_zero
        most = max(1, _PIECE // max(self._row_size, 16))
        for block, values in read():
            step = -(-block.rows // -(-block.rows // most))  # matrices of about equally many rows
            for start in range(0, block.rows, step):
                some = slice(start, start + step)
                piece = {"X": self.design.encode(block[some], is_sparse), "y": values[some]}
                yield piece if block.weights is None else piece | {"sample_weight": block.weights[some]}

    def row_products(self, sample: Block) -> float:
        """Return the number of products per row in one pass of a solver."""
        matrix = self.design.encode(sample)
        return max(len(self.labels) - 1, 1) * float(matrix.size) / max(sample.rows, 1)

    def _check_classes(self, rows: int) -> None:
        """Raise if a regression has too many classes to be fitted in reasonable time."""
        classes = len(self.labels)
        if float(rows) * classes**2 > _DERIVATIVES:
            raise TableError(
                f"{self.model_type.name} would take {rows * classes**2:.1g} second derivatives for {classes:,} classes "
                f"and {rows:,} rows, of which {_DERIVATIVES:.0g} are the most: nb and gda have no such limit"
            )

    def _is_quick(self, matrix: Any) -> bool:
        """Whether Newton's method is fastest: nearly collinear columns slow down first-order solvers."""
        parameters = matrix.shape[1] * max(len(self.labels) - 1, 1)
        products = float(matrix.shape[0]) * parameters**2
        return not self.design.is_sparse and parameters <= _NEWTON and products <= _PRODUCTS

    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, k), or expected numbers, (n,)."""
        scorer = self.scorer
        assert scorer is not None
        if isinstance(scorer, LinearMean):
            return scorer.mean(self.design.scores(block, scorer.coef[None])[:, 0])
        if isinstance(scorer, Joint):
            matrix = self.design.encode(block)
            found = scorer.read(engine_for(None, matrix), matrix, "log_posterior")
        else:
            assert isinstance(scorer, LinearScores)
            found = self.design.scores(block, scorer.coef) + scorer.intercept
        scores = np.full((block.rows, len(self.labels)), -np.inf)  # of a class without rows
        scores[:, self.labels.positions(scorer.labels)] = found
        return np.asarray(scores)

    def effects(self, block: Block) -> Effects:
        """Return the contribution of each feature to the scores."""
        matrix = self.design.encode(block)
        scorer = self.scorer
        if isinstance(scorer, Joint):
            parts, base = scorer.contributions(matrix)
            return Effects(
                [self.design.sum_by_feature(part) / scorer.temperature for part in parts], base / scorer.temperature
            )
        assert isinstance(scorer, LinearScores | LinearMean)
        parts = [self.design.sum_by_feature(_times(matrix, row)) for row in np.atleast_2d(scorer.coef)]
        return Effects(parts, np.tile(np.atleast_1d(scorer.intercept), (block.rows, 1)))

    def summary(self, level: float, notes: tuple[str, ...] = ()) -> Summary | TermSummary:
        """Return the coefficients in the units and levels of the table, with standard errors and tests."""
        if self.model_type.generative:
            return super().summary(level, notes)
        from suffice.discriminative.summary import Summary

        named = copy.copy(self.inner)  # which answers by the names of the columns, where the predictor reads arrays
        named.feature_names_in_ = np.array(_column_names(self.design), dtype=object)
        with ignore_warnings():
            found = named.summary(level).inference
        centre, scale = self.design.units()
        to_units = np.diag(np.append(1.0, 1 / scale))  # of the intercept and the columns
        to_units[0, 1:] = -centre / scale
        width = self.design.width + 1
        covariance = None
        if found.covariance is not None:
            groups = len(found.names) // width  # of coefficients: one, or one for each class but the last
            blocks = found.covariance.reshape(groups, width, groups, width)
            covariance = np.einsum("ij,ajbk,lk->aibl", to_units, blocks, to_units).reshape(found.covariance.shape)
        own = [
            f"{term.feature}: reference level {term.levels[0]}"
            for term in self.design.terms
            if isinstance(term, Levels) and term.apart and term.levels
        ]
        if any(isinstance(term, Number) and term.gaps for term in self.design.terms):
            own.append("[missing] is the difference between a missing number and the mean of the column")
        if self.inner.is_penalised():
            own.append("the penalty is on standardised columns")
        return Summary(
            replace(
                found,
                estimate=(found.estimate.reshape(-1, width) @ to_units.T).ravel(),
                covariance=covariance,
                notes=(*own, *found.notes, *notes),
            ),
            level,
        )

    # Files.

    def settings(self) -> dict[str, Any]:
        """Return the design, and the coefficients of a model of numbers, which may be estimated from sums."""
        found = {"design": self.design.to_plain()}
        scorer = self.scorer
        if isinstance(scorer, LinearMean):
            found["mean"] = {"coef": scorer.coef.tolist(), "intercept": scorer.intercept, "link": scorer.link}
        return found

    def restore(self, settings: Any) -> None:
        """Set the design and the coefficients."""
        self.design = Design.from_plain(settings["design"])
        mean = settings.get("mean")
        if mean is not None:
            if len(mean["coef"]) != self.design.width:
                raise ValueError(f"the model has {len(mean['coef'])} coefficients of {self.design.width} columns")
            self._stored_scorer = LinearMean(np.array(mean["coef"]), float(mean["intercept"]), str(mean["link"]))


def _column_names(design: Design) -> list[str]:
    """Return the names of the columns as a formula writes them: ``district[Harbour]``, ``area``, ``area[missing]``."""
    found: list[str] = []
    for term in design.terms:
        if isinstance(term, Levels):
            found += [f"{term.feature}[{level}]" for level in term.shown]
        else:
            found += term.names[: len(term.names) - int(isinstance(term, Number) and term.gaps)]
        if not isinstance(term, Words) and term.gaps:
            found.append(f"{term.feature}[missing]")
    return found


class _EncodedInEachPass(StreamDataset):
    """Rows that are encoded as a matrix in each pass, which is faster than reading the matrix from a file."""

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return the same rows, and the sum of a function over their parts."""
        return self, self.map_parts(function).reduce(add)


def _times(matrix: Any, row: FloatArray) -> Any:
    return matrix.multiply(row[None, :]) if hasattr(matrix, "multiply") else matrix * row


def _with_contents(inner: Any, labels: Labels, statistics: Mapping[str, Statistics]) -> Any:
    """Return the model with other classes, if it has any, and other sums."""
    contents = inner._contents()
    settings = dict(contents.settings)
    if "classes" in settings:
        settings["classes"] = {**settings["classes"], "names": list(labels)}
    return type(inner)._from_contents(Contents(contents.kind, settings, statistics, contents.arrays))


#: Largest size of a matrix in memory, in bytes.
MEMORY = 1 << 30


@contextmanager
def stack_rows(
    parts: Iterable[tuple[Any, npt.NDArray[Any], FloatArray | None]], memory: int = MEMORY
) -> Iterator[tuple[Any, npt.NDArray[Any], FloatArray | None]]:
    """Yield matrices stacked in one, their targets and weights; beyond ``memory`` bytes, in a temporary file.

    Examples
    --------
    >>> parts = [(np.ones((2, 1)), np.zeros(2), None), (np.zeros((1, 1)), np.ones(1), None)]
    >>> with stack_rows(parts) as (matrix, values, _):
    ...     matrix.ravel().tolist(), values.tolist()
    ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    """
    held: list[Any] = []
    values: list[npt.NDArray[Any]] = []
    weights: list[FloatArray] = []
    size = 0
    with ExitStack() as stack:
        file = None
        for matrix, some, their_weights in parts:
            values.append(some)
            weights += [] if their_weights is None else [their_weights]
            held.append(matrix)
            size += 0 if is_sparse(matrix) else matrix.nbytes
            if size > memory:
                file = file or stack.enter_context(tempfile.TemporaryFile(prefix="suffice-"))
                _put(held, file)
        targets, weight = np.concatenate(values), np.concatenate(weights) if weights else None
        if file is not None:
            yield np.memmap(file, dtype=np.float64, mode="r").reshape(len(targets), -1), targets, weight
        elif is_sparse(held[0]):
            import scipy  # slow to import, and few rows need it

            yield scipy.sparse.vstack(held, format="csr"), targets, weight
        else:
            yield np.concatenate(held), targets, weight


def _put(held: list[Any], file: IO[bytes]) -> None:
    """Write matrices to a file, and clear the list."""
    for matrix in held:
        np.ascontiguousarray(matrix).tofile(file)
    held.clear()
