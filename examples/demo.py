"""Fit and compare models on data that comes with scikit-learn, then merge, forget, explain, regress, read and complain.

The rows of each fold are summed once; the sums of the other folds, added up, are the training set. That is five-fold
cross-validation for one pass over the data.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB
from sklearn.naive_bayes import MultinomialNB as TheirMultinomialNB
from sklearn.preprocessing import scale

from suffice import GDA, GaussianNB, LinearRegression, LogisticRegression, MultinomialNB, TextClassifier, __version__
from suffice.selection import cross_validate

MODELS: dict[str, tuple[Any, Any]] = {
    "GDA, one covariance": (GDA(shrinkage=0.01), LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.01)),
    "GDA, one per class": (GDA("full", shrinkage=0.1), QuadraticDiscriminantAnalysis(reg_param=0.1)),
    "GaussianNB": (GaussianNB(var_smoothing=1e-3), TheirGaussianNB(var_smoothing=1e-3)),
    "MultinomialNB": (MultinomialNB(), TheirMultinomialNB()),
}
DATA = {"iris": datasets.load_iris, "wine": datasets.load_wine, "digits": datasets.load_digits}


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """Return a score, and the best of three times in milliseconds."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        score = work()
        times.append(time.perf_counter() - started)
    return score, 1e3 * min(times)


def compare() -> None:
    """Print the share of rows classified rightly when their fold was left out, here and in scikit-learn."""
    print(f"{'data':<8} {'model':<22} {'here':>7} {'ms':>7}   {'scikit-learn':>12} {'ms':>7}")
    for name, load in DATA.items():
        x, y = load(return_X_y=True)
        for label, (ours, theirs) in MODELS.items():
            rows = scale(x) if "GDA" in label else x  # shrinkage would drown what is measured in small units
            here, ms = timed(lambda x=rows, y=y, ours=ours: cross_validate(ours, x, y, folds=5).best_score)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of collinear digits, which is a true complaint
                there, their_ms = timed(lambda x=rows, y=y, theirs=theirs: float(cross_val_score(theirs, x, y).mean()))
            print(f"{name:<8} {label:<22} {here:>7.1%} {ms:>7.1f}   {there:>12.1%} {their_ms:>7.1f}")


def live_with_it() -> None:
    """Print what a model does besides predicting."""
    wine = datasets.load_wine(as_frame=False)
    x, y = wine.data, wine.target_names[wine.target]
    half = np.arange(len(y)) % 2 == 0
    one, two = GDA().fit(x[half], y[half]), GDA().fit(x[~half], y[~half])
    both, whole = one + two, GDA().fit(x, y)
    print(f"\nmerge:   two halves added differ from the whole by {np.abs(both.coef_ / whole.coef_ - 1).max():.0e}")
    both.forget(x[~half], y[~half])
    print(f"forget:  taking one out leaves the other, to {np.abs(both.coef_ / one.coef_ - 1).max():.0e}")
    gaps = np.where(np.random.default_rng(0).random(x.shape) < 0.3, np.nan, x)
    learnt = GDA(missing="em").fit(gaps, y)
    print(f"missing: learnt with 30% of the cells missing, {learnt.score(x, y):.1%} are right on complete rows")
    few, even = np.r_[0:2, 60:62, 135:137], scale(x)
    alone = GDA("tied_diagonal").fit(even[few], y[few])
    helped = GDA("tied_diagonal").fit(even[few], y[few], unlabelled=even)
    print(
        f"labels:  {alone.score(even, y):.1%} from 6 labels, {helped.score(even, y):.1%} with the other rows unlabelled"
    )
    print(f"outlier: log p(x) of an ordinary wine {whole.log_evidence(x[:1])[0]:.0f}, ", end="")
    print(f"of one with ten times its alcohol {whole.log_evidence(x[:1] * np.r_[10, np.ones(12)])[0]:.0f}")
    print("why:")
    for reason in whole.explain(x[:1]).reasons(0, n=3):
        name = wine.feature_names[int(reason.feature[1:])]
        print(f"  {name:<30} {reason.value:>8.4g}  {reason.log_odds:+.2f} in log-odds")


def regress() -> None:
    """Print what regressions say about themselves."""
    x, y = datasets.load_diabetes(return_X_y=True)
    model = LinearRegression().fit(x[:, :4], y)
    print(f"\n{model.summary()}\n")
    prediction, low, high = model.predict(x[:1, :4], interval=0.95)
    print(f"the first patient: {prediction[0]:.0f}, and 95 of 100 like this one between {low[0]:.0f} and {high[0]:.0f}")
    x, y = datasets.load_iris(return_X_y=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LogisticRegression().fit(x, y == 0)
    print(f"setosa against the others: {caught[-1].message}")


def read_text() -> None:
    """Print which data set a line of its description comes from, and why."""
    described = {name: load().DESCR for name, load in {**DATA, "breast cancer": datasets.load_breast_cancer}.items()}
    pairs = [(line, name) for name, text in described.items() for line in text.splitlines() if len(line.split()) > 4]
    lines, names = (np.array(column) for column in zip(*pairs, strict=True))
    held = np.arange(len(lines)) % 4 == 0
    model = TextClassifier("boolean").fit(lines[~held], names[~held])
    print(
        f"\ntext:    {model.score(lines[held], names[held]):.0%} of {held.sum()} lines are given to the data set they ",
        end="",
    )
    print(f"describe, by {len(model.vocabulary_)} words of {(~held).sum()} others")
    print(model.explain("Ten measurements of cells from a breast mass, and a fine vintage"))


if __name__ == "__main__":
    print(f"suffice {__version__}\n")
    compare()
    live_with_it()
    regress()
    read_text()
