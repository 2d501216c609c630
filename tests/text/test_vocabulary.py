"""Vocabularies: every word has its column, two become one, and nothing is lost on the way to a file and back."""

from __future__ import annotations

import pickle
import random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import load, save

import suffice
from suffice.store import StoreError
from suffice.text import HashedVocabulary, Vocabulary
from suffice.text.vocabulary import resolve_vocabulary

word = st.text(st.characters(exclude_categories=()), max_size=12) | st.text("abé中\ud800\x00", max_size=20)
words = st.lists(word, unique=True, max_size=20)


@given(one=words, two=words)
def test_a_union_has_the_words_of_both_and_says_where(one: list[str], two: list[str]):
    mine, theirs = Vocabulary(one), Vocabulary(two)
    united = mine.union(theirs)
    assert list(united.vocabulary) == [*one, *(word for word in two if word not in one)]
    assert [united.vocabulary.name(place) for place in united.left] == one
    assert [united.vocabulary.name(place) for place in united.right] == two
    assert list(mine) == one  # what was united stays as it was
    assert list(theirs) == two
    assert set(theirs.union(mine).vocabulary) == set(united.vocabulary)
    assert mine.union(mine).vocabulary == mine
    assert united.vocabulary.union(theirs).vocabulary == united.vocabulary
    assert mine.union(Vocabulary()).vocabulary == Vocabulary().union(mine).vocabulary == mine


@given(one=words, two=words, three=words)
def test_unions_are_associative(one: list[str], two: list[str], three: list[str]):
    a, b, c = map(Vocabulary, (one, two, three))
    assert a.union(b).vocabulary.union(c).vocabulary == a.union(b.union(c).vocabulary).vocabulary


@given(some=words, others=words)
def test_words_are_found_and_others_are_not(some: list[str], others: list[str]):
    vocabulary = Vocabulary(some)
    assert len(vocabulary) == len(some)
    assert list(vocabulary) == vocabulary.names().tolist() == some
    asked = [*others, *some, *others]
    assert vocabulary.columns_of(asked) == [some.index(word) if word in some else -1 for word in asked]
    for word in (*some, *others):
        assert (word in vocabulary) == (word in some)
    assert b"ab" not in vocabulary
    assert 3 not in vocabulary


@given(some=words, data=st.data())
def test_some_of_the_words_in_any_order(some: list[str], data: st.DataObject):
    places = data.draw(st.lists(st.sampled_from(range(len(some))), unique=True)) if some else []
    taken = Vocabulary(some).take(places)
    assert list(taken) == [some[place] for place in places]
    assert taken.columns_of(some) == [places.index(i) if i in places else -1 for i in range(len(some))]


def test_words_that_are_not_there_cannot_be_taken():
    for places in ([2], [-1], [0, 9]):
        with pytest.raises(IndexError, match="no word has this place"):
            Vocabulary(["free", "money"]).take(places)
    for place in (2, -1):
        with pytest.raises(IndexError, match="no word has this place"):
            Vocabulary(["free", "money"]).name(place)


@given(some=words)
def test_the_order_of_words_is_that_of_python(some: list[str]):
    assert [some[place] for place in Vocabulary(some).sorted()] == sorted(some)


def test_the_order_of_words_that_begin_alike():
    some = [
        "a" * size + tail for size in range(20) for tail in ("", "b", "\x00", "é", "\uffff", "\U00010000", "\ud800")
    ]
    some = list(dict.fromkeys(reversed(some)))
    assert [some[place] for place in Vocabulary(some).sorted()] == sorted(some)


@given(one=words, two=words)
def test_equality_is_of_words_in_their_order(one: list[str], two: list[str]):
    assert Vocabulary(one) == Vocabulary(list(one))
    assert (Vocabulary(one) == Vocabulary(two)) == (one == two)
    assert Vocabulary(one) != one
    with pytest.raises(TypeError, match="unhashable"):
        hash(Vocabulary(one))


def test_words_with_the_same_letters_are_not_equal():
    assert Vocabulary(["ab", "c"]) != Vocabulary(["a", "bc"])
    assert Vocabulary([""]) != Vocabulary()
    assert Vocabulary(["a", ""]) != Vocabulary(["", "a"])


@given(some=words)
def test_a_vocabulary_survives_a_round_trip_through_arrays(some: list[str]):
    vocabulary = Vocabulary(some)
    for again in (pickle.loads(pickle.dumps(vocabulary)), Vocabulary.from_arrays(load(save(vocabulary.to_arrays())))):
        assert again == vocabulary
        assert list(again) == some
        assert again.columns_of(some) == list(range(len(some)))


