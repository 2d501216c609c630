"""suffice mail: input, output and exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from suffice import demo
from suffice.cli.mail import COMMANDS
from suffice.cli.mail.options import write_json
from suffice.mail import MailFilter
from tests.cli.command import COMMAND, Ran, done, process, suffice, written
from tests.mail.samples import TOPICS, demo_mail, message, stream
from tests.rights import open_folder, without_rights

SPAM = message("new spam", TOPICS["spam"])
HAM = message("new ham", TOPICS["ham"])
UNSURE = message("neither", "")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("mail") / "mail.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(200))
    return path


@pytest.fixture
def mine(trained, tmp_path) -> Path:
    path = tmp_path / "mail.db"
    path.write_bytes(trained.read_bytes())
    return path


def mail(*words: object, stdin: bytes = b"") -> Ran:
    return suffice("mail", *words, stdin=stdin)


def refused(*words: object, stdin: bytes = b"") -> str:
    """Run a command that must exit with 3 and print one sentence."""
    ran = mail(*words, stdin=stdin)
    assert ran.code == 3, (ran.code, ran.raw, ran.err)
    assert ran.raw == b""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    return ran.err


# Help


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name):
    text = done("mail", name, "--help").out
    assert text.startswith(f"Usage: suffice mail {name}")
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())
    assert f"  {name} " in done("mail", "--help").out


@pytest.mark.parametrize(
    "words", [("--bogus",), ("clasify",), ("classify", "--bogus"), ("sort",), ("merge",), ("explain", "--top", "0")]
)
def test_misuse_exits_with_3(words):
    refused(*words)


def test_without_a_command_the_help_is_shown():
    ran = mail()
    assert ran.code == 3
    assert "learn" in ran.out + ran.err


# Classification


@pytest.mark.parametrize(("data", "label", "code"), [(SPAM, "spam", 0), (HAM, "ham", 1), (UNSURE, "unsure", 2)])
def test_classify_prints_the_verdict_and_exits_with_its_code(mine, tmp_path, data, label, code):
    path = tmp_path / "message.eml"
    path.write_bytes(data)
    for words, stdin in (((), data), (("-",), data), ((path,), b"")):
        ran = mail("classify", *words, "--filter", mine, stdin=stdin)
        assert (ran.code, ran.err) == (code, "")
        assert ran.out.startswith(label)
        assert mail("classify", *words, "-e", "--filter", mine, stdin=stdin).code == 0
        found = mail("classify", *words, "--json", "--filter", mine, stdin=stdin)
        assert found.code == code
        assert found.json["verdict"] == label
    ran = mail("filter", "--filter", mine, stdin=data)
    assert (ran.code, ran.err) == (code, "")
    head, _, rest = ran.raw.partition(b"\n")
    assert head.startswith(b"X-Suffice: " + label.encode() + b"; p=")
    assert rest == data
    assert mail("filter", "-e", "--filter", mine, stdin=data).code == 0


def test_several_messages_have_one_line_each(mine, tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    (box / "1.eml").write_bytes(SPAM)
    (box / "2.eml").write_bytes(HAM)
    (box / "3.eml").touch()
    ran = mail("classify", box, tmp_path / "box" / "1.eml", "--filter", mine)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.lines] == ["spam", "ham", "spam"]
    assert [Path(line.split()[-1]).name for line in ran.lines] == ["1.eml", "2.eml", "1.eml"]
    assert ran.err.startswith("skipped ")
    assert "3.eml: empty" in ran.err
    ran = mail("classify", box, "--json", "--filter", mine)
    assert [json.loads(line)["verdict"] for line in ran.lines] == ["spam", "ham"]


def test_the_filter_is_named_by_the_environment(mine, monkeypatch):
    monkeypatch.setenv("SUFFICE_MAIL", str(mine))
    assert mail("classify", stdin=SPAM).code == 0
    assert mail("filter", stdin=HAM).code == 1


@pytest.mark.parametrize("command", ["classify", "learn --spam", "correct --ham", "explain", "forget"])
def test_an_empty_standard_input_is_refused(mine, command):
    for stdin in (b"", b"\n"):
        assert "no message" in refused(*command.split(), "--filter", mine, stdin=stdin)


def test_a_folder_without_mail_is_refused(mine, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "there is no message in" in refused("classify", tmp_path / "empty", "--filter", mine)
    assert "none.eml" in refused("classify", tmp_path / "none.eml", "--filter", mine)
    assert "none.eml" in refused("explain", tmp_path / "none.eml", "--filter", mine)


def test_classify_train_learns_certain_verdicts(mine):
    mail("classify", "--train", "--filter", mine, stdin=SPAM)
    mail("filter", "--train", "--filter", mine, stdin=HAM)
    mail("classify", "--train", "--filter", mine, stdin=UNSURE)
    with MailFilter(mine) as opened:
        assert [opened.learned_as(data) for data in (SPAM, HAM, UNSURE)] == ["spam", "ham", None]


@pytest.mark.parametrize("command", ["classify", "filter"])
def test_classify_train_does_not_contradict_corrections(mine, command):
    with MailFilter(mine) as opened:
        opened.learn(HAM, "ham")
        opened.cuts = (0.0, 0.0)  # every message is spam
    assert mail(command, "--train", "--filter", mine, stdin=HAM).code == 0
    with MailFilter(mine) as opened:
        assert opened.learned_as(HAM) == "ham"


# suffice mail filter


def broken(place: Path) -> dict[str, Path]:
    (place / "junk.db").write_bytes(b"junk" * 3000)
    (place / "folder").mkdir()
    return {"none": place / "none.db", "damaged": place / "junk.db", "a folder": place / "folder"}


@pytest.mark.parametrize("kind", ["none", "damaged", "a folder", "cut", "wrong option"])
@pytest.mark.parametrize("train", [(), ("--train",)])
def test_filter_passes_the_message_through_on_any_error(mine, tmp_path, kind, train):
    if kind == "cut":
        mine.write_bytes(mine.read_bytes()[:9000])
        words = ["--filter", mine]
    elif kind == "wrong option":
        words = ["--filter", mine, "--bogus"]
    else:
        words = ["--filter", broken(tmp_path)[kind]]
    ran = mail("filter", *words, *train, stdin=SPAM)
    assert ran.code == 3
    assert ran.raw == SPAM
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert "internal error" not in ran.err


def test_filter_passes_the_message_through_without_permissions():
    with open_folder() as place:
        with MailFilter(place / "mail.db") as opened:
            opened.learn_all(stream(200))
        for name in ("filter", "learn"):
            __import__(f"suffice.cli.mail.{name}")
        mail("filter", "--filter", place / "mail.db", stdin=HAM)
        (place / "mail.db").chmod(0o644)
        place.chmod(0o555)
        ran = without_rights(lambda: mail("filter", "--filter", place / "mail.db", stdin=SPAM))
        assert ran.code == 0
        assert ran.raw.startswith(b"X-Suffice: spam")
        ran = without_rights(lambda: mail("filter", "--train", "--filter", place / "mail.db", stdin=SPAM))
        assert ran.code == 3
        assert ran.raw.endswith(SPAM)
        (place / "mail.db").chmod(0o000)
        ran = without_rights(lambda: mail("filter", "--filter", place / "mail.db", stdin=SPAM))
        assert (ran.code, ran.raw) == (3, SPAM)


def test_filter_removes_fields_of_the_sender(mine):
    forged = b"X-Suffice: ham; p=0.0000\nx-suffice-too: ham\n more\n" + SPAM
    for words, code in ((("--filter", mine), 0), (("--filter", mine.parent / "none.db"), 3)):
        ran = mail("filter", *words, stdin=forged)
        assert ran.code == code
        assert ran.raw.endswith(SPAM)
        assert b"p=0.0000" not in ran.raw
        assert b"x-suffice-too" not in ran.raw


@pytest.mark.needs("posix")
def test_a_failure_to_write_the_message_does_not_exit_as_spam(mine):
    ours, theirs = os.pipe()
    os.close(ours)
    words = [*COMMAND, "mail", "filter", "--filter", mine]
    ran = subprocess.run(words, input=SPAM, stdout=theirs, stderr=subprocess.PIPE, check=False)
    os.close(theirs)
    assert ran.returncode == 3
    assert b"Traceback" not in ran.stderr
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            ran = subprocess.run(
                [*COMMAND, "mail", "filter", "--filter", mine],
                input=SPAM,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert ran.returncode == 3
        assert b"Traceback" not in ran.stderr


def test_filter_passes_large_messages_and_any_bytes_through_unchanged(mine):
    large = b"Subject: x\r\n\r\n" + b"\xff\x00\xfe\r\n" * 400_000
    ran = process("mail", "filter", "-e", "--filter", mine, input=large)
    assert ran.returncode == 0, ran.stderr
    found = {large: ran.stdout}
    for data in (
        b"\x00" * 10,
        b"no header at all",
        b"From ann@example.org Thu Aug 22 13:17:22 2002\nSubject: x\n\nbody",
    ):
        found[data] = done("mail", "filter", "-e", "--filter", mine, stdin=data).raw
    for data, out in found.items():
        marked = [line for line in out.splitlines(keepends=True) if line.startswith(b"X-Suffice: ")]
        assert len(marked) == 1
        assert out.replace(marked[0], b"", 1) == data


def test_filter_writes_json_to_standard_error(mine):
    ran = mail("filter", "--json", "--filter", mine, stdin=SPAM)
    assert json.loads(ran.err)["verdict"] == "spam"
    assert ran.raw.endswith(SPAM)


# Other commands


def test_explain(mine, tmp_path):
    ran = done("mail", "explain", "--filter", mine, stdin=SPAM)
    assert ran.lines[0].startswith("spam: ")
    assert ran.lines[-1].endswith("log-odds of spam")
    found = done("mail", "explain", "--json", "--top", 3, "--filter", mine, stdin=SPAM).json
    total = sum(each["log_odds"] for each in found["reasons"]) + found["others"]["log_odds"] + found["constant"]
    assert total == pytest.approx(found["class_log_odds"])
    page = tmp_path / "why.html"
    assert done("mail", "explain", "--html", page, "--filter", mine, stdin=b"Subject: <b>\n\n<script>").out == ""
    assert "<script>" not in page.read_text()
    if os.name == "posix":
        assert page.stat().st_mode & 0o777 == 0o600
        page.chmod(0o644)
        done("mail", "explain", "--html", page, "--filter", mine, stdin=SPAM)
        assert page.stat().st_mode & 0o777 == 0o600
    assert "there is no class" in refused("explain", "--class", "work", "--filter", mine, stdin=SPAM)


def test_status_doctor_and_settings(mine):
    found = done("mail", "status", "--json", "--filter", mine).json
    assert sum(found["learned"].values()) == 200
    assert found["ready"] is True
    assert "ready" in done("mail", "status", "--filter", mine).out
    mine.chmod(0o600)
    assert {each["level"] for each in done("mail", "doctor", "--json", "--filter", mine).json} == {"fine"}
    done("mail", "settings", "--spam-cut", "0.99", "--half-life", "90", "--tokens", "2000", "--filter", mine)
    found = done("mail", "settings", "--json", "--filter", mine).json
    assert (found["spam_cut"], found["half_life"], found["tokens"]) == (0.99, 90.0, 2000)
    assert "0.99" in done("mail", "settings", "--filter", mine).out
    done("mail", "settings", "--half-life", "never", "--filter", mine)
    assert done("mail", "settings", "--json", "--filter", mine).json["half_life"] == "never"
    for words in (("--spam-cut", "2"), ("--spam-cut", "nan"), ("--half-life", "0"), ("--tokens", "5")):
        refused("settings", *words, "--filter", mine)


def test_doctor_exits_with_3_when_it_finds_a_fault(mine, tmp_path):
    for path in (*broken(tmp_path).values(), written(tmp_path / "text.db", "hello" * 999)):
        ran = mail("doctor", "--filter", path)
        assert ran.code == 3
        assert "wrong" in ran.out
        assert str(path) in ran.out
        found = mail("doctor", "--json", "--filter", path)
        assert found.code == 3
        assert any(each["level"] == "wrong" and each["cure"] for each in found.json)


@pytest.mark.parametrize("command", ["classify", "explain", "status", "settings", "dump", "forget"])
@pytest.mark.parametrize("kind", ["none", "damaged", "a folder"])
def test_errors_of_a_filter_are_one_sentence(tmp_path, command, kind):
    path = broken(tmp_path)[kind]
    assert str(path) in refused(command, "--filter", path, stdin=SPAM)


@pytest.mark.parametrize("kind", ["damaged", "a folder"])
def test_errors_of_learn_are_one_sentence(tmp_path, kind):
    path = broken(tmp_path)[kind]
    before = path.read_bytes() if path.is_file() else None
    for words in (("learn", "--spam"), ("correct", "--spam"), ("load",), ("settings", "--spam-cut", "0.5")):
        given = SPAM if words[0] != "load" else b".MSG_COUNT 1 2\nx 1 2 3\n"
        assert str(path) in refused(*words, "--filter", path, stdin=given)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_dump_load_and_merge(mine, tmp_path):
    text = done("mail", "dump", "--filter", mine).raw
    out = done("mail", "load", "--filter", tmp_path / "b.db", stdin=text).out
    assert out.startswith("added 200 messages")
    assert done("mail", "dump", "--filter", tmp_path / "b.db").raw == text
    (tmp_path / "dump.txt").write_bytes(text)
    found = done("mail", "load", tmp_path / "dump.txt", "--json", "--filter", tmp_path / "c.db").json
    assert (found["messages"], found["both"]) == (200, 0)
    done("mail", "learn", "--spam", "--filter", tmp_path / "d.db", stdin=SPAM)
    ran = done("mail", "merge", tmp_path / "b.db", "--filter", tmp_path / "d.db")
    assert "added 200 messages" in ran.out
    learned = done("mail", "status", "--json", "--filter", tmp_path / "d.db").json["learned"]
    assert sum(learned.values()) == 201
    assert "line 1" in refused("load", "--filter", tmp_path / "b.db", stdin=b"hello\n")
    assert "none.txt" in refused("load", tmp_path / "none.txt", "--filter", tmp_path / "b.db")
    assert "none.db" in refused("merge", tmp_path / "none.db", "--filter", tmp_path / "b.db")


def test_the_demo_runs(tmp_path):
    ran = done("mail", "demo", "--folder", tmp_path / "demo")
    assert "learned" in ran.out
    assert "log-odds of spam" in ran.out


def test_the_demo_refuses_a_folder_with_other_files(tmp_path):
    (tmp_path / "mail.db").write_text("mine")
    assert "not empty" in refused("demo", "--folder", tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["mail.db"]
    assert (tmp_path / "mail.db").read_text() == "mine"
    for _ in range(2):
        done("mail", "demo", "--folder", tmp_path / "own")


def test_new_mail_of_the_demo_is_classified(tmp_path):
    path = tmp_path / "mail.db"
    done("mail", "learn", "--spam", demo.mailbox("spam"), "--ham", demo.mailbox("ham"), "--filter", path)
    ran = done("mail", "classify", demo.mailbox("new"), "--json", "--filter", path)
    verdicts = [json.loads(line)["verdict"] for line in ran.lines]
    assert len(verdicts) == len(demo_mail("new"))
    assert {"spam", "ham"} <= set(verdicts)


def test_explain_takes_one_message(mine, tmp_path):
    box = tmp_path / "box"
    box.mkdir()
    for name in ("1.eml", "2.eml"):
        (box / name).write_bytes(SPAM)
    (box / "empty").touch()
    why = ("explain", "--filter", mine)
    assert f"{box} has 2 messages: name one of them, such as {box / '1.eml'}" in refused(*why, box)
    assert f"there is no message {box / '1.eml'}:2" in refused(*why, f"{box / '1.eml'}:2")
    assert f"{box / 'empty'}: empty" in refused(*why, box / "empty")
    assert done("mail", *why, f"{box / '1.eml'}:1").out == done("mail", *why, box / "1.eml").out


def test_explain_refuses_a_missing_folder_for_html(mine, tmp_path):
    page = tmp_path / "none" / "why.html"
    assert f"there is no folder to write {page} to" in refused("explain", "--html", page, "--filter", mine, stdin=SPAM)


def test_filter_without_a_message_writes_nothing(mine):
    assert "there is no message on standard input" in refused("filter", "--filter", mine)


def test_classify_notes_problems_of_damaged_mail(mine):
    nested = b"Subject: x\nContent-Type: multipart/mixed; boundary=a\n\n--a\n" * 200
    ran = mail("classify", "--filter", mine, stdin=nested)
    assert ran.code in (0, 1, 2)
    assert ran.err.startswith("note: ")
    assert mail("classify", "-q", "--filter", mine, stdin=nested).err == ""


def test_json_is_ascii_if_the_encoding_requires_it(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    write_json({"where": "caf\u00e9.eml"}, lines=True)
    sys.stdout.flush()
    assert sys.stdout.buffer.getvalue() == b'{"where": "caf\\u00e9.eml"}\n'
