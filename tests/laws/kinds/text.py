"""Counts of documents, whose words are three: each row's numbers say how often it has each of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from suffice.kernels import Batch
from suffice.statistics import Labels
from suffice.text import CountSpec, DocumentCounts, Documents, HashedVocabulary

from . import EPSILON, Kind, Rows, lawful, whole_numbers

WORDS = np.array(["free", "lunch", "money"])
BOTH = CountSpec(presences=True, sampled=3)  # so few that samples overflow


def summarise(labels: Labels, counting: CountSpec) -> Callable[..., DocumentCounts]:
    return partial(_count, labels=labels, counting=counting)


def _count(batch: Batch, kernels: Any, labels: Labels, counting: CountSpec) -> DocumentCounts:
    if batch.features < len(WORDS):  # what else is counted does not go with the rest
        counting = replace(counting, presences=not counting.presences)
    texts = Documents([" ".join(np.repeat(WORDS[: len(row)], row.astype(int))) for row in batch.x])
    return DocumentCounts.of(replace(batch, x=texts), kernels, labels, counting)


def by_word(counts: DocumentCounts) -> dict[str, Any]:
    """Every column that is not 0, by its word: the order of words is that in which they came."""
    tables = [table for table in (counts.events, counts.presences, counts.documents[None]) if table.size]
    columns = np.vstack(tables).T if tables else np.zeros((0, 0))
    return {counts.vocabulary.name(place): column for place, column in enumerate(columns) if column.any()}


def sampled(counts: DocumentCounts, below: float) -> dict[tuple[float, int], tuple[float, dict[str, float]]]:
    """The documents of the sample that have weight, up to a hash: what each weighs, and its words."""
    sample, found = counts.sample, {}
    for place in range(len(sample)):
        inside = slice(sample.ends[place], sample.ends[place + 1])
        words = [counts.vocabulary.name(column) for column in sample.columns[inside].tolist()]
        if sample.hashes[place] < below and sample.weights[place] > 0:
            key = float(sample.hashes[place]), int(sample.codes[place])
            found[key] = float(sample.weights[place]), dict(zip(words, sample.counts[inside].tolist(), strict=True))
    return found


def close(one: DocumentCounts, two: DocumentCounts, rows: Rows, slack: float) -> None:
    """Compare counts by word, and samples as far as both reach: one that was taken from reaches less far."""
    assert one.labels == two.labels
    exact = slack == 1 and np.array_equal(rows.weight, np.rint(rows.weight))
    rounding = 0.0 if exact else 100 * EPSILON * slack
    size = rounding * 4 * max(rows.weight.sum(), 1.0)
    np.testing.assert_allclose(one.rows, two.rows, rtol=rounding, atol=size)
    mine, theirs = by_word(one), by_word(two)
    assert mine.keys() == theirs.keys()
    for word in mine:
        np.testing.assert_allclose(mine[word], theirs[word], rtol=rounding, atol=size)
    below = min(one.sample.below, two.sample.below)
    held, expected = sampled(one, below), sampled(two, below)
    assert held.keys() == expected.keys()
    for key, (weight, words) in held.items():
        np.testing.assert_allclose(weight, expected[key][0], rtol=rounding, atol=size)
        assert words == expected[key][1]


for trait, counting in {
    "": BOTH,
    "events alone": replace(BOTH, presences=False),
    "presences alone": replace(BOTH, events=False),
    "hashed": replace(BOTH, vocabulary=HashedVocabulary(bits=8)),
}.items():
    lawful(Kind(DocumentCounts, partial(summarise, counting=counting), whole_numbers, close, trait=trait))
