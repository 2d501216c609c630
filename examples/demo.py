"""Fit and compare models on data that comes with scikit-learn.

Every model is two lines: what to sum over the rows, and how to read the sum. The rows of each fold are summed once; the
sums of the other folds, added up, are the training set. That is five-fold cross-validation for one pass over the data.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn import datasets
from sklearn.base import ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from suffice import __version__
from suffice.engines import Batch, ThreadEngine
from suffice.families import Gaussian, MultivariateGaussian, Response
from suffice.families.priors import ridge
from suffice.statistics import Curvature, DiagonalMoments, FullMoments, Labels, Statistics, TiedMoments

Array = npt.NDArray[np.float64]
Scorer = Callable[[Array], Array]  # rows, (n, d), to one log-score per class, (n, k)
ENGINE = ThreadEngine()
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def naive_bayes(sums: DiagonalMoments) -> Scorer:
    """Read Gaussian naive Bayes from the means and variances of each class."""
    each = Gaussian.estimate(sums, alpha=0.1)
    return lambda x: each.log_prob(x[:, None, :]).sum(axis=-1) + np.log(sums.weights)


def discriminant(sums: TiedMoments | FullMoments) -> Scorer:
    """Read Gaussian discriminant analysis from the means and scatter: linear where the scatter is tied."""
    each = MultivariateGaussian.estimate(sums, shrinkage="oas")
    return lambda x: each.log_prob(x[:, None, :]) + np.log(sums.weights)


GENERATIVE: dict[str, tuple[type[Statistics], Callable[..., Scorer], ClassifierMixin]] = {
    "naive Bayes": (DiagonalMoments, naive_bayes, GaussianNB()),
    "discriminant, tied": (TiedMoments, discriminant, LinearDiscriminantAnalysis()),
    "discriminant, full": (FullMoments, discriminant, QuadraticDiscriminantAnalysis(reg_param=0.1)),
}


def one_pass(what: type[Statistics], read: Callable[..., Scorer], x: Array, y: npt.NDArray[np.int64]) -> float:
    """Return the share of rows classified rightly when their fold was left out."""
    labels, folds = Labels.of(y), list(FOLDS.split(x, y))
    sums = [ENGINE.accumulate(what.over(labels), Batch(x[held], y[held])) for _, held in folds]
    right = 0
    for out, (_, held) in enumerate(folds):
        scores = read(sum(part for fold, part in enumerate(sums) if fold != out))(x[held])
        right += int((scores.argmax(axis=1) == y[held]).sum())
    return right / len(y)


def logistic(x: Array, y: npt.NDArray[np.int64]) -> Scorer:
    """Fit softmax regression by Newton's method: one sum over the rows per step."""
    response, classes, width = Response.of("multinomial"), int(y.max()) + 1, x.shape[1] + 1
    theta = np.zeros((width, classes - 1))
    strength = np.where(np.arange(width) == 0, 0.0, 1.0)[:, None]  # the intercept goes free
    for _ in range(30):
        likelihood = ENGINE.accumulate(Curvature.over(response, theta), Batch(x, y))
        penalty = ridge(theta, strength)
        slope = likelihood.gradient - penalty.gradient
        step = np.linalg.solve(likelihood.hessian + np.diag(penalty.curvature.T.ravel()), slope.T.ravel())
        theta = theta + step.reshape(theta.shape[::-1]).T
        if np.abs(slope).max() < 1e-6:
            break
    return lambda x: np.column_stack([theta[0] + x @ theta[1:], np.zeros(len(x))])


def by_refitting(x: Array, y: npt.NDArray[np.int64]) -> float:
    """Return the accuracy of softmax regression, fitted anew for each fold."""
    right = 0
    for kept, held in FOLDS.split(x, y):
        scores = logistic(x[kept], y[kept])(x[held])
        right += int((softmax(scores, axis=1).argmax(axis=1) == y[held]).sum())
    return right / len(y)


@dataclass
class Row:
    """One line of the table."""

    data: str
    model: str
    ours: float
    seconds: float
    theirs: float
    their_seconds: float


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """Return what the work returns, and the seconds it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def compare(name: str, x: Array, y: npt.NDArray[np.int64]) -> list[Row]:
    """Return one line per model."""
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
    rows = []
    for model, (what, read, rival) in GENERATIVE.items():
        ours = timed(lambda what=what, read=read: one_pass(what, read, x, y))
        theirs = timed(lambda rival=rival: cross_val_score(rival, x, y, cv=FOLDS).mean())
        rows.append(Row(name, model, *ours, *theirs))
    theirs = timed(lambda: cross_val_score(LogisticRegression(max_iter=1000), x, y, cv=FOLDS).mean())
    rows.append(Row(name, "logistic", *timed(lambda: by_refitting(x, y)), *theirs))
    return rows


def main() -> None:
    """Print the table and what to try next."""
    print(f"suffice {__version__}: five-fold accuracy, beside scikit-learn on the same folds\n")
    print(f"{'data':<16}{'model':<22}{'suffice':>9}{'seconds':>10}{'scikit-learn':>15}{'seconds':>10}")
    for name in ("iris", "wine", "breast_cancer", "digits"):
        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        for row in compare(name, x, y):
            line = f"{row.data:<16}{row.model:<22}{row.ours:>9.3f}{row.seconds:>10.3f}"
            print(f"{line}{row.theirs:>15.3f}{row.their_seconds:>10.3f}", flush=True)
    print("\nTry next:")
    print("  examples/demo.py      how each model above is a sum and a reading of it")
    print("  make test             prove the laws those sums obey")
    print("  make bench            measure them against other libraries and this machine's limits")
    print("  docs/architecture.md  the house they live in")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's remarks on collinear digits
        main()
