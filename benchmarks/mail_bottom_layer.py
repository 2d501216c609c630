"""A new user's filter alone, and above a layer that is built from other corpora: ham lost and spam found.

``SUFFICE_DATA=folder python -m benchmarks.mail_bottom_layer`` stores the table. A layer has learned other corpora,
as `suffice.mail.bottom_layer` does; in every draw, the user's filter learns some messages of the corpus, with and
without the layer, and judges 1,000 ham and 300 spam of the others.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from benchmarks.mail_cold_start import draw, shares
from benchmarks.mail_corpora import LabelledMail, read_corpus
from benchmarks.provenance import store
from suffice import _native
from suffice.mail.bottom_layer import WEIGHT
from suffice.mail.verdict import make_verdict

RESULTS = Path(__file__).with_name("mail_bottom_layer.md")
#: Learned ham and spam.
SIZES = ((0, 0), (25, 25), (50, 50), (100, 100), (500, 500))
#: The user's corpus, and those of the layer below: like it, and unlike it.
LAYERS = (
    ("enron1", ("enron2", "enron3")),
    ("enron2", ("enron1", "enron3")),
    ("enron3", ("enron1", "enron2")),
    ("spamassassin", ("enron1", "enron2", "enron3")),
)


def build_layer(corpora: list[LabelledMail], weight: float) -> _native.mail.State:
    """Return a state that learned corpora in random order, and counts all of it as some messages."""
    state = _native.mail.State(2)
    places = [(mail, i) for mail in corpora for i in range(len(mail))]
    for mail, i in random.Random(0).sample(places, len(places)):
        state.learn(mail.features, i, int(mail.spam[i]), 1.0, 0, 1)
    state.scale(weight / sum(state.messages))
    return state


def judge(
    mail: LabelledMail, learned: list[int], judged: list[int], layer: _native.mail.State | None
) -> tuple[float, float]:
    """Return the percentages of ham lost and of spam found by a filter that learned some messages above a layer."""
    state = _native.mail.State(2)
    if layer is not None:
        state.lay([layer])
        state.mix_as(layer)
    state.learn_all(mail.features, learned, [int(mail.spam[i]) for i in learned], 1.0, 0)
    labels = [make_verdict([state.score(mail.features, i)[0][0]], ("ham", "spam")).label for i in judged]
    return shares(mail.spam[judged], labels)


def main() -> None:
    """Measure, and store the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail_bottom_layer", description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--weight", type=float, default=WEIGHT, help="messages that a layer counts as")
    given = parser.parse_args()
    corpora = {name: read_corpus(name) for name, _ in LAYERS}
    lines = [
        "| learned ham, spam | alone: ham lost, % | spam found, % | above the layer: ham lost, % | spam found, % |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, others in LAYERS:
        mail, layer = corpora[name], build_layer([corpora[other] for other in others], given.weight)
        for size in SIZES:
            rows = []
            for seed in range(given.draws):
                learned, judged = draw(mail, size, seed)
                alone = judge(mail, learned, judged, None) if any(size) else (np.nan, np.nan)
                rows.append([*alone, *judge(mail, learned, judged, layer)])
            found = np.array(rows).mean(axis=0)
            cells = [f"{each:.{2 - k % 2}f}" if np.isfinite(each) else "" for k, each in enumerate(found)]
            title = f"{name} above {', '.join(others)}: {size[0]}, {size[1]}"
            lines.append(f"| {title} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    if given.weight == WEIGHT:
        store(RESULTS, "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
