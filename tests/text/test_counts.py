"""DocumentCounts, compared with counting word by word in Python."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import load, save

from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import Labels, NegativeEvidenceError
from suffice.text import CountSpec, DocumentCounts, Documents, Features, HashedVocabulary, Vocabulary
from suffice.text.sample import HASH_LIMIT

CLASSES = Labels.of(["ham", "spam", "work"])


class Letter(NamedTuple):
    text: str
    code: int
    weight: float


def count(letters: list[Letter], threads: int = 1, labels: Labels = CLASSES, **counting: Any) -> DocumentCounts:
    """Return the counts of some documents, events and presences unless said otherwise."""
    lower = counting.get("features", Features()).lowers
    batch = Batch(
        Documents([letter.text for letter in letters], lower),
        np.array([letter.code for letter in letters], dtype=np.int64),
        np.array([letter.weight for letter in letters], dtype=np.float64),
    )
    what = CountSpec(**{"presences": True, **counting})
    return ThreadEngine(threads).accumulate(DocumentCounts.over(labels, what), batch)


class Expected(NamedTuple):
    rows: dict[int, float]
    events: dict[tuple[int, str], float]
    presences: dict[tuple[int, str], float]
    documents: dict[str, float]


def by_hand(letters: list[Letter]) -> Expected:
    rows, events, presences, documents = (defaultdict(float) for _ in range(4))
    for letter in letters:
        rows[letter.code] += letter.weight
        for word, times in Counter(re.findall(r"\w\w+", letter.text.lower())).items():
            events[letter.code, word] += letter.weight * times
            presences[letter.code, word] += letter.weight
            documents[word] += letter.weight
    return Expected(
        *({key: value for key, value in table.items() if value} for table in (rows, events, presences, documents))
    )


def by_word(counts: DocumentCounts) -> Expected:
    names = counts.vocabulary.names() if len(counts.documents) else []

    def table(values: Any) -> dict[tuple[int, str], float]:
        return {
            (code, word): float(value)
            for code, row in enumerate(values)
            for word, value in zip(names, row, strict=bool(values.size))
            if value
        }

    documents = {word: float(value) for word, value in zip(names, counts.documents, strict=True) if value}
    rows = {code: float(value) for code, value in enumerate(counts.rows) if value}
    return Expected(rows, table(counts.events), table(counts.presences), documents)


Held = dict[tuple[float, int], tuple[float, dict[str, float]]]


def held(counts: DocumentCounts) -> Held:
    """What the sample holds: the weight and the words of each document, by hash and class."""
    sample = counts.sample
    names = counts.vocabulary.names()
    found: Held = {}
    for place, row in enumerate(sample.rows(len(counts.vocabulary))):
        words = dict(zip(names[row.indices].tolist(), row.data.tolist(), strict=True))
        found[float(sample.hashes[place]), int(sample.codes[place])] = float(sample.weights[place]), words
    assert len(found) == len(sample)
    assert list(found) == sorted(found)
    return found


words = st.sampled_from(["free", "money", "lunch", "noon", "Free", "café", "ΟΔΟΣ", "a", "x1", "中文", "free", "money"])
letters = st.builds(
    Letter,
    st.lists(words, max_size=6).map(" ".join),
    st.integers(0, 2),
    st.sampled_from([1.0, 1.0, 2.0, 0.5, 3.0]),
)
some_letters = st.lists(letters, max_size=10)


@given(some=some_letters)
def test_counts_are_those_of_python(some: list[Letter]):
    counts = count(some)
    assert by_word(counts) == by_hand(some)
    assert counts.weight == sum(letter.weight for letter in some)
    assert len(counts.vocabulary) == len(counts.documents)


@given(some=some_letters)
def test_only_what_is_asked_for_is_counted(some: list[Letter]):
    expected = by_hand(some)
    for events, presences in ((True, False), (False, True), (False, False)):
        counts = count(some, events=events, presences=presences)
        assert by_word(counts) == expected._replace(
            events=expected.events if events else {}, presences=expected.presences if presences else {}
        )
        assert counts.events.shape[1] == (len(counts.documents) if events else 0)
        assert counts.presences.shape[1] == (len(counts.documents) if presences else 0)


def test_without_weights_and_classes_every_document_counts_once():
    batch = Batch(Documents(["free money", "money, money!"]))
    counts = ThreadEngine(1).accumulate(DocumentCounts.over(), batch)
    assert by_word(counts).events == {(0, "free"): 1, (0, "money"): 3}
    assert counts.documents.tolist() == [1, 2]


@given(
    some=some_letters,
    features=st.sampled_from([Features(runs=(1, 2)), Features("characters", (2, 3)), Features("bytes")]),
)
def test_other_features(some: list[Letter], features: Features):
    expected: Counter[str] = Counter()
    for letter in some:
        for feature in features.of(letter.text):
            expected[feature] += letter.weight
    counts = count(some, features=features)
    found = dict(zip(counts.vocabulary, counts.events.sum(axis=0), strict=True))
    assert found == pytest.approx(expected)


@given(some=some_letters, cuts=st.lists(st.integers(0, 10), max_size=3))
def test_parts_add_up(some: list[Letter], cuts: list[int]):
    bounds = [0, *sorted(min(cut, len(some)) for cut in cuts), len(some)]
    parts = [count(some[start:stop], sampled=4) for start, stop in pairwise(bounds)]
    whole = count(some, sampled=4)
    for total in (sum(parts), sum(reversed(parts))):
        assert by_word(total) == by_word(whole)
        assert held(total) == held(whole)
        assert total.sample.below == whole.sample.below
        assert set(total.vocabulary) == set(whole.vocabulary)


@given(kept=some_letters, gone=some_letters)
def test_what_is_forgotten_leaves_what_the_others_give(kept: list[Letter], gone: list[Letter]):
    left = count(kept + gone) - count(gone)
    expected = count(kept)
    assert by_word(left) == by_word(expected)
    assert set(left.vocabulary) == set(expected.vocabulary)
    assert held(left) == held(expected)
    assert by_word(left + count(gone)) == by_word(count(kept + gone))


@given(kept=some_letters, gone=some_letters, size=st.integers(1, 4))
def test_a_sample_that_was_taken_from_holds_all_that_it_reaches(kept: list[Letter], gone: list[Letter], size: int):
    left = count(kept + gone, sampled=size) - count(gone, sampled=size)
    everything = held(count(kept, sampled=100))
    assert held(left) == {key: value for key, value in everything.items() if key[0] < left.sample.below}


def corpus(n: int = 1500, seed: int = 0) -> list[Letter]:
    """Documents enough for several threads, some of them alike."""
    rng = np.random.default_rng(seed)
    drawn = [
        Letter(
            " ".join(f"w{word}" for word in rng.zipf(1.4, size) % 900), int(rng.integers(3)), float(rng.integers(1, 4))
        )
        for size in rng.integers(1, 100, n)
    ]
    return [*drawn, *drawn[:100], *(Letter("free money", code, 1.0) for code in (0, 1, 1))]


@pytest.mark.parametrize("seed", [0, 1])
def test_threads_batches_and_order_do_not_matter(seed: int):
    some = corpus(seed=seed)
    assert sum(len(letter.text) for letter in some) > 1 << 18  # or one thread would read it all
    alone = count(some, sampled=50)
    assert by_word(alone) == by_hand(some)
    order = np.random.default_rng(seed).permutation(len(some))
    shuffled = [some[place] for place in order]
    parts = [count(some[start : start + 160], sampled=50) for start in range(0, len(some), 160)]
    for other in (count(some, threads=3, sampled=50), count(shuffled, threads=2, sampled=50), sum(parts)):
        assert by_word(other) == by_word(alone)
        assert set(other.vocabulary) == set(alone.vocabulary)
        assert held(other) == held(alone)
        assert other.sample.below == alone.sample.below


def test_the_sample_holds_the_lowest_hashes():
    some = corpus()
    everything = held(count(some, sampled=10_000))
    distinct = {(tuple(re.findall(r"\w\w+", letter.text)), letter.code) for letter in some}
    assert len(everything) == len({key for key in distinct if key[0]})
    for size in (0, 1, 10, 100):
        counts = count(some, sampled=size)
        assert len(counts.sample) <= size
        assert held(counts) == dict(list(everything.items())[: len(counts.sample)])
        if size:
            assert counts.sample.below == list(everything)[len(counts.sample)][0]
    assert count(some, sampled=10_000).sample.below == HASH_LIMIT


def test_documents_that_are_alike_are_one():
    some = [
        Letter("free money", 0, 1.0),
        Letter("FREE, money!", 0, 2.0),
        Letter("free money", 1, 5.0),
        Letter("", 0, 1.0),
    ]
    counts = count(some)
    assert sorted(weight for weight, _ in held(counts).values()) == [3.0, 5.0]
    assert len({hashed for hashed, _ in held(counts)}) == 1
    assert held(count(some[:1]) + count(some[1:])) == held(counts)
    assert held(counts - count(some[1:2]))[next(iter(held(counts)))] == (1.0, {"free": 1.0, "money": 1.0})


def test_hashes_of_documents_depend_on_their_features_alone():
    """They are in files: what is added to a sample that was stored is found in it."""
    hashes = {"free money": 2882765584590049, "money free": 8389492006587042, "free free": 864731895155235}
    for text, hashed in hashes.items():
        for same in (text, f"  {text.upper()}! a", text.replace(" ", " -- ")):
            for counts in (count([Letter(same, 2, 3.0)]), count([Letter("lunch money", 0, 1.0), Letter(same, 1, 1.0)])):
                assert hashed in counts.sample.hashes


def test_what_was_never_there_is_named():
    whole = count([Letter("free money", 0, 1.0), Letter("lunch", 0, 1.0)])
    with pytest.raises(NegativeEvidenceError, match=r"documents with 'noon' would be 0 - 1 < 0.*never in the sum"):
        whole - count([Letter("free noon", 0, 1.0)])
    with pytest.raises(NegativeEvidenceError, match=r"never in the sum"):
        whole - count([Letter("lunch", 1, 1.0)])
    with pytest.raises(NegativeEvidenceError, match="a document to be removed was never in the sum"):
        count([Letter("free money", 0, 1.0), Letter("money", 0, 1.0)]) - count([Letter("money free", 0, 1.0)])
    assert by_word(whole) == by_hand([Letter("free money", 0, 1.0), Letter("lunch", 0, 1.0)])


def test_a_word_of_the_wrong_class_is_named():
    whole = count([Letter("free money", 0, 1.0), Letter("lunch", 1, 1.0), Letter("noon", 1, 1.0)])
    with pytest.raises(NegativeEvidenceError, match=r"'free'"):
        whole - count([Letter("free money", 1, 1.0)])


def test_what_was_counted_otherwise_does_not_go_together():
    some = [Letter("free money", 0, 1.0)]
    with pytest.raises(ValueError, match="over a hashed vocabulary cannot be subtracted from counts of exact words"):
        count(some) - count(some, vocabulary=HashedVocabulary(8))
    with pytest.raises(ValueError, match="of 8 and of 9 bits cannot be merged"):
        count(some, vocabulary=HashedVocabulary(8)) + count(some, vocabulary=HashedVocabulary(9))
    with pytest.raises(ValueError, match="only one of the two has counted presences"):
        count(some) + count(some, presences=False)
    with pytest.raises(ValueError, match="only one of the two has counted events"):
        count(some) - count(some, events=False)


def test_exact_words_fall_into_the_slots_of_others():
    one, two = [Letter("free money", 0, 1.0)], [Letter("lunch money", 1, 2.0), Letter("noon", 0, 1.0)]
    slots = {"vocabulary": HashedVocabulary(8)}
    expected = count(one, **slots) + count(two, **slots)
    for mixed in (count(one) + count(two, **slots), count(one, **slots) + count(two)):
        for name in ("rows", "events", "presences", "documents"):
            np.testing.assert_array_equal(getattr(mixed, name), getattr(expected, name))
        assert mixed.sample == expected.sample
    left = expected - count(one)
    np.testing.assert_array_equal(left.events, count(two, **slots).events)


SETTINGS: dict[str, dict[str, Any]] = {
    "any words": {},
    "fixed words": {"vocabulary": Vocabulary(["money", "noon"])},
    "slots": {"vocabulary": HashedVocabulary(4)},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("counted", ["events", "presences"])
def test_documents_without_words_go_with_all_others(settings: dict[str, Any], counted: str):
    settings = {"events": False, "presences": False, counted: True, **settings}
    some, none = [Letter("free money", 0, 1.0)], [Letter("", 1, 2.0)]
    expected = count(some + none, **settings)
    for total in (count(some, **settings) + count(none, **settings), count(none, **settings) + count(some, **settings)):
        assert by_word(total) == by_word(expected)
    assert by_word(expected - count(none, **settings)) == by_word(count(some, **settings))


@given(some=some_letters, bits=st.integers(1, 12))
def test_hashed_counts_are_exact_ones_folded_by_slots(some: list[Letter], bits: int):
    exact, hashed = count(some), count(some, vocabulary=HashedVocabulary(bits))
    slots = HashedVocabulary(bits).columns_of(exact.vocabulary)
    assert hashed.events.shape == hashed.presences.shape == (3, 1 << bits)
    for name in ("events", "presences", "documents"):
        expected = np.zeros_like(getattr(hashed, name))
        for place, slot in enumerate(slots):
            expected[..., slot] += getattr(exact, name)[..., place]
        np.testing.assert_allclose(getattr(hashed, name), expected, rtol=1e-15)
    np.testing.assert_array_equal(hashed.sample.hashes, exact.sample.hashes)
    folded = np.zeros((len(exact.sample), 1 << bits))
    for place, slot in enumerate(slots):
        folded[:, slot] += exact.sample.rows(len(exact.vocabulary)).toarray()[:, place]
    np.testing.assert_array_equal(hashed.sample.rows(1 << bits).toarray(), folded)


@given(some=some_letters, others=some_letters)
def test_hashed_counts_add_and_forget(some: list[Letter], others: list[Letter]):
    slots = {"vocabulary": HashedVocabulary(10)}
    whole = count(some + others, **slots)
    for total in (count(some, **slots) + count(others, **slots), whole):
        np.testing.assert_allclose(total.events, whole.events)
        np.testing.assert_allclose((total - count(others, **slots)).events, count(some, **slots).events, atol=1e-12)


FIXED = ["money", "free", "absent", "οδος"]


@given(some=some_letters)
def test_a_fixed_vocabulary_counts_its_words_alone(some: list[Letter]):
    counts = count(some, vocabulary=Vocabulary(FIXED))
    assert list(counts.vocabulary) == FIXED
    expected = by_hand(some)
    assert by_word(counts) == Expected(
        expected.rows,
        {(code, word): value for (code, word), value in expected.events.items() if word in FIXED},
        {(code, word): value for (code, word), value in expected.presences.items() if word in FIXED},
        {word: value for word, value in expected.documents.items() if word in FIXED},
    )
    whole = count(some)
    for key, (weight, in_document) in held(counts).items():
        original = held(whole)[key]
        assert weight == original[0]
        assert in_document == {word: value for word, value in original[1].items() if word in FIXED}
    halves = count(some[::2], vocabulary=Vocabulary(FIXED)) + count(some[1::2], vocabulary=Vocabulary(FIXED))
    assert by_word(halves) == by_word(counts)
    assert list(halves.vocabulary) == FIXED


@given(some=some_letters, data=st.data())
def test_some_words_of_all(some: list[Letter], data: st.DataObject):
    counts = count(some)
    width = len(counts.vocabulary)
    places = np.array(data.draw(st.permutations(range(width)))[: data.draw(st.integers(0, width))], dtype=int)
    taken = counts.take_columns(places)
    names = counts.vocabulary.names()[places].tolist() if width else []
    assert list(taken.vocabulary) == names
    assert by_word(taken).events == {key: value for key, value in by_word(counts).events.items() if key[1] in names}
    for key, (weight, in_document) in held(counts).items():
        assert held(taken)[key] == (weight, {word: value for word, value in in_document.items() if word in names})


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@given(some=some_letters)
def test_counts_survive_a_round_trip_through_arrays(settings: dict[str, Any], some: list[Letter]):
    counts = count(some, **settings)
    again = DocumentCounts.from_arrays({name: array.copy() for name, array in counts.to_arrays().items()})
    assert type(again.vocabulary) is type(counts.vocabulary)
    assert by_word(again) == by_word(counts)
    assert held(again) == held(counts)
    assert again.vocabulary.names().tolist() == counts.vocabulary.names().tolist()


def test_files_hold_counts_that_words_were_taken_from():
    some = [Letter("free money noon", 0, 1.0), Letter("noon lunch", 1, 1.0)]
    for counts in (
        count(some, vocabulary=Vocabulary(["money", "noon"])),
        count(some) - count(some[1:]),
        count(some).take_columns(np.array([2, 0])),
    ):
        assert by_word(DocumentCounts.from_arrays(load(save(counts.to_arrays())))) == by_word(counts)


def test_a_sample_of_no_documents_goes_with_larger_ones():
    one, two = [Letter("free money", 0, 1.0)], [Letter("lunch", 0, 1.0)]
    total = count(one, sampled=0) + count(two, sampled=5)
    assert held(total) == {key: value for key, value in held(count(one + two)).items() if key[0] < total.sample.below}
    left = count(one + two, sampled=5) - count(one, sampled=0)
    assert held(left) == {key: value for key, value in held(count(two)).items() if key[0] < left.sample.below}
    assert by_word(count(one + two, sampled=0) - count(one, sampled=5)) == by_word(count(two))


def test_a_document_without_weight_is_not_in_the_sample():
    assert len(count([Letter("free money", 0, 0.0)]).sample) == 0
    heavy = [Letter(f"w{place}", 0, 1.0) for place in range(50)]
    light = [Letter(f"v{place}", 0, 0.0) for place in range(50)]
    assert held(count(heavy + light, sampled=20)) == held(count(heavy, sampled=20))


@pytest.mark.parametrize("code", [-1, 3])
def test_codes_of_no_class_are_refused(code: int):
    with pytest.raises(IndexError, match="a code is of no class"):
        count([Letter("free", code, 1.0)])


def test_arrays_that_are_no_counts_are_named():
    counts = count([Letter("free money", 0, 1.0), Letter("see you", 1, 1.0)])
    arrays = counts.to_arrays()
    assert DocumentCounts.from_arrays(arrays) == counts
    for wrong in ({}, {**arrays, "vocabulary": np.frombuffer(b'"nonsense"', dtype=np.uint8)}):
        with pytest.raises(ValueError, match="DocumentCounts is stored with an array 'vocabulary', one of"):
            DocumentCounts.from_arrays(wrong)
    with pytest.raises(ValueError, match=r"the vocabulary has 3 columns and documents has 4 entries"):
        replace(counts, vocabulary=Vocabulary(["a", "b", "c"]))
    assert counts.sample != 3


def test_a_sample_of_no_class_or_no_column_is_refused():
    counts = count([Letter("free money", 0, 1.0), Letter("see you", 1, 1.0)])
    with pytest.raises(ValueError, match="the sample has a class code that is out of range"):
        replace(counts, sample=replace(counts.sample, codes=counts.sample.codes + 9))
    with pytest.raises(ValueError, match="the sample has a column that is out of range"):
        replace(counts, sample=replace(counts.sample, columns=counts.sample.columns + 9))
