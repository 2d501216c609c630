"""Text, from raw strings to counts, models and predictions, compared with scikit-learn, Vowpal Wabbit and fastText.

``python -m benchmarks.text stream --gigabytes 5 --folder /tmp`` measures files larger than memory.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sklearn.feature_extraction import text as scikit
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from benchmarks.harness import Task, Work, _status
from benchmarks.regressions import documents, newsgroups
from benchmarks.text_rivals import News, contenders
from suffice import TextClassifier
from suffice.text import CountVectorizer, HashingVectorizer
from suffice.text.sources import lines

TRAIN, TEST = "11,314 documents of 20 Newsgroups", "7,532 documents of 20 Newsgroups"
ALPHAS = [float(alpha) for alpha in np.logspace(-3, 1, 13)]
#: Level of accuracy -> the fastest settings that reach it, with their accuracy as a comment.
LEVELS: dict[float, dict[str, Any]] = {
    0.78: {"alpha": 0.1, "temperature": 1.0},  # 0.806
    0.80: {"alpha": 0.1, "temperature": 1.0},
    0.83: {"model": "complement", "alpha": 1.0, "temperature": 1.0},  # 0.842
    0.85: {"model": "nb_logistic", "C": 1.0},  # 0.869; the complement of words and pairs reaches 0.857, later
}


def tasks() -> Iterator[Task]:
    """Yield all tasks, if SUFFICE_DATA has 20 Newsgroups."""
    news = by_date()
    if news is None:
        print("SUFFICE_DATA has no 20news-bydate.tar.gz: text is skipped")
        return
    limits = read_bytes(news.texts)
    yield from fitting(news, limits)
    yield asking(news)
    yield from counting(news)
    yield hashing(news, limits)
    for level, settings in LEVELS.items():
        yield reaching(level, settings, news)


def by_date() -> News | None:
    """Return 20 Newsgroups, split by date."""
    folder = newsgroups()
    if folder is None:
        return None
    names = sorted(path.name for path in folder.iterdir())
    test = folder.with_name("20news-bydate-test")
    return News(*documents(folder, names), *documents(test, names), names)


def read_bytes(texts: list[str]) -> dict[str, Work]:
    """Return the limit: reading all characters once, eight at a time."""
    joined = "".join(texts).encode("latin-1")
    words = np.frombuffer(joined, dtype=np.uint64, count=len(joined) // 8)
    return {"bytes.sum()": words.sum}


def pipeline() -> Pipeline:
    """Return scikit-learn's naive Bayes of strings."""
    return make_pipeline(scikit.CountVectorizer(), MultinomialNB(alpha=1.0))


def fitting(news: News, limits: dict[str, Work]) -> Iterator[Task]:
    """Yield naive Bayes from raw strings, with a given smoothing, and chosen in the same pass."""

    def plain() -> TextClassifier:
        return TextClassifier(alpha=1.0, temperature=1.0).fit(news.texts, news.codes)

    def rival() -> Pipeline:
        return pipeline().fit(news.texts, news.codes)

    def search() -> GridSearchCV:
        counts = scikit.CountVectorizer().fit_transform(news.texts)
        return GridSearchCV(MultinomialNB(), {"alpha": ALPHAS}, scoring="neg_log_loss").fit(counts, news.codes)

    def prepare() -> None:
        mine, its = (make().predict(news.unseen) for make in (plain, rival))
        assert np.array_equal(mine, its), f"{np.mean(mine != its):.2%} of the test documents have another class"

    name = "CountVectorizer + MultinomialNB"
    yield Task(f"TextClassifier fit with alpha=1, {TRAIN}", plain, {name: rival}, limits, prepare)
    yield Task(
        f"TextClassifier fit, alpha and temperature chosen, {TRAIN}",
        lambda: TextClassifier().fit(news.texts, news.codes),
        {f"{name}, alpha=1": rival, f"CountVectorizer + GridSearchCV of {len(ALPHAS)} alphas": search},
        limits,
    )


