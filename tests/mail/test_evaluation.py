"""Evaluation, compared with classifying and learning message by message."""

from __future__ import annotations

import math
import random

import pytest

from suffice.mail import MailError, MailFilter, evaluation
from suffice.mail.evaluation import (
    cross_validate,
    evaluate_online,
    extract_corpus,
    read_index,
    read_indexed,
    shuffle_order,
)
from tests.mail.samples import message, stream


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
@pytest.mark.parametrize(
    "train",
    [
        "all",
        "near",
        "error",
    ],
)
def test_online_evaluation_equals_classify_then_learn(mine, labels, train):
    pairs = stream(120, 4, labels)
    with MailFilter(mine.path) as made:
        for label in labels:
            made.store(create=True).class_index(label)
    by_hand = []
    for data, label in pairs:
        by_hand.append(mine.classify(data).log_odds)
        mine.learn(data, label, train=train)
    corpus = extract_corpus([*pairs])
    assert corpus.classes[:2] == ("ham", "spam")
    outcome = evaluate_online(corpus, train=train)
    assert outcome.score.tolist() == pytest.approx(by_hand, rel=1e-5, abs=1e-7)
    assert outcome.spam.tolist() == [label == "spam" for _, label in pairs]
    assert (sum(mine.store().state().messages) < 120) == (train == "error")


def test_the_outcome_has_the_given_cuts(mine):
    corpus = extract_corpus(stream(60))
    outcome = evaluate_online(corpus, cuts=(0.2, 0.8))
    assert outcome.cut == pytest.approx(math.log(4))
    assert outcome.unsure == pytest.approx((-math.log(4), math.log(4)))
    assert evaluate_online(corpus, cuts=(0.0, 1.0)).sm == 100
    assert evaluate_online(corpus, cuts=(0.0, 0.0)).hm == 100


def test_a_given_order_is_used(tmp_path):
    pairs = stream(50)
    corpus = extract_corpus(pairs)
    order = shuffle_order(corpus, 3)
    assert sorted(order) == list(range(50))
    assert order == shuffle_order(corpus, 3) != shuffle_order(corpus, 4)
    directly = evaluate_online(extract_corpus([pairs[k] for k in order]))
    assert evaluate_online(corpus, order).score.tolist() == directly.score.tolist()


def test_the_batch_size_does_not_change_the_outcome(monkeypatch):
    pairs = stream(50)
    whole = extract_corpus(pairs)
    monkeypatch.setattr(evaluation, "BATCH", 7)
    parts = extract_corpus(pairs)
    assert len(parts.batches) == 8
    order = shuffle_order(whole, 1)
    assert evaluate_online(parts, order).score.tolist() == evaluate_online(whole, order).score.tolist()
    assert cross_validate(parts, 5).score.tolist() == cross_validate(whole, 5).score.tolist()


def test_cross_validation_judges_messages_that_were_not_learned(tmp_path):
    pairs = stream(30)
    outcome = cross_validate(extract_corpus(pairs), 3, seed=5)
    order = list(range(30))
    random.Random(5).shuffle(order)
    for fold in range(3):
        held = order[fold::3]
        with MailFilter(tmp_path / f"{fold}.db") as mail:
            mail.learn_all([pairs[k] for k in order if k not in held])
            for k in held:
                assert outcome.score[k] == pytest.approx(mail.classify(pairs[k][0]).log_odds, rel=1e-9)
    assert outcome.spam.tolist() == [label == "spam" for _, label in pairs]


@pytest.mark.parametrize("folds", [0, 1, 31])
def test_invalid_numbers_of_folds_are_refused(folds):
    with pytest.raises(MailError, match=f"folds must be from 2 to the number of messages, 30; got {folds}"):
        cross_validate(extract_corpus(stream(30)), folds)


def test_an_evaluation_of_one_class_is_refused():
    for pairs in ([], [(message(1), "ham")], [(message(i), "spam") for i in range(5)]):
        with pytest.raises(MailError, match="two classes"):
            extract_corpus(pairs)


# Indices


def test_an_index_has_relative_and_absolute_paths(tmp_path):
    far = tmp_path / "far"
    near = tmp_path / "corpus" / "data"
    far.mkdir()
    near.mkdir(parents=True)
    (far / "1.eml").write_bytes(message(1))
    (near / "a message.eml").write_bytes(message(2))
    index = tmp_path / "corpus" / "index"
    index.write_text(f"# classes and files\n\nSPAM {far / '1.eml'}\nham  data/a message.eml  \nham ../far/1.eml\r\n")
    assert read_index(index) == [
        ("spam", far / "1.eml"),
        ("ham", near / "a message.eml"),
        ("ham", tmp_path / "corpus" / ".." / "far" / "1.eml"),
    ]
    skipped = []
    assert list(read_indexed(index, skipped.append)) == [(message(1), "spam"), (message(2), "ham"), (message(1), "ham")]
    assert skipped == []


def test_each_file_of_an_index_is_one_message_or_skipped(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "one").write_bytes(message(1))
    index = tmp_path / "index"
    index.write_text("ham empty\nspam one\n")
    skipped = []
    assert list(read_indexed(index, skipped.append)) == [(message(1), "spam")]
    assert [each.why for each in skipped] == ["empty"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "\n\n"])
def test_an_empty_index_is_refused(tmp_path, text):
    index = tmp_path / "index"
    index.write_text(text)
    with pytest.raises(MailError, match="names no messages"):
        read_index(index)


def test_a_malformed_line_of_an_index_is_refused(tmp_path):
    index = tmp_path / "index"
    index.write_text("ham a\nspam\n")
    with pytest.raises(MailError, match=r"line 2 of .*index is not a class and a path: 'spam'"):
        read_index(index)


def test_a_missing_file_of_an_index_is_an_error(tmp_path):
    index = tmp_path / "index"
    index.write_text("ham none.eml\n")
    with pytest.raises(FileNotFoundError, match=r"none\.eml"):
        list(read_indexed(index, lambda _: None))
