"""Scores and gradient steps, compared with plain loops."""

from __future__ import annotations

import random

import numpy as np
import pytest

from suffice import _native
from suffice.mail import MailFilter
from suffice.mail.features import extract_features
from tests.mail.arithmetic import RATES, Reference
from tests.mail.samples import stream

LABELS = {"ham": 0, "spam": 1, "work": 2}


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


def features(data: bytes) -> tuple[list[str], list[int], list[str], int]:
    extracted = extract_features([data])
    return extracted.tokens(0), extracted.grams(0), extracted.origins(0), extracted.header_grams(0)


def state_of(classes: int, rates: dict[str, float]) -> _native.mail.State:
    state = _native.mail.State(classes)
    for name, value in rates.items():
        state.rate(name, value)
    return state


def some_rates(seed: int) -> dict[str, float]:
    rng = random.Random(seed)
    return {name: value * rng.choice([0.5, 1.0, 1.7]) for name, value in RATES.items()}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_scores_equal_those_of_plain_loops(labels, seed):
    rates = some_rates(seed)
    state, reference = state_of(len(labels), rates), Reference(len(labels), rates=rates)
    for i, (data, label) in enumerate(stream(40, seed, labels)):
        extracted, found = extract_features([data]), features(data)
        np.testing.assert_allclose(state.score(extracted, 0), reference.scores(*found), rtol=1e-6, atol=1e-9)
        steps = 25 if i % 7 == 6 else 1
        state.learn(extracted, 0, LABELS[label], 1.0, 0, steps)
        reference.learn(*found, LABELS[label], steps=steps)
        np.testing.assert_allclose(state.mix, [w for each in reference.mix for w in each], rtol=1e-9)
        if i % 10 == 9:
            state.forget(extracted.hashes(0), LABELS[label], 1.0)
            reference.count(found[0], LABELS[label], -1.0)
    assert state.messages == reference.messages.tolist()


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
@pytest.mark.parametrize("site_labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_shared_filters_add_up_as_in_plain_loops(labels, site_labels):
    site, below = state_of(len(site_labels), RATES), Reference(len(site_labels))
    for data, label in stream(20, 1, site_labels):
        site.learn(extract_features([data]), 0, LABELS[label], 1.0, 0, 1)
        below.learn(*features(data), LABELS[label])
    wide = max(len(labels), len(site_labels))
    state, reference = state_of(wide, RATES), Reference(wide, [below])
    state.lay([site])
    for data, label in stream(20, 2, labels):
        extracted = extract_features([data])
        np.testing.assert_allclose(state.score(extracted, 0), reference.scores(*features(data)), rtol=1e-6, atol=1e-9)
        state.learn(extracted, 0, LABELS[label], 1.0, 0, 1)
        reference.learn(*features(data), LABELS[label])
    assert state.messages[: len(labels)] == reference.messages.tolist()[: len(labels)]


def test_message_weights_equal_those_of_plain_loops():
    state, reference = state_of(2, RATES), Reference(2)
    for i, (data, label) in enumerate(stream(40, 3)):
        extracted = extract_features([data])
        state.now = reference.now = 2.0 ** (i / 10)
        np.testing.assert_allclose(state.score(extracted, 0), reference.scores(*features(data)), rtol=1e-6, atol=1e-9)
        state.learn(extracted, 0, LABELS[label], state.now, 0, 1)
        reference.learn(*features(data), LABELS[label], weight=reference.now)


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_verdicts_equal_those_of_plain_loops(mine, labels):
    pairs = stream(60, 5, labels)
    extracted = extract_features([data for data, _ in pairs])
    state = _native.mail.State(len(labels))
    for data, label in pairs:
        mine.learn(data, label)
    for i, (_, label) in enumerate(pairs):
        state.learn(extracted, i, LABELS[label], 1.0, 0, 1)
    new = [data for data, _ in stream(20, 6, labels)]
    totals = [[score[0] for score in state.score(extract_features([data]), 0)] for data in new]
    for verdict, total in zip(mine.classify_all(new), totals, strict=True):
        assert verdict.log_odds == pytest.approx(total[0 if len(labels) == 2 else 1], rel=1e-9)
    assert [mine.classify(data) for data in new] == mine.classify_all(new, cores=2)