def asking(news: News) -> Task:
    """Return the posteriors of raw strings; they must agree."""
    mine, its = TextClassifier(alpha=1.0, temperature=1.0), pipeline()

    def prepare() -> None:
        for model in (mine, its):
            model.fit(news.texts, news.codes)
        np.testing.assert_allclose(mine.predict_proba(news.unseen), its.predict_proba(news.unseen), atol=1e-8)

    return Task(
        f"TextClassifier predict_proba, {TEST}",
        lambda: mine.predict_proba(news.unseen),
        {"CountVectorizer + MultinomialNB": lambda: its.predict_proba(news.unseen)},
        read_bytes(news.unseen),
        prepare,
    )


def counting(news: News) -> Iterator[Task]:
    """Yield documents to rows of counts; counts and vocabularies must agree."""
    quarter = news.texts[::4]
    for name, texts, settings in (
        (f"words, {TRAIN}", news.texts, {}),
        (f"words and pairs, {TRAIN}", news.texts, {"ngram_range": (1, 2)}),
        (
            f"characters (char_wb, 3 to 5), a quarter of {TRAIN}",
            quarter,
            {"analyzer": "char_wb", "ngram_range": (3, 5)},
        ),
    ):
        yield counted(
            f"CountVectorizer fit_transform: {name}", CountVectorizer, scikit.CountVectorizer, texts, settings
        )
    mine, its = (kind().fit(news.texts) for kind in (CountVectorizer, scikit.CountVectorizer))
    yield Task(
        f"CountVectorizer transform: words, {TEST}",
        lambda: mine.transform(news.unseen),
        {"scikit-learn's": lambda: its.transform(news.unseen)},
        read_bytes(news.unseen),
        lambda: same(mine.transform(news.unseen), its.transform(news.unseen)),
    )


def counted(
    name: str, ours: Callable[..., Any], rival: Callable[..., Any], texts: list[str], settings: dict[str, Any]
) -> Task:
    """Return the counts of new vocabularies."""

    def prepare() -> None:
        mine, its = ours(**settings), rival(**settings)
        same(mine.fit_transform(texts), its.fit_transform(texts))
        assert np.array_equal(mine.get_feature_names_out(), its.get_feature_names_out()), "columns have other names"

    return Task(
        name,
        lambda: ours(**settings).fit_transform(texts),
        {"scikit-learn's": lambda: rival(**settings).fit_transform(texts)},
        read_bytes(texts),
        prepare,
    )


def same(mine: Any, its: Any) -> None:
    """Assert that two matrices are equal, value by value; scikit-learn does not sort the columns of new rows."""
    assert mine.shape == its.shape, f"shapes {mine.shape} and {its.shape}"
    its.sort_indices()
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(mine, name), getattr(its, name)), f"{name} differ"


def hashing(news: News, limits: dict[str, Work]) -> Task:
    """Return the counts of hashed words."""
    mine, its = (kind(alternate_sign=False, norm=None) for kind in (HashingVectorizer, scikit.HashingVectorizer))

    def prepare() -> None:
        same(mine.transform(news.texts), its.transform(news.texts))

    return Task(
        f"HashingVectorizer transform: words, {TRAIN}",
        lambda: mine.transform(news.texts),
        {"scikit-learn's, without signs and norm": lambda: its.transform(news.texts)},
        limits,
        prepare,
    )


def reaching(level: float, settings: dict[str, Any], news: News) -> Task:
    """Return the task of reaching an accuracy on the test documents, from strings to predictions."""

    def ours() -> Any:
        return TextClassifier(**settings).fit(news.texts, news.codes).predict(news.unseen)

    rivals = contenders(level, news)

    def prepare() -> None:
        for name, answer in {"suffice": ours, **rivals}.items():
            accuracy = float(np.mean(answer() == news.truth))
            assert accuracy >= level, f"the accuracy of {name} is only {accuracy:.2%}"

    name = f"20 Newsgroups, strings to predictions with an accuracy of {level:.0%}"
    return Task(name, ours, dict(rivals), read_bytes([*news.texts, *news.unseen]), prepare)


# Files larger than memory: speed and peak memory.

FRAGMENT = 8  # lines of an article
FRAGMENTS, FRESH = 3, 4  # of each document: parts of articles, and words from an unbounded tail
TAIL = 1.2  # the power of the tail
PART = 1 << 26  # bytes per write
SIZES = (0.2, 1.0, 5.0)  # gigabytes