@pytest.mark.parametrize(
    "arrays",
    [
        {"text": b"ab", "ends": [1, 3]},  # past the end
        {"text": b"ab", "ends": [2, 1]},  # falling
        {"text": b"ab", "ends": [1]},  # not to the end
        {"text": b"aa", "ends": [1, 2]},  # twice
        {"text": b"ab", "ends": [-1, 2]},
    ],
    ids=repr,
)
def test_arrays_that_hold_no_words_are_refused(arrays: dict[str, Any]):
    with pytest.raises(ValueError, match=r"ends of words must rise|every word once|goes on after the last word"):
        Vocabulary.from_arrays({"text": np.frombuffer(arrays["text"], np.uint8), "ends": np.array(arrays["ends"])})


def test_words_come_once_and_are_text():
    with pytest.raises(ValueError, match="must be distinct; 'money' occurs twice"):
        Vocabulary(["free", "money", "lunch", "money"])
    with pytest.raises(ValueError, match="must be distinct; '' occurs twice"):
        Vocabulary(["", ""])
    with pytest.raises(TypeError, match=r"words\[1\] is b'money' of type bytes"):
        Vocabulary(["free", b"money"])
    with pytest.raises(TypeError, match=r"words\[0\] is None of type NoneType"):
        Vocabulary([None])


def test_a_hundred_thousand_words():
    """So many that they meet in the table: all are found again, and none that is not there."""
    draw = random.Random(1)
    drawn = ("".join(draw.choices("abcdefghijklmnopqrstuvwxyzé", k=1 + place % 15)) for place in range(130_000))
    distinct = list(dict.fromkeys(drawn))
    kept, absent = distinct[:100_000], distinct[100_000:]
    vocabulary = Vocabulary(kept)
    assert vocabulary.columns_of(kept) == list(range(len(kept)))
    assert set(vocabulary.columns_of(absent)) == {-1}
    assert list(vocabulary) == kept
    half = Vocabulary(kept[::2])
    united = half.union(Vocabulary(kept[::-1]))
    assert len(united.vocabulary) == len(kept)
    assert [united.vocabulary.name(place) for place in united.right[:1000]] == kept[::-1][:1000]
    assert [kept[place] for place in vocabulary.sorted()[:1000]] == sorted(kept)[:1000]


def test_words_of_all_short_forms():
    """Up to eight bytes, words are told apart by their hash alone: it has to differ."""
    some = [
        "",
        *(chr(code) for code in range(0xD800)),
        *(f"{n:02x}" for n in range(256)),
        *(f"{n:08d}" for n in range(10**5)),
    ]
    some = list(dict.fromkeys(some))
    assert Vocabulary(some).columns_of(some) == list(range(len(some)))


# Slots by hash.


def slots_of(some: list[str], bits: int, **settings: Any) -> list[int]:
    return HashedVocabulary(bits, **settings).columns_of(some)


@given(some=words, bits=st.integers(1, 30))
def test_a_word_has_the_same_slot_whatever_is_around_it(some: list[str], bits: int):
    slots = slots_of(some, bits)
    assert all(0 <= slot < 1 << bits for slot in slots)
    assert slots == [slots_of([word], bits)[0] for word in some]
    assert slots == slots_of(some + some, bits)[len(some) :]
    _, absorbed = HashedVocabulary(bits).add_words(Vocabulary(some), np.ones(len(some)))
    assert absorbed.tolist() == slots
    wide = slots_of(some, 30)
    assert slots == [slot % (1 << bits) for slot in wide]


weighed = st.dictionaries(word, st.integers(1, 50).map(float), max_size=12)


def absorbed(vocabulary: HashedVocabulary, weights: dict[str, float]) -> HashedVocabulary:
    slots, _ = vocabulary.add_words(Vocabulary(weights), np.array(list(weights.values())))
    assert isinstance(slots, HashedVocabulary)
    return slots


def names_of(vocabulary: HashedVocabulary) -> dict[int, str]:
    return {place: name for place, name in enumerate(vocabulary.names()) if name != f"#{place}"}


@given(weights=weighed, bits=st.integers(1, 6))
def test_a_slot_is_called_by_its_heaviest_word(weights: dict[str, float], bits: int):
    slots = absorbed(HashedVocabulary(bits), weights)
    for place in range(1 << bits):
        fallen = [word for word, slot in zip(weights, slots_of(list(weights), bits), strict=True) if slot == place]
        if fallen:
            assert weights[slots.name(place)] == max(weights[word] for word in fallen)
            assert slots.name(place) in fallen
        else:
            assert slots.name(place) == f"#{place}"
        assert slots.names()[place] == slots.name(place)


