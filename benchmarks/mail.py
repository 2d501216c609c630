"""The spam filter, compared with bogofilter: speed, file size and errors, on the same messages in the same run.

``python -m benchmarks.mail --index FOLDER/index`` measures and stores the table. The index has a line for each message:
its class and its path. bogofilter (the SQLite build) must be installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import machine
from benchmarks.provenance import store

RESULTS = Path(__file__).with_name("mail.md")
#: Number of messages that are classified by one process each.
ALONE = 100


class Cost(NamedTuple):
    """The cost of some work: seconds, and peak memory in megabytes."""

    seconds: float
    memory: float = 0.0

    def then(self, other: Cost) -> Cost:
        """Return the cost of both, one after the other."""
        return Cost(self.seconds + other.seconds, max(self.memory, other.memory))


def ran(command: list[str], lines: list[Path] | None = None, message: Path | None = None, fine: int = 2) -> Cost:
    """Return the seconds and the peak memory of a command."""
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{path}\n" for path in lines or []).encode())
        names.seek(0)
        with message.open("rb") if message is not None else names as given:
            start = time.perf_counter()
            process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode > fine:
        raise RuntimeError(f"{command} has exit code {process.returncode}")
    return Cost(seconds, used.ru_maxrss / 1e3)


class Rivals:
    """Both filters, each with its own file."""

    def __init__(self, spam: list[Path], ham: list[Path], place: Path) -> None:
        self.spam, self.ham, self.place = spam, ham, place
        self.ours, self.theirs = place / "mail.db", place / "bogofilter"
        self.suffice = [sys.executable, "-m", "suffice", "mail"]
        for name, paths in (("spam", spam), ("ham", ham)):
            folder = place / name
            folder.mkdir()
            for i, path in enumerate(paths):
                os.link(path, folder / f"{i:06d}") if path.stat().st_dev == place.stat().st_dev else shutil.copy(
                    path, folder / f"{i:06d}"
                )

    def learn_ours(self) -> Cost:
        """Learn all messages into a new file."""
        for old in self.place.glob("mail.db*"):
            old.unlink()
        folders = ["--spam", str(self.place / "spam"), "--ham", str(self.place / "ham")]
        return ran([*self.suffice, "learn", "-q", *folders, "--filter", str(self.ours)], fine=0)

    def learn_theirs(self) -> Cost:
        """Do the same with bogofilter."""
        shutil.rmtree(self.theirs, ignore_errors=True)
        self.theirs.mkdir()
        base = ["bogofilter", "-d", str(self.theirs), "-b"]
        return ran([*base, "-s"], self.spam).then(ran([*base, "-n"], self.ham))

    def classify_ours(self) -> Cost:
        """Classify all messages."""
        folders = [str(self.place / "spam"), str(self.place / "ham")]
        return ran([*self.suffice, "classify", *folders, "--filter", str(self.ours)], fine=0)

    def classify_theirs(self) -> Cost:
        """Do the same with bogofilter."""
        return ran(["bogofilter", "-d", str(self.theirs), "-b", "-t"], [*self.spam, *self.ham])

    def alone_ours(self) -> Cost:
        """Classify some messages, with a process for each; return the cost per message."""
        some = [*self.spam[: ALONE // 2], *self.ham[: ALONE // 2]]
        command = [*self.suffice, "classify", "--filter", str(self.ours)]
        return Cost(sum(ran(command, message=path).seconds for path in some) / len(some))

    def alone_theirs(self) -> Cost:
        """Do the same with bogofilter."""
        some = [*self.spam[: ALONE // 2], *self.ham[: ALONE // 2]]
        command = ["bogofilter", "-d", str(self.theirs)]
        return Cost(sum(ran(command, message=path).seconds for path in some) / len(some))

    def resident(self) -> Cost:
        """Classify all messages one by one in one process, on one core, as a server would."""
        code = (
            "import os, sys, time\n"
            "if hasattr(os, 'sched_setaffinity'): os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
            "from suffice.mail import MailFilter\n"
            "raw = [open(line.strip(), 'rb').read() for line in sys.stdin]\n"
            f"mine = MailFilter({str(self.ours)!r}); mine.classify(raw[0])\n"
            "start = time.perf_counter()\n"
            "for message in raw: mine.classify(message)\n"
            "print(time.perf_counter() - start)"
        )
        names = "".join(f"{path}\n" for path in [*self.spam, *self.ham])
        done = subprocess.run([sys.executable, "-c", code], input=names, capture_output=True, text=True, check=True)
        return Cost(float(done.stdout))


def best(work: dict[str, Callable[[], Cost]], repeats: int) -> dict[str, Cost]:
    """Return the best time of each piece of work, interleaved."""
    found: dict[str, Cost] = {}
    for _ in range(repeats):
        for name, run in work.items():
            cost = run()
            found[name] = min(cost, found.get(name, cost))
            print(f"{name}: {cost.seconds:.3f} s", flush=True)
    return found


def bogofilter_online(index: list[tuple[str, Path]], place: Path) -> tuple[list[bool], list[float]]:
    """Return the log-odds of bogofilter's spamicity of each message before it learns the message."""
    import math

    folder = place / "online"
    folder.mkdir()
    scores = []
    for label, path in index:
        with path.open("rb") as given:
            done = subprocess.run(
                ["bogofilter", "-d", str(folder), "-T"], stdin=given, capture_output=True, text=True, check=False
            )
        words = done.stdout.split()
        p = float(words[1]) if len(words) > 1 else 0.5
        scores.append(math.log(max(p, 1e-300)) - math.log(max(1 - p, 1e-300)))
        ran(["bogofilter", "-d", str(folder), "-s" if label == "spam" else "-n"], message=path)
    return [label == "spam" for label, _ in index], scores


