"""Progress of fits: the ``suffice`` logger, ``verbose=True``, and callbacks of :func:`progress`."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

LOGGER = logging.getLogger("suffice")


class Progress(NamedTuple):
    """State of a fit after a pass.

    Examples
    --------
    >>> print(Progress("LogisticRegression", 3.0, 60_000, 0.5, 2711.25, 1e-5))
    LogisticRegression: pass 3, 60,000 rows, 0.5 s, value 2711.25, gradient 1e-05
    """

    estimator: str  #: the class of the model that is fitted; empty for a solver without an estimator
    passes: float  #: passes over the rows so far, counted from the start of the solver; a part counts as its share
    rows: int  #: rows of this pass: fewer than all where a solver starts from a sample
    seconds: float  #: since the fit started
    value: float
    """The objective: the negative penalised log-likelihood, without constant terms; of least squares J. For
    ``Perceptron`` the mistakes of the epoch, for ``NBLogisticRegression`` the duality gap, after the first reading of a
    stream NaN."""
    gradient_norm: float = math.nan  #: the largest entry of the gradient, divided by the weight of the rows

    def __str__(self) -> str:
        name = f"{self.estimator}: " if self.estimator else ""
        if math.isnan(self.value):
            return f"{name}{self.rows:,} rows read, {self.seconds:.3g} s"
        gradient = "" if math.isnan(self.gradient_norm) else f", gradient {self.gradient_norm:.2g}"
        return (
            f"{name}pass {self.passes:.4g}, {self.rows:,} rows, {self.seconds:.3g} s, value {self.value:.10g}{gradient}"
        )


class Fit(NamedTuple):
    """A fit whose passes are reported."""

    estimator: str  # the class of the model
    started: float  # time.perf_counter()
    verbose: bool  # whether passes are printed to stderr


CURRENT_FIT: ContextVar[Fit | None] = ContextVar("fit", default=None)
_CALLBACKS: ContextVar[tuple[Callable[[Progress], object], ...]] = ContextVar("callbacks", default=())


@contextmanager
def progress(callback: Callable[[Progress], object]) -> Iterator[None]:
    """Call a function after each pass of every fit inside a ``with`` statement, also in pipelines and searches.

    An exception of the callback stops the fit, and leaves the model unchanged.

    Parameters
    ----------
    callback
        A function of a :class:`Progress`. It is called in the thread of the ``with`` statement, and not in other
        threads or processes that the program starts inside.

    Examples
    --------
    >>> from suffice import LogisticRegression
    >>> values = []
    >>> with progress(lambda now: values.append(round(now.value, 3))):
    ...     model = LogisticRegression(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> values
    [2.773, 1.854, 1.849, 1.849, 1.849]
    """
    token = _CALLBACKS.set((*_CALLBACKS.get(), callback))
    try:
        yield
    finally:
        _CALLBACKS.reset(token)


@contextmanager
def fitting(estimator: str, verbose: bool) -> Iterator[None]:
    """Set the estimator whose progress is reported inside; with ``verbose``, print it to stderr as well."""
    token = CURRENT_FIT.set(Fit(estimator, time.perf_counter(), verbose))
    try:
        yield
    finally:
        CURRENT_FIT.reset(token)


def since_start() -> float:
    """Return the time since the current fit started; 0 where there is none."""
    fit = CURRENT_FIT.get()
    return 0.0 if fit is None else time.perf_counter() - fit.started


def is_reported() -> bool:
    """Whether a report of a pass reaches the logger, a callback or, if the estimator is verbose, stderr."""
    fit = CURRENT_FIT.get()
    return LOGGER.isEnabledFor(logging.INFO) or bool(_CALLBACKS.get()) or (fit is not None and fit.verbose)


def report(passes: float, rows: int, value: float, gradient_norm: float = math.nan, seconds: float = 0.0) -> None:
    """Report a pass to the logger, the callbacks and, if the estimator is verbose, to stderr.

    Parameters
    ----------
    seconds
        The time since the start of a solver without an estimator.
    """
    if not is_reported():
        return
    fit, callbacks, logs = CURRENT_FIT.get(), _CALLBACKS.get(), LOGGER.isEnabledFor(logging.INFO)
    name, spent = ("", seconds) if fit is None else (fit.estimator, since_start())
    now = Progress(name, passes, rows, spent, value, gradient_norm)
    if logs:
        LOGGER.info("%s", now, extra={"progress": now})
    if fit is not None and fit.verbose:
        sys.stderr.write(f"{now}\n")
        sys.stderr.flush()
    for callback in callbacks:
        callback(now)
