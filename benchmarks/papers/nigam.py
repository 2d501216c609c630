"""Nigam, McCallum, Thrun and Mitchell 2000: unlabelled documents and expectation maximisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.papers import data
from benchmarks.papers.figures import BLACK, BLUE, ORANGE, markdown, percent, picture
from suffice import MultinomialNB

TITLE = "Nigam, McCallum, Thrun and Mitchell 2000: unlabelled documents and EM"
ARCHIVES = ["20news-bydate"]
LABELS = (20, 40, 100, 300, 1000, 3000)
DRAWS = 3
UNLABELLED = 10_000
LENGTH = 200.0  # length to which every document is scaled, in words
UNSCALED = 300  # number of labels at which unscaled documents are also tried
#: Published accuracy in per cent, without and with unlabelled documents.
PUBLISHED = {40: (27, 43), 300: (52, 66)}


def run() -> str:
    """Measure, draw, and return the results."""
    articles, counts = data.articles(), data.newsgroups()
    words = np.asarray(counts.sum(axis=1)).ravel()
    X = sparse.csr_array(sparse.diags_array(LENGTH / np.maximum(words, 1.0)) @ counts)
    pools = [np.random.default_rng(seed).permutation(np.flatnonzero(~articles.latest)) for seed in range(DRAWS)]
    measured = [np.array([measure(X, articles, pool, labels) for pool in pools]) for labels in LABELS]
    draw(np.stack(measured)[:, :, :2])
    rows = [
        row(f"{labels:,}", each, [f"{figure} %" for figure in PUBLISHED.get(labels, ())])
        for labels, each in zip(LABELS, measured, strict=True)
    ]
    unscaled = np.array([measure(counts, articles, pool, UNSCALED) for pool in pools])
    rows.append(row(f"{UNSCALED:,}, articles not scaled", unscaled, []))
    header = ["labels", "labels alone", "published", f"and {UNLABELLED:,} unlabelled", "published", "steps"]
    return (
        f"{markdown(header, rows, left=0)}\n\n"
        f"Test accuracy on the latest fifth of each group ({articles.latest.sum():,} articles), mean and standard "
        f"deviation over {DRAWS} draws of labels, the same number of each group. As in the paper: no headers, letters "
        "only, no stop words, no words that occur in one article only, and every article scaled to the same length "
        f"({LENGTH:.0f} words here) except in the last row; α = 1. Different: the collection without duplicates, the "
        "list of stop words, and fewer draws."
    )


def row(name: str, found: Any, published: list[str]) -> list[str]:
    """Return a row of the table from the results of the draws, (draws, 3)."""
    mean, spread = found.mean(axis=0), found.std(axis=0)
    without, helped = (f"{percent(mean[side])} ± {100 * spread[side]:.1f}" for side in (0, 1))
    quoted = published or ["", ""]
    return [name, without, quoted[0], helped, quoted[1], f"{mean[2]:.0f}"]


def measure(X: Any, articles: data.Articles, pool: Any, labels: int) -> tuple[float, float, int]:
    """Return the test accuracy without and with unlabelled articles, and the steps of expectation maximisation."""
    groups = articles.groups[pool]
    each = labels // len(articles.names)
    taken = np.concatenate([np.flatnonzero(groups == group)[:each] for group in range(len(articles.names))])
    rest = np.delete(pool, taken)[:UNLABELLED]
    x, y = X[pool[taken]], groups[taken]
    held, true = X[articles.latest], articles.groups[articles.latest]
    alone = MultinomialNB().fit(x, y)
    helped = MultinomialNB().fit(x, y, unlabelled=X[rest])
    return alone.score(held, true), helped.score(held, true), len(helped.em_trace_)


def draw(scores: Any) -> None:
    """Draw accuracy against the number of labels."""
    with picture("unlabelled", 1, 1, 4.0) as (_, (panel,)):
        for side, (label, colour, marker) in enumerate(
            ((f"and {UNLABELLED:,} unlabelled", BLUE, "o"), ("labels alone", ORANGE, "s"))
        ):
            accuracy = 100 * scores[:, :, 1 - side]
            panel.semilogx(LABELS, accuracy.mean(axis=1), color=colour, marker=marker, label=label)
            panel.fill_between(
                LABELS, accuracy.min(axis=1), accuracy.max(axis=1), color=colour, alpha=0.15, linewidth=0
            )
        published = [(labels, figure) for labels, pair in PUBLISHED.items() for figure in pair]
        panel.plot(*zip(*published, strict=True), "x", color=BLACK, markersize=7, label="published")
        panel.set_xticks(LABELS, [f"{labels:,}" for labels in LABELS])
        panel.minorticks_off()
        panel.set(xlabel="labelled articles", ylabel="test accuracy, %", ylim=(0, 90))
        panel.legend(loc="lower right")
