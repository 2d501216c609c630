"""The spam filter and bogofilter after few messages, and after many of one class: the same draws for both.

``SUFFICE_DATA=folder python -m benchmarks.mail_cold_start`` stores the table. In every draw, both filters learn some
random messages and judge 1,000 ham and 300 spam of the others.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.mail_corpora import NAMES, Bogofilter, LabelledMail, read_corpus
from benchmarks.provenance import store
from suffice import _native
from suffice.mail.verdict import make_verdict

RESULTS = Path(__file__).with_name("mail_cold_start.md")
#: Learned ham and spam.
SIZES = ((25, 25), (50, 50), (100, 100), (50, 1000), (1000, 50))
#: Judged ham and spam.
JUDGED = (1000, 300)


def draw(mail: LabelledMail, size: tuple[int, int], seed: int) -> tuple[list[int], list[int]]:
    """Return the messages to learn, in order of arrival, and those to judge."""
    order = random.Random(seed).sample(range(len(mail)), len(mail))
    learned, judged = [], []
    for label in (0, 1):
        own = [i for i in order if mail.spam[i] == label]
        learned += own[: size[label]]
        judged += own[size[label] : size[label] + JUDGED[label]]
    return sorted(learned), judged


def judge(
    mail: LabelledMail, learned: list[int], judged: list[int], rates: dict[str, float]
) -> tuple[list[str], list[float]]:
    """Return our verdicts, and the log-odds."""
    state = _native.mail.State(2)
    for name, value in rates.items():
        state.rate(name, value)
    state.learn_all(mail.features, learned, [int(mail.spam[i]) for i in learned], 1.0, 0)
    counts = dict(zip(("ham", "spam"), state.messages, strict=True))
    scores = [state.score(mail.features, i)[0][0] for i in judged]
    verdicts = [make_verdict([score], ("ham", "spam"), counts=counts, anyway=True) for score in scores]
    return [verdict.label for verdict in verdicts], scores


def shares(spam: npt.NDArray[np.bool_], labels: list[str]) -> tuple[float, float]:
    """Return the percentages of ham lost and of spam found."""
    called = np.array(labels) == "spam"
    return 100 * float(called[~spam].mean()), 100 * float(called[spam].mean())


def within(spam: npt.NDArray[np.bool_], scores: list[float], lost: float) -> float:
    """Return the percentage of spam that a threshold would find that loses at most a percentage of the judged ham."""
    ham = np.sort(np.array(scores)[~spam])[::-1]
    threshold = ham[int(lost / 100 * len(ham))]
    return 100 * float((np.array(scores)[spam] > threshold).mean())


def interval(values: npt.NDArray[np.float64]) -> str:
    """Return a mean and the 95 % interval of it by the bootstrap over draws: shares of lost ham are far from normal."""
    drawn = np.random.default_rng(0).choice(values, (2000, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{values.mean():.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    """Measure, and store the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail_cold_start", description=__doc__)
    parser.add_argument("corpora", nargs="*", default=("spamassassin", "enron1", "enron2", "enron3"))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="the first draw")
    parser.add_argument("--alone", action="store_true", help="without bogofilter; nothing is stored")
    parser.add_argument("--rate", nargs="*", default=[], metavar="NAME=VALUE", help="other rates; nothing is stored")
    given = parser.parse_args()
    rates = {name: float(value) for name, value in (each.split("=") for each in given.rate)}
    lines = [
        "| learned ham, spam | suffice: ham lost, % | bogofilter | difference | suffice: spam found, % | bogofilter "
        "| suffice, at 0.1 % of ham lost |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name in given.corpora:
        mail = read_corpus(name)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            paths = [] if given.alone else Bogofilter(place / "all").write(mail.messages)
            for size in SIZES:
                rows = []
                for seed in range(given.seed, given.seed + given.draws):
                    learned, judged = draw(mail, size, seed)
                    spam = mail.spam[judged]
                    labels, scores = judge(mail, learned, judged, rates)
                    row = [*shares(spam, labels), within(spam, scores, 0.1), np.nan, np.nan]
                    if not given.alone:
                        rival = Bogofilter(place / f"{size}{seed}")
                        rival.learn(*([paths[i] for i in learned if mail.spam[i] == which] for which in (True, False)))
                        row[3:] = shares(spam, rival.judge([paths[i] for i in judged]))
                    rows.append(row)
                lost, found, best, their_lost, their_found = np.array(rows).T
                cells = [interval(each) for each in (lost, their_lost, lost - their_lost)]
                cells += [f"{each.mean():.1f}" for each in (found, their_found, best)]
                lines.append(f"| {name}: {size[0]}, {size[1]} | {' | '.join(cells)} |")
                print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if not rates and not given.alone and tuple(given.corpora) == NAMES:
        store(RESULTS, text)


if __name__ == "__main__":
    main()
