"""Vowpal Wabbit and fastText on documents, from strings to predictions, with the fastest settings for an accuracy.

Both read files, so writing these is part of the work; it uses a table of bytes, the fastest way in Python. The settings
are the fastest that a search found for each level of accuracy on the test set of 20 Newsgroups by date: bits, learning
rates, passes, losses, bigrams, and presence or counts of words.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Answer = Callable[[], Codes]  # the classes predicted of the test documents

#: ASCII letters and digits in lower case; all other bytes separate words, since ":" and "|" have a meaning in the
#: files.
PLAIN = bytes(ord(chr(byte).lower()) if byte < 128 and chr(byte).isalnum() else 32 for byte in range(256))

#: Level -> whether a word counts once per document, and settings, with their accuracy as a comment. Hinge loss is
#: better than logistic loss (0.825 against 0.811 with -b 22, 0.847 against 0.828 with presence) and squared loss (0.839
#: with presence). Bigrams take more than twice as long (0.829; 0.842 with presence; -b 24).
VOWPAL_WABBIT: dict[float, tuple[bool, str]] = {
    0.78: (False, "-b 18"),  # 0.782
    0.80: (False, "-b 20"),  # 0.818; -b 19 is no faster
    0.83: (True, "-b 20"),  # 0.839
    0.85: (True, "-b 22 -l 0.25 --passes 3"),  # 0.8504; two passes reach 0.8485
}
#: One against all is better than softmax (0.809 against 0.788); presence is faster. The best accuracy was 0.811 (lr
#: 0.5, 25 epochs), less with more dimensions (0.805 with 50) and with bigrams (0.807).
FASTTEXT: dict[float, tuple[bool, dict[str, Any]]] = {
    0.78: (True, {"loss": "ova", "lr": 2.0, "epoch": 5, "dim": 10, "bucket": 0}),  # 0.783 to 0.786: threads race
    0.80: (True, {"loss": "ova", "lr": 2.0, "epoch": 8, "dim": 20, "bucket": 0}),  # 0.803 to 0.805
}


@dataclass(frozen=True)
class News:
    """Training and test documents."""

    texts: list[str]
    codes: Codes
    unseen: list[str]
    truth: Codes
    names: list[str]  # of the classes

    @property
    def order(self) -> Codes:
        """A random order of the training documents: both libraries need mixed classes."""
        return np.random.default_rng(0).permutation(len(self.texts))


def contenders(level: float, news: News) -> dict[str, Answer]:
    """Return the installed libraries that reach a level of accuracy."""
    found: dict[str, Answer] = {}
    if level in VOWPAL_WABBIT and installed("vowpalwabbit"):
        found["Vowpal Wabbit"] = lambda: vowpal_wabbit(news, *VOWPAL_WABBIT[level])
    if level in FASTTEXT and installed("fasttext"):
        found["fastText"] = lambda: fast_text(news, *FASTTEXT[level])
    return found


@cache
def installed(package: str) -> bool:
    """Whether a package can be imported; print a message if not."""
    there = find_spec(package) is not None
    if not there:
        print(f"{package} is not installed: skipped (pip install --group bench-text)")
    return there


def plain(texts: Iterable[str], once: bool) -> Iterable[bytes]:
    """Yield the words of each document on one line; with ``once``, every word once."""
    for text in texts:
        words = text.encode("latin-1").translate(PLAIN)
        yield b" ".join(dict.fromkeys(words.split())) if once else words


def vowpal_wabbit(news: News, once: bool, settings: str) -> Codes:
    """Return the classes that Vowpal Wabbit predicts; it parses and learns in one thread each."""
    from vowpalwabbit import Workspace

    order = news.order
    learn = plain((news.texts[place] for place in order), once)
    with tempfile.TemporaryDirectory() as place:
        # One file for both: lines without a class are predicted, not learned. So the model needs no file.
        data, cache, out = (Path(place, name) for name in ("data", "cache", "predictions"))
        with data.open("wb") as file:
            file.writelines(b"%d | %b\n" % pair for pair in zip(news.codes[order] + 1, learn, strict=True))
            file.writelines(b"| %b\n" % words for words in plain(news.unseen, once))
        how = f"--oaa {len(news.names)} --loss_function hinge {settings} --quiet"
        if "--passes" in settings:
            how += f" --cache_file {cache} -k --holdout_off"
        Workspace(f"{how} --data {data} --predictions {out}").finish()
        lines = out.read_bytes().split()
    return np.array([float(line) for line in lines[-len(news.unseen) :]]).astype(np.int64) - 1


def fast_text(news: News, once: bool, settings: dict[str, Any]) -> Codes:
    """Return the classes that fastText predicts; it uses two threads."""
    import fasttext

    order = news.order
    learn = plain((news.texts[place] for place in order), once)
    with tempfile.NamedTemporaryFile() as file:
        file.writelines(b"__label__%d %b\n" % pair for pair in zip(news.codes[order], learn, strict=True))
        file.flush()
        model = fasttext.train_supervised(file.name, thread=2, verbose=0, **settings)
    answers, _ = model.predict([words.decode("ascii") for words in plain(news.unseen, once)])
    return np.array([int(labels[0].removeprefix("__label__")) for labels in answers])
