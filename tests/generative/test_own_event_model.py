"""A user's own event model in one file: its statistic, and the estimate of p(x | y) from it."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import suffice
from suffice.generative.base import PriorsGiven
from suffice.generative.conditional import Linear
from suffice.statistics import DiagonalMoments
from suffice.store import Stored


class NegativeBinomialNB(PriorsGiven):
    """Naive Bayes over counts whose variance is mean + mean² / theta, theta of each feature estimated by moments."""

    def __init__(self, *, priors: Any = None, temperature: float = 1.0, n_jobs: int | None = None) -> None:
        self.priors = priors
        self.temperature = temperature
        self.n_jobs = n_jobs

    def _summariser(self, labels: Any) -> Any:
        return DiagonalMoments.over(labels, True)

    def _conditional(self, statistics: Any) -> Linear:
        variance = statistics.spread.sum(axis=0) / statistics.weight  # within classes
        mean, _ = statistics.pooled()
        theta = mean**2 / np.maximum(variance - mean, 1e-3 * mean)
        rates = statistics.mean + 1e-3
        partition = theta * np.log1p(rates / theta)
        return Linear(-np.log1p(theta / rates), -partition.sum(axis=1), partition)


del Stored.kinds["NegativeBinomialNB"]  # other tests ask for all models of suffice


def rows(n: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n)
    mean = np.array([[1.0, 4.0, 2.0], [3.0, 2.0, 2.0]])[y]
    return random.negative_binomial(1.5, 1.5 / (1.5 + mean)), np.array(["a", "b"])[y]


def test_its_posterior_is_that_of_scipys_densities() -> None:
    x, y = rows(4000)
    model = NegativeBinomialNB().fit(x, y)
    mean = np.array([x[y == name].mean(axis=0) for name in "ab"]) + 1e-3
    within = sum(((x[y == name] - x[y == name].mean(axis=0)) ** 2).sum(axis=0) for name in "ab") / len(x)
    theta = x.mean(axis=0) ** 2 / (within - x.mean(axis=0))
    np.testing.assert_allclose(theta, 1.5, rtol=0.3)
    prior = [np.mean(y == name) for name in "ab"]
    log_p = [stats.nbinom(theta, theta / (theta + each)).logpmf(x).sum(axis=1) for each in mean]
    odds = log_p[1] - log_p[0] + np.log(prior[1]) - np.log(prior[0])
    found = model.predict_log_proba(x)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], odds, atol=1e-9)


def test_it_streams_merges_forgets_and_is_kept_in_a_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Stored.kinds, "NegativeBinomialNB", NegativeBinomialNB)
    x, y = rows(300)
    whole = NegativeBinomialNB().fit(x, y)
    parts = NegativeBinomialNB().fit((x[at : at + 50], y[at : at + 50]) for at in range(0, 300, 50))
    merged = NegativeBinomialNB().fit(x[:100], y[:100]) + NegativeBinomialNB().fit(x[100:], y[100:])
    more = NegativeBinomialNB().fit(np.r_[x, x[:20]], np.r_[y, y[:20]]).forget(x[:20], y[:20])
    whole.save(tmp_path / "model")
    for other in (parts, merged, more, suffice.load(tmp_path / "model")):
        np.testing.assert_allclose(other.predict_proba(x), whole.predict_proba(x), rtol=1e-9)
    gaps = x.astype(float)
    gaps[:, 2] = np.nan
    assert np.isfinite(whole.predict_proba(gaps)).all()
