"""suffice mail learn, correct and forget: files and standard input, in any order, and skipped files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.cli.command import done, suffice, written
from tests.mail.samples import TOPICS, message, stream

SPAM = message("new spam", TOPICS["spam"])
HAM = message("new ham", TOPICS["ham"])


def refused(*words: object, stdin: bytes = b"") -> str:
    """Run a command that must exit with 3 and print one sentence."""
    ran = suffice("mail", *words, stdin=stdin)
    assert (ran.code, ran.raw) == (3, b""), ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1, ran.err
    return ran.err


@pytest.fixture
def boxes(tmp_path) -> dict[str, Path]:
    found = {}
    for label in ("spam", "ham", "work"):
        found[label] = tmp_path / label
        found[label].mkdir()
        for i in range(3):
            (found[label] / f"{i}.eml").write_bytes(message(f"{label}{i}", TOPICS[label]))
    return found


@pytest.mark.parametrize("order", [("spam", "ham", "work"), ("work", "spam", "ham"), ("ham", "work", "spam")])
def test_classes_can_be_given_in_any_order(tmp_path, boxes, order):
    path = tmp_path / "new.db"
    words: list[object] = []
    for label in order:
        words += ["--class", "work"] if label == "work" else [f"--{label}"]
        words += [boxes[label] / "0.eml", boxes[label] / "1.eml", boxes[label] / "2.eml"]
    out = done("mail", "learn", *words, "--filter", path).out
    assert out.startswith("learned ")
    assert all(f"3 {label}" in out for label in order)
    assert done("mail", "status", "--json", "--filter", path).json["learned"] == {"ham": 3, "spam": 3, "work": 3}
    assert "9 learned before" in done("mail", "learn", *words, "--filter", path).out
    found = done("mail", "learn", *words, "--json", "--filter", path).json
    assert (found["learned"], found["known"]) == (0, 9)


def test_standard_input_is_learned_corrected_and_forgotten(tmp_path):
    path = tmp_path / "new.db"
    assert done("mail", "learn", "--spam", "--filter", path, stdin=SPAM).out == "learned 1 spam\n"
    assert (
        done("mail", "learn", "--filter", path, "--spam", stdin=SPAM).out == "learned nothing new; 1 learned before\n"
    )
    assert "1 corrected" in done("mail", "correct", "--ham", "-", "--filter", path, stdin=SPAM).out
    with MailFilter(path) as opened:
        assert opened.learned_as(SPAM) == "ham"
    assert done("mail", "forget", "--filter", path, stdin=SPAM).out == "forgot 1; 0 had not been learned\n"
    assert done("mail", "forget", "--json", "--filter", path, stdin=SPAM).json == {"forgotten": 0, "unknown": 1}
    assert done("mail", "learn", "--class", "work", "-", "--filter", path, stdin=HAM).out == "learned 1 work\n"


def test_standard_input_and_files_are_learned_together(tmp_path, boxes):
    path = tmp_path / "new.db"
    out = done("mail", "learn", "--spam", "-", boxes["spam"], "--ham", boxes["ham"], "--filter", path, stdin=SPAM).out
    assert "4 spam" in out
    assert "3 ham" in out


def test_skipped_files_are_reported(tmp_path, boxes):
    (boxes["spam"] / "empty.eml").touch()
    (boxes["spam"] / "picture.png").write_bytes(b"\x89PNG\0\0" * 50)
    ran = done("mail", "learn", "--spam", boxes["spam"], "--filter", tmp_path / "new.db")
    assert "2 skipped" in ran.out
    assert "empty.eml: empty" in ran.err
    assert "picture.png: binary, not mail" in ran.err
    found = done("mail", "learn", "--json", "--spam", boxes["spam"], "--filter", tmp_path / "new.db").json
    assert {Path(each["where"]).name for each in found["skipped"]} == {"empty.eml", "picture.png"}
    ran = done("mail", "learn", "-q", "--spam", boxes["spam"], "--filter", tmp_path / "new.db")
    assert (ran.out, ran.err) == ("", "")


def test_learn_without_mail_is_refused(tmp_path, boxes):
    path = tmp_path / "new.db"
    assert "no mail is given" in refused("learn", "--filter", path)
    assert "one class" in refused("learn", "--spam", "-", "--ham", "-", "--filter", path, stdin=SPAM)
    assert "none.mbox" in refused("learn", "--spam", tmp_path / "none.mbox", "--filter", path)
    assert "cannot be a class" in refused("learn", "--class", "no class", boxes["work"], "--filter", path)
    (tmp_path / "picture").write_bytes(b"\x89PNG\0\0")
    ran = suffice("mail", "learn", "--spam", tmp_path / "picture", "--filter", path)
    assert ran.code == 3
    assert "no mail was found" in ran.err


@pytest.mark.parametrize(
    ("spam", "ham", "advice"),
    [
        (5, 30, "not ready: learn 15 more of spam"),
        (30, 400, "not ready: learn 10 more of spam; 30 spam and 400 ham are too uneven"),
        (30, 30, "ready, with caution: more mail is left unsure until 200 of each are learned"),
        (200, 2010, "ready, but with 200 spam against 2,010 ham: learn more of the rarer class"),
        (200, 200, None),
    ],
)
def test_learn_warns_of_few_or_uneven_examples(tmp_path, spam, ham, advice):
    words: list[object] = []
    for label, count in (("spam", spam), ("ham", ham)):
        box = b"".join(b"From a@b.c Thu Aug 22 13:17:22 2002\n" + message(f"{label}{i}") + b"\n" for i in range(count))
        words += [f"--{label}", written(tmp_path / label, box.decode())]
    ran = done("mail", "learn", *words, "--filter", tmp_path / "new.db")
    assert ran.err.startswith(f"note: the filter is {advice}") if advice else ran.err == ""
    again = done("mail", "learn", *words, "--json", "--filter", tmp_path / "new.db")
    assert (again.json["advice"].startswith(advice or "ready"), again.err) == (True, "")
    assert done("mail", "learn", "-q", *words, "--filter", tmp_path / "new.db").err == ""
    assert done("mail", "learn", "--spam", "--filter", tmp_path / "new.db", stdin=SPAM).err == ""


def test_a_misspelt_path_learns_nothing(tmp_path, boxes):
    path = tmp_path / "new.db"
    refused("learn", "--spam", boxes["spam"], "--ham", tmp_path / "none", "--filter", path)
    if path.exists():
        assert done("mail", "status", "--json", "--filter", path).json["learned"] == {"ham": 0, "spam": 0}


def test_train_error_learns_only_errors(tmp_path):
    mine = tmp_path / "mail.db"
    with MailFilter(mine) as mail:
        mail.learn_all(stream(200))
    path = written(tmp_path / "x.eml", SPAM.decode())
    found = done("mail", "learn", "--train", "error", "--spam", path, "--json", "--filter", mine).json
    assert (found["learned"], found["passed"]) == (0, 1)
    found = done("mail", "learn", "--train", "error", "--ham", path, "--json", "--filter", mine).json
    assert (found["learned"], found["passed"]) == (1, 0)


def test_an_mbox_on_standard_input_is_split(tmp_path):
    path = tmp_path / "new.db"
    messages = [message(f"spam{i}", TOPICS["spam"]) for i in range(3)]
    box = b"".join(b"From ann@example.org Thu Aug 22 13:17:22 2002\n" + each + b"\n" for each in messages)
    assert done("mail", "learn", "--spam", "--filter", path, stdin=box).out == "learned 3 spam\n"
    assert done("mail", "forget", "--filter", path, stdin=box).out.startswith("forgot 3;")
    assert done("mail", "classify", "--filter", path, stdin=box).out.count("\n") == 3
    assert "has 3 messages: give one" in refused("explain", "--filter", path, stdin=box)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"root:x:0:0:root:/root:/bin/sh\n", "not mail: it has no header field"),
        (b'{"a": 1}\n', "not mail"),
        (b"PK\x03\x04mail.eml", "an archive: unpack it"),
        (b"7z\xbc\xaf\x27\x1c\0\0", "an archive: unpack it"),
        (gzip.compress(b"x" * 257 + b"ustar", mtime=0), "an archive: unpack it"),
    ],
    ids=["accounts", "json", "zip", "7z", "tgz"],
)
def test_what_is_not_mail_is_refused(tmp_path, data, why):
    path, file = tmp_path / "new.db", tmp_path / "file"
    file.write_bytes(data)
    ran = suffice("mail", "learn", "--spam", file, "--filter", path)
    assert ran.code == 3
    assert f"no mail was found: {file}: {why}" in ran.err
    if not data.startswith(b"\x1f\x8b"):
        assert why in refused("learn", "--spam", "--filter", path, stdin=data)


def test_one_file_of_two_classes_is_refused(tmp_path, boxes):
    (tmp_path / "link").symlink_to(boxes["spam"])
    ran = suffice("mail", "learn", "--spam", boxes["spam"], "--ham", tmp_path / "link", "--filter", tmp_path / "new.db")
    assert ran.code != 0
    assert "give it one class" in ran.err
    assert not (tmp_path / "new.db").exists()


def test_a_disputed_correction_is_reported(tmp_path):
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(200))
        mail.cuts = (0.3, 0.9999)
    ran = done("mail", "correct", "--spam", "--filter", path, stdin=message("stubborn", "lunch"))
    assert "1 learned, but the verdict does not agree yet" in ran.out
    found = done("mail", "correct", "--spam", "--json", "--filter", path, stdin=message("other", "noon")).json
    assert found["disputed"] == 1


def test_forget_notes_the_weights_that_stay(tmp_path):
    path = tmp_path / "mail.db"
    done("mail", "learn", "--ham", "--filter", path, stdin=message("m", "kumquat"))
    ran = done("mail", "forget", "--filter", path, stdin=message("m", "kumquat"))
    assert ran.out == "forgot 1; 0 had not been learned\n"
    assert "weights of words that other messages have are not restored" in ran.err
    assert b"kumquat" not in path.read_bytes()


def test_mail_of_no_class_is_refused_with_the_options_that_name_one(tmp_path, boxes):
    sentence = refused("learn", boxes["spam"], "--filter", tmp_path / "new.db")
    assert f"{boxes['spam']} has no class: use --spam {boxes['spam']} or --ham {boxes['spam']}" in sentence


def test_all_words_after_two_dashes_are_paths(tmp_path, monkeypatch):
    (tmp_path / "--odd.eml").write_bytes(SPAM)
    monkeypatch.chdir(tmp_path)
    out = done("mail", "learn", "--filter", tmp_path / "new.db", "--spam", "--", "--odd.eml").out
    assert out == "learned 1 spam\n"


def test_only_the_first_skipped_files_are_named(tmp_path, boxes):
    for number in range(12):
        (boxes["spam"] / f"x{number:02}.eml").touch()
    ran = done("mail", "learn", "--spam", boxes["spam"], "--filter", tmp_path / "new.db")
    assert ran.out == "learned 3 spam; 12 skipped\n"
    assert ran.err.splitlines()[-2] == "... and 2 more; --json lists all"
    assert ran.err.count("skipped ") == 10


def test_forget_without_mail_is_refused(tmp_path, boxes):
    path = tmp_path / "new.db"
    done("mail", "learn", "--spam", boxes["spam"], "--filter", path)
    (tmp_path / "none").mkdir()
    assert "no mail was found" in refused("forget", tmp_path / "none", "--filter", path)
    assert done("mail", "forget", "-q", boxes["spam"], "--filter", path).out == ""
    assert done("mail", "forget", boxes["spam"], "--filter", path).lines == ["forgot 0; 3 had not been learned"]
