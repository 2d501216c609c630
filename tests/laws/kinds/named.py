from collections.abc import Callable
from typing import Any

from suffice.statistics import Labels, NamedCategoryCounts, VocabularyCounts, WordCounts

from . import Kind, Rows, close_counts, lawful, whole_numbers

CATEGORIES = Labels.of([True, 2, 2.5, "blue", "red"]), Labels.of(range(6)), Labels.of("abcdefg")
WORDS = Labels.of(["buy"]), Labels.of(["buy", "now"])  # of three columns: two features side by side


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    assert one.vocabularies == two.vocabularies
    close_counts(one, two, rows, slack)


def categories(labels: Labels) -> Callable[..., VocabularyCounts]:
    return lambda batch, kernels: NamedCategoryCounts.of(batch, kernels, labels, CATEGORIES[: batch.features])


def words(labels: Labels) -> Callable[..., VocabularyCounts]:
    return lambda batch, kernels: WordCounts.of(batch, kernels, labels, WORDS if batch.features == 3 else WORDS[1:])


lawful(Kind(NamedCategoryCounts, categories, whole_numbers, close))
lawful(Kind(WordCounts, words, whole_numbers, close))