def accuracy(index_file: Path, index: list[tuple[str, Path]], place: Path, shuffles: int) -> list[str]:
    """Return rows of a table: both filters in the index's order, and ours over other orders."""
    from suffice.mail.evaluation import evaluate_online, extract_corpus, read_indexed, shuffle_order
    from suffice.mail.outcome import Outcome

    corpus = extract_corpus(read_indexed(index_file, lambda skipped: None))
    ours = evaluate_online(corpus)
    more = [evaluate_online(corpus, shuffle_order(corpus, seed)) for seed in range(shuffles)]
    spam, scores = bogofilter_online(index, place)
    theirs = Outcome(spam, scores, cut=0.0)
    import statistics

    def row(name: str, read: Callable[[Outcome], float]) -> str:
        values = [read(each) for each in more]
        spread = f"{statistics.mean(values):.4f} ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
        return f"| {name} | {read(ours):.4f} | {read(theirs):.4f} | {spread} |"

    return [
        f"| | suffice | bogofilter | suffice, mean of {shuffles} shuffles |",
        "|---|---:|---:|---:|",
        row("(1−ROCA)%", lambda o: o.roca),
        row("(1−ROCA)% after the first 500", lambda o: o.after(500).roca),
        row("(1−ROCA)% after the first 2,000", lambda o: o.after(2000).roca),
        row("spam missed at 0.1 % ham lost, %", lambda o: o.sm_at(0.1)),
    ]


def main() -> None:
    """Measure, and store the tables."""
    from suffice.mail.evaluation import read_index

    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail", description=__doc__)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--shuffles", type=int, default=5)
    given = parser.parse_args()
    index = [(label, path.resolve()) for label, path in read_index(given.index)]
    spam = [path for label, path in index if label == "spam"]
    ham = [path for label, path in index if label != "spam"]
    with tempfile.TemporaryDirectory() as folder:
        rivals = Rivals(spam, ham, Path(folder))
        found = best(
            {
                "learn": rivals.learn_ours,
                "learn, bogofilter": rivals.learn_theirs,
                "classify": rivals.classify_ours,
                "classify, bogofilter": rivals.classify_theirs,
                "alone": rivals.alone_ours,
                "alone, bogofilter": rivals.alone_theirs,
                "resident": rivals.resident,
            },
            given.repeats,
        )
        sizes = [rivals.ours.stat().st_size, sum(each.stat().st_size for each in rivals.theirs.iterdir())]
        count = len(index)
        lines = [
            f"{count:,} messages, {sum(path.stat().st_size for _, path in index) / 1e6:.1f} MB. {machine()}",
            "",
            "| | suffice | bogofilter | ratio |",
            "|---|---:|---:|---:|",
        ]
        for name, what in (("learn", "learn in bulk, messages/s"), ("classify", "classify in bulk, messages/s")):
            mine, other = found[name], found[f"{name}, bogofilter"]
            ours, theirs = count / mine.seconds, count / other.seconds
            lines.append(f"| {what} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.1f}× |")
            lines.append(f"| the same, peak memory, MB | {mine.memory:.0f} | {other.memory:.0f} | |")
        resident, bulk = count / found["resident"].seconds, count / found["classify, bogofilter"].seconds
        where = "classify one by one in one process on one core, messages/s"
        lines.append(f"| {where} | {resident:,.0f} | {bulk:,.0f} (in bulk) | {resident / bulk:.1f}× |")
        ours, theirs = found["alone"].seconds, found["alone, bogofilter"].seconds
        lines.append(
            f"| a process for each message, ms | {1000 * ours:.0f} | {1000 * theirs:.1f} | {theirs / ours:.2f}× |"
        )
        lines.append(
            f"| the filter's file, MB | {sizes[0] / 1e6:.1f} | {sizes[1] / 1e6:.1f} | {sizes[0] / sizes[1]:.2f} |"
        )
        lines += ["", *accuracy(given.index, index, Path(folder), given.shuffles)]
    store(RESULTS, "\n".join(lines) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
