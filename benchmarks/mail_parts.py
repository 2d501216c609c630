"""The parts of the spam filter and their combination: errors of each, in the online protocol over random orders.

``SUFFICE_DATA=folder python -m benchmarks.mail_parts`` judges every message of a corpus, then learns it, and stores the
table. Features are extracted once, so an order of 6,000 messages takes two seconds.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.mail_corpora import NAMES, LabelledMail, mean_and_margin, read_corpus
from benchmarks.provenance import store
from suffice import _native
from suffice.mail.outcome import Outcome
from suffice.mail.verdict import CUTS

RESULTS = Path(__file__).with_name("mail_parts.md")
#: Parts in the order of their scores; the combination is what a verdict takes.
PARTS = ("combination", "naive Bayes", "regression on tokens", "regression on byte 4-grams")
#: Log-odds of the threshold of spam.
CUT = float(np.log(CUTS[1] / (1 - CUTS[1])))
#: Largest absolute log-odds in a log loss.
MOST = 35.0
COLUMNS = (
    "(1−ROCA)%, first 500",
    "first 2,000",
    "all",
    "ham lost, %",
    "spam missed, %",
    "log loss",
    "worst 0.1 % of ham",
)


def replay(mail: LabelledMail, order: list[int], rates: dict[str, float]) -> npt.NDArray[np.float64]:
    """Return the log-odds of each part on each message before it is learned, (messages, parts)."""
    state = _native.mail.State(2)
    for name, value in rates.items():
        state.rate(name, value)
    scores = np.empty((len(order), len(PARTS)))
    for row, i in zip(scores, order, strict=True):
        row[:] = state.score(mail.features, i)[0]
        state.learn(mail.features, i, int(mail.spam[i]), 1.0, 0, 1)
    return scores


def measure(spam: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]) -> list[float]:
    """Return the values of the columns of the table."""
    outcome = Outcome(spam, scores, CUT)
    bounded = np.clip(scores, -MOST, MOST)
    worst = np.sort(scores[~spam])[-max(1, round((~spam).sum() / 1000)) :]
    return [
        *(Outcome(spam[:count], scores[:count]).roca for count in (500, 2000, len(spam))),
        outcome.hm,
        outcome.sm,
        float(np.logaddexp(0, np.where(spam, -bounded, bounded)).mean()),
        float(worst.mean()),
    ]


def measure_orders(mail: LabelledMail, orders: int, rates: dict[str, float]) -> dict[str, list[list[float]]]:
    """Return for each part the values of each random order."""
    found: dict[str, list[list[float]]] = {part: [] for part in PARTS}
    for seed in range(orders):
        order = list(range(len(mail)))
        random.Random(seed).shuffle(order)
        scores = replay(mail, order, rates)
        for j, part in enumerate(PARTS):
            found[part].append(measure(mail.spam[order], scores[:, j]))
    return found


def table(mail: LabelledMail, found: dict[str, list[list[float]]]) -> list[str]:
    """Return the rows of a corpus: mean ± half the width of the 95 % interval of the mean over orders."""
    orders = len(found[PARTS[0]])
    title = f"{mail.name}: {(~mail.spam).sum():,} ham, {mail.spam.sum():,} spam, {orders} orders"
    rows = [f"| {title} | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * len(COLUMNS)}"]
    for part in (*PARTS[1:], PARTS[0]):
        cells = []
        for column in zip(*found[part], strict=True):
            mean, margin = mean_and_margin(list(column))
            cells.append(f"{mean:.3f} ± {margin:.3f}")
        rows.append(f"| {part} | {' | '.join(cells)} |")
    return rows


def main(arguments: Any = None) -> None:
    """Measure, and store the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail_parts", description=__doc__)
    parser.add_argument("corpora", nargs="*", default=NAMES)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--rate", nargs="*", default=[], metavar="NAME=VALUE", help="other rates; nothing is stored")
    given = parser.parse_args(arguments)
    rates = {name: float(value) for name, value in (each.split("=") for each in given.rate)}
    lines = []
    for name in given.corpora:
        mail = read_corpus(name)
        lines += [*table(mail, measure_orders(mail, given.orders, rates)), ""]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if not rates and tuple(given.corpora) == NAMES:
        store(RESULTS, text)


if __name__ == "__main__":
    main()