@given(weights=weighed, named=st.integers(0, 5))
def test_only_the_heaviest_slots_have_names(weights: dict[str, float], named: int):
    free, bound = (absorbed(HashedVocabulary(5, limit), weights) for limit in (100, named))
    all_names, names = names_of(free), names_of(bound)
    assert len(names) == min(named, len(all_names))
    assert names.items() <= all_names.items()
    if names and len(names) < len(all_names):
        left_out = [weights[word] for place, word in all_names.items() if place not in names]
        assert min(weights[word] for word in names.values()) >= max(left_out)


@given(one=weighed, two=weighed)
def test_a_union_of_slots_keeps_the_heaviest_names(one: dict[str, float], two: dict[str, float]):
    mine, theirs = (absorbed(HashedVocabulary(12), weights) for weights in (one, two))
    united = mine.union(theirs)
    np.testing.assert_array_equal(united.left, np.arange(1 << 12))
    np.testing.assert_array_equal(united.right, np.arange(1 << 12))
    together = {word: one.get(word, 0) + two.get(word, 0) for word in {**one, **two}}
    slots = slots_of(list(together), 12)
    for word, slot in zip(together, slots, strict=True):
        if slots.count(slot) == 1:
            assert united.vocabulary.name(slot) == word
    bound = absorbed(HashedVocabulary(12, 2), one).union(absorbed(HashedVocabulary(12, 2), two)).vocabulary
    assert sum(not name.startswith("#") for name in bound.names()) <= 2


@given(weights=weighed)
def test_slots_survive_a_round_trip_through_arrays(weights: dict[str, float]):
    slots = absorbed(HashedVocabulary(7, 5), weights)
    for again in (pickle.loads(pickle.dumps(slots)), HashedVocabulary.from_arrays(load(save(slots.to_arrays())))):
        assert again == slots
        assert again.names().tolist() == slots.names().tolist()
        assert absorbed(again, weights).names().tolist() == absorbed(slots, weights).names().tolist()


def test_slots_that_do_not_go_together():
    with pytest.raises(ValueError, match="of 4 and of 5 bits cannot be merged"):
        HashedVocabulary(4).union(HashedVocabulary(5))
    assert HashedVocabulary(4) != HashedVocabulary(5)
    arrays = absorbed(HashedVocabulary(4), {"free": 1.0, "money": 2.0}).to_arrays()
    with pytest.raises(ValueError, match="one slot and one weight for each name"):
        HashedVocabulary.from_arrays({**arrays, "weights": np.ones(1)})


@pytest.mark.parametrize("bits", [0, 31, -1, 2.0, "20", None, True], ids=repr)
def test_numbers_of_bits_that_are_refused(bits: Any):
    with pytest.raises(ValueError, match=f"bits must be a whole number from 1 to 30; got {bits!r}"):
        HashedVocabulary(bits)


def test_a_number_of_names_that_is_refused():
    with pytest.raises(ValueError, match="named must be a whole number, 0 or more; got -1"):
        HashedVocabulary(4, named=-1)


@pytest.mark.parametrize(
    "vocabulary",
    [
        Vocabulary(["free", "naïve", "東京", "\ud800"]),
        HashedVocabulary(8).add_words(Vocabulary(["free"]), np.ones(1))[0],
    ],
    ids=["exact", "hashed"],
)
def test_vocabularies_are_kept_in_files(vocabulary: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    vocabulary.save(tmp_path / "words")
    assert suffice.load(tmp_path / "words") == vocabulary
    assert suffice.load(tmp_path / "words").names().tolist() == vocabulary.names().tolist()
    with monkeypatch.context() as later:
        later.setattr("suffice.store.contents.FORMAT", 99)
        vocabulary.save(tmp_path / "later")
    with pytest.raises(StoreError, match=r"in format 99.*upgrade suffice"):
        suffice.load(tmp_path / "later")


def test_vocabularies_go_by_name():
    own = Vocabulary(["free"])
    assert resolve_vocabulary(own) is own
    assert len(resolve_vocabulary("exact")) == 0
    assert resolve_vocabulary("hashed") == HashedVocabulary()
    for given_words in (["free", "money"], ("free", "money"), np.array(["free", "money"])):
        assert list(resolve_vocabulary(given_words)) == ["free", "money"]
    with pytest.raises(ValueError, match=r"vocabulary must be 'exact', 'hashed'.*got 'sparse'"):
        resolve_vocabulary("sparse")
    with pytest.raises(TypeError, match=r"vocabulary must be .*got int"):
        resolve_vocabulary(3)