class Writer:
    """Unlimited documents: parts of articles of one newsgroup, and words from an unbounded tail."""

    def __init__(self, news: News) -> None:
        self._names = [name.encode() for name in news.names]
        self._random = np.random.default_rng(0)
        self._pieces: list[list[bytes]] = [[] for _ in news.names]
        for text, code in zip(news.texts, news.codes, strict=True):
            rows = [" ".join(row.split()).encode() for row in text.splitlines()]
            starts = range(0, len(rows), FRAGMENT)
            self._pieces[code].extend(b" ".join(rows[start : start + FRAGMENT]) for start in starts)

    @cached_property
    def _length(self) -> float:
        """The approximate size of a document in bytes."""
        return FRAGMENTS * float(np.mean([len(piece) for pieces in self._pieces for piece in pieces])) + 12 * FRESH

    def write(self, file: BinaryIO, size: int) -> None:
        """Write documents until a file has about this many bytes."""
        while (missing := size - file.tell()) > 0:
            n = int(min(missing, PART) / self._length) + 1
            codes = self._random.integers(len(self._pieces), size=n).tolist()
            places = self._random.random((n, FRAGMENTS)).tolist()
            fresh = self._random.zipf(TAIL, (n, FRESH)).tolist()
            file.writelines(map(self._line, codes, places, fresh))

    def _line(self, code: int, places: list[float], fresh: list[int]) -> bytes:
        pieces = self._pieces[code]
        words = b"".join(b" zq%x" % number for number in fresh)
        return b"%b\t%b%b\n" % (
            self._names[code],
            b" ".join([pieces[int(place * len(pieces))] for place in places]),
            words,
        )


def learn(path: str, settings: dict[str, Any]) -> tuple[float, int, int]:
    """Return the seconds of a fit to a file, the peak memory in bytes, and the number of columns of the model."""
    started = time.perf_counter()
    model = TextClassifier(**settings).fit(lines(path))
    taken = time.perf_counter() - started
    return taken, _status(Path("/proc/self/status"), "VmHWM"), len(model.vocabulary_)


def cut(path: str) -> tuple[float, int, int]:
    """Return the same for reading a file and splitting it into lines, without tokenising."""
    started = time.perf_counter()
    count = sum(len(texts) for texts, _ in lines(path))
    return time.perf_counter() - started, _status(Path("/proc/self/status"), "VmHWM"), count


def stream(gigabytes: float, folder: Path) -> None:
    """Write a growing file, and fit it at each size, in a new process."""
    news = by_date()
    if news is None:
        raise SystemExit("SUFFICE_DATA has no 20news-bydate.tar.gz")
    if shutil.disk_usage(folder).free < (gigabytes + 1) * 1e9:
        raise SystemExit(f"{folder} has less than {gigabytes:g} GB of space")
    writer, path = Writer(news), folder / "suffice-stream.txt"
    learners: dict[str, dict[str, Any]] = {
        "exact, min_documents=2": {"min_documents": 2},
        "hashed": {"vocabulary": "hashed"},
    }
    print("| file | what | seconds | MB/s | peak memory | columns, or lines |\n|---:|---|---:|---:|---:|---:|")
    try:
        for size in [size for size in SIZES if size < gigabytes] + [gigabytes]:
            with path.open("ab") as file:
                writer.write(file, int(size * 1e9))
            works: dict[str, tuple[Any, ...]] = {"lines alone": (cut, str(path))}
            works |= {name: (learn, str(path), settings) for name, settings in learners.items()}
            for name, work in works.items():
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    taken, peak, columns = process.submit(*work).result()
                speed = path.stat().st_size / 1e6 / taken
                print(
                    f"| {size:g} GB | {name} | {taken:.1f} | {speed:.0f} | {peak / 1e6:.0f} MB | {columns:,} |",
                    flush=True,
                )
    finally:
        path.unlink(missing_ok=True)


def main() -> None:
    """Measure files larger than memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.text", description=__doc__)
    parser.add_argument("what", choices=["stream"])
    parser.add_argument("--gigabytes", type=float, default=5.0, help="the size of the largest file")
    parser.add_argument(
        "--folder", type=Path, default=Path("/tmp"), help="where the file is written, and deleted after"
    )
    given = parser.parse_args()
    stream(given.gigabytes, given.folder)


if __name__ == "__main__":
    main()
