"""suffice mail sort, on a Maildir on disk, with a user who moves messages."""

from __future__ import annotations

import json
import mailbox
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.cli.command import COMMAND, done, process, suffice
from tests.mail.samples import TOPICS, message, stream

pytestmark = pytest.mark.needs("posix")


@pytest.fixture
def mine(tmp_path) -> Path:
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn_all(stream(200))
    return tmp_path / "mail.db"


class Box(mailbox.Maildir):
    """A Maildir with its path."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


@pytest.fixture
def box(tmp_path) -> Box:
    return Box(tmp_path / "Maildir")


def spam(name: object) -> bytes:
    return message(f"spam {name}", TOPICS["spam"])


def ham(name: object) -> bytes:
    return message(f"ham {name}", TOPICS["ham"])


def everything(place: Path) -> list[bytes]:
    return sorted(
        path.read_bytes() for path in place.rglob("*") if path.is_file() and path.parent.name in ("cur", "new")
    )


def junk(place: Path) -> list[Path]:
    return [path for part in ("cur", "new") for path in sorted((place / ".Junk" / part).glob("*"))]


def sort(box: Box, mine: Path, *words: object) -> dict[str, object]:
    found: dict[str, object] = done("mail", "sort", box.path, "--json", "--filter", mine, *words).json
    return found


def test_spam_is_moved_and_nothing_is_lost(box, mine):
    for i in range(4):
        box.add(spam(i))
        box.add(ham(i))
    place = box.path
    before = everything(place)
    dry = sort(box, mine, "--dry-run")
    assert (len(dry["moved"]), dry["kept"], dry["dry_run"]) == (4, 4, True)  # type: ignore[arg-type]
    assert not (place / ".Junk").exists()
    found = sort(box, mine)
    assert (len(found["moved"]), found["kept"]) == (4, 4)  # type: ignore[arg-type]
    assert everything(place) == before
    assert sorted(path.read_bytes() for path in junk(place)) == sorted(spam(i) for i in range(4))
    again = sort(box, mine)
    assert (again["moved"], again["kept"], again["learned"]) == ([], 0, [])


def test_a_dry_run_changes_no_byte_of_the_filter(box, mine):
    box.add(spam(1))
    before = mine.read_bytes()
    sort(box, mine, "--dry-run")
    with MailFilter(mine) as mail:
        assert mail.store().query("SELECT COUNT(*) FROM filed") == [(0,)]
        assert mail.store().query("SELECT COUNT(*) FROM settled") == [(0,)]
        assert sum(mail.store().state().messages) == 200
    assert mine.read_bytes() == before


def test_a_dry_run_is_refused_where_the_filter_cannot_be_written(box, mine):
    def limit() -> None:
        import resource  # POSIX only

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    box.add(spam(1))
    for words in ((), ("--dry-run",)):
        ran = process("mail", "sort", box.path, "--filter", mine, *words, preexec_fn=limit)
        assert (ran.returncode, ran.stdout) == (3, b"")
        assert ran.stderr == f"error: {mine} cannot be written: the disk is full\n".encode()
    assert len(everything(box.path)) == 1


def test_a_dry_run_creates_no_filter_above_a_shared_one(box, mine, tmp_path):
    box.add(spam(1))
    found = sort(box, tmp_path / "own.db", "--dry-run", "--shared", mine)
    assert len(found["moved"]) == 1  # type: ignore[arg-type]
    assert not (tmp_path / "own.db").exists()


def test_a_dry_run_learns_what_the_run_would_learn(box, mine):
    box.add(ham(1))
    sort(box, mine)
    (path,) = [path for part in ("cur", "new") for path in (box.path / part).glob("*")]
    done("mail", "correct", "--spam", "--filter", mine, stdin=ham(1))  # as the recipe for mutt, which then moves it
    box.add_folder("Junk")
    path.rename(box.path / ".Junk" / "cur" / path.name)
    assert sort(box, mine, "--dry-run")["learned"] == sort(box, mine)["learned"] == []


def test_again_judges_what_was_judged_before_and_leaves_ham(box, mine, tmp_path):
    young = tmp_path / "young.db"
    with MailFilter(young) as mail:
        mail.learn_all(stream(50, classes=("ham", "work")))
    for i in range(3):
        box.add(spam(i))
    box.add(ham(1))
    assert sort(box, young, "--force")["kept"] == 4
    with MailFilter(young) as mail:
        mail.learn_all(stream(200, 1))
        mail.learn(spam(0), "ham")
    assert (sort(box, young)["moved"], sort(box, young)["kept"]) == ([], 0)
    would = sort(box, young, "--again", "--dry-run")
    found = sort(box, young, "--again")
    assert would["moved"] == found["moved"]
    assert (len(found["moved"]), found["kept"]) == (2, 1)  # type: ignore[arg-type]
    assert sorted(path.read_bytes() for path in junk(box.path)) == [spam(1), spam(2)]
    assert (sort(box, young)["moved"], sort(box, young)["learned"]) == ([], [])
    (wrong, _) = junk(box.path)
    wrong.rename(box.path / "cur" / f"{wrong.name.partition(':')[0]}:2,S")
    assert len(sort(box, young, "--again")["learned"]) == 1  # type: ignore[arg-type]
    assert len(junk(box.path)) == 1
    for other in ("--watch", "--only-new"):
        ran = suffice("mail", "sort", box.path, "--again", other, "--filter", young)
        assert (ran.code, "cannot be used together" in ran.err) == (3, True)


def test_messages_moved_by_the_user_are_learned(box, mine):
    box.add(spam("restored"))
    box.add(ham("junked"))
    place = box.path
    sort(box, mine)
    (wrong,) = junk(place)
    (missed,) = [path for part in ("cur", "new") for path in (place / part).glob("*")]
    wrong.rename(place / "cur" / wrong.name)
    missed.rename(place / ".Junk" / "cur" / (missed.name.partition(":")[0] + ":2,S"))
    found = sort(box, mine)
    assert sorted(each["class"] for each in found["learned"]) == ["ham", "spam"]  # type: ignore[attr-defined]
    assert found["moved"] == []
    with MailFilter(mine) as mail:
        assert mail.learned_as(spam("restored")) == "ham"
        assert mail.learned_as(ham("junked")) == "spam"
    assert sort(box, mine)["learned"] == []
    assert len(junk(place)) == 1


def test_marked_messages_in_junk_are_not_learned(box, mine):
    marked = suffice("mail", "filter", "--filter", mine, stdin=spam("marked"))
    assert marked.code == 0
    sort(box, mine)
    box.add_folder("Junk").add(marked.raw)
    assert sort(box, mine)["learned"] == []
    box.get_folder("Junk").add(spam("by hand"))
    assert [each["class"] for each in sort(box, mine)["learned"]] == ["spam"]  # type: ignore[attr-defined]


def test_a_filter_that_is_not_ready_moves_nothing(box, tmp_path):
    box.add(spam(1))
    path = tmp_path / "young.db"
    ran = suffice("mail", "sort", box.path, "--filter", path)
    assert (ran.code, ran.raw) == (3, b"")
    done("mail", "learn", "--spam", "--filter", path, stdin=spam(2))
    ran = suffice("mail", "sort", box.path, "--filter", path)
    assert ran.code == 3
    assert "not ready" in ran.err
    assert "--force" in ran.err
    assert ran.err.count("\n") == 1
    dry = suffice("mail", "sort", box.path, "--dry-run", "--filter", path)
    assert (dry.code, dry.err) == (ran.code, ran.err)
    done("mail", "sort", box.path, "--force", "--filter", path)
    assert len(everything(box.path)) == 1


def test_force_moves_mail_before_the_filter_is_ready(box, tmp_path):
    path = tmp_path / "young.db"
    with MailFilter(path) as mail:
        mail.learn_all([(spam(f"old {i}"), "spam") for i in range(10)] + [(ham(f"old {i}"), "ham") for i in range(10)])
        mail.cuts = (0.3, 0.7)
        assert mail.classify(spam("new")).probability > 0.7
    box.add(spam("new"))
    assert len(sort(box, path, "--dry-run", "--force")["moved"]) == 1  # type: ignore[arg-type]
    assert len(sort(box, path, "--force")["moved"]) == 1  # type: ignore[arg-type]


def test_a_folder_that_is_not_a_maildir_is_refused(mine, tmp_path):
    for place in (tmp_path / "none", tmp_path):
        ran = suffice("mail", "sort", place, "--filter", mine)
        assert (ran.code, ran.raw) == (3, b"")
        assert str(place) in ran.err
        assert ran.err.count("\n") == 1
    box = Box(tmp_path / "Maildir")
    ran = suffice("mail", "sort", box.path, "--folder", "work", "Work", "--filter", mine)
    assert ran.code == 3
    assert "there is no class 'work'" in ran.err


def test_sort_prints_one_line_per_message(box, mine):
    box.add(spam(1))
    box.add(ham(1))
    ran = done("mail", "sort", box.path, "--filter", mine)
    assert "moved to Junk (p=" in ran.out
    assert "1 moved, 1 kept, 0 learned" in ran.out
    assert done("mail", "sort", box.path, "-q", "--filter", mine).out == ""


def until(check: Callable[[], object], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.05)
    return False


def test_watch_sorts_mail_as_it_arrives(box, mine):
    """Spam arrives and is moved, the user moves it back, and SIGTERM ends the command with 0."""
    place = box.path
    box.add(ham(0))
    watcher = subprocess.Popen(
        [*COMMAND, "mail", "sort", str(place), "--watch", "--json", "--filter", str(mine)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        with MailFilter(mine) as mail:
            assert until(lambda: mail.store().query("SELECT COUNT(*) FROM filed") == [(1,)])
            box.add(spam("delivered"))
            assert until(lambda: len(junk(place)) == 1)
            (wrong,) = junk(place)
            assert until(
                lambda: mail.store().query("SELECT 1 FROM filed WHERE folder = CAST('Junk' AS BLOB)") == [(1,)]
            )
            time.sleep(0.5)
            wrong.rename(place / "cur" / wrong.name)
            assert until(lambda: mail.learned_as(spam("delivered")) == "ham")
            done("mail", "learn", "--spam", "--filter", mine, stdin=message("meanwhile", "prize"))
    finally:
        os.kill(watcher.pid, signal.SIGTERM)
        out, err = watcher.communicate(timeout=30)
    assert (watcher.returncode, err) == (0, b"")
    reports = [json.loads(line) for line in out.splitlines()]
    assert sum(len(each["moved"]) for each in reports) == 1
    assert [learned["class"] for each in reports for learned in each["learned"]] == ["ham"]
    assert len(everything(place)) == 2
    assert junk(place) == []


def test_learned_and_skipped_messages_have_a_line(box, mine):
    box.add(spam(1))
    done("mail", "sort", box.path, "--filter", mine, "-q")
    (wrong,) = junk(box.path)
    wrong.rename(box.path / "cur" / f"{wrong.name.split(':')[0]}:2,S")
    (box.path / "cur" / "9.empty:2,S").touch()
    ran = done("mail", "sort", box.path, "--filter", mine)
    assert "learned as ham  " in ran.out
    assert "9.empty:2,S: empty" in ran.err


def test_messages_of_another_class_are_moved_to_its_folder(box, mine):
    with MailFilter(mine) as mail:
        mail.learn_all((message(f"work {i}", TOPICS["work"]), "work") for i in range(60))
    box.add(message("report", TOPICS["work"]))
    found = sort(box, mine, "--folder", "work", "Work")
    assert found["moved"], found


def test_undo_moves_back_what_the_last_run_moved(box, mine):
    box.add(spam(1))
    sort(box, mine)
    box.add(spam(2))
    box.add(ham(1))
    before = everything(box.path)
    assert sort(box, mine)["run"] == 2
    assert sort(box, mine, "--undo", "LAST", "--dry-run")["restored"] == 1
    assert sort(box, mine, "--undo", "LAST") == {"run": 2, "restored": 1, "missing": 0, "failed": []}
    assert everything(box.path) == before
    assert [path.read_bytes() for path in junk(box.path)] == [spam(1)]
    again = sort(box, mine)
    assert (again["moved"], again["learned"]) == ([], [])
