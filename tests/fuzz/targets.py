"""Fuzz targets. A target yields a function of a random generator that creates one input and processes it."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import suffice
from suffice import _native, formula, store
from suffice.demo import mailbox as demo
from suffice.formula.expressions import FUNCTIONS
from suffice.mail import dump
from suffice.mail.features import extract_features
from suffice.mail.filter import MailFilter
from suffice.mail.mailboxes import Message
from suffice.mail.mailboxes.streams import read_messages
from suffice.mail.message import identify_message
from suffice.text.vectorizers import CountVectorizer
from tests.formula.tables import births
from tests.mail.hostile import HOSTILE, mutated

Case = Callable[[Random], None]
#: Documented exceptions of invalid input: ValueError covers the errors of suffice (StoreError, MailError, TableError).
DOCUMENTED = (ValueError, TypeError, ArithmeticError, MemoryError)
#: Boundary values of arithmetic and indices.
EDGES = [0, 1, -1, 2, 127, 255, 2**15, 2**16, 2**31 - 1, 2**31, -(2**31), 2**32, 2**61, 2**62, 2**63 - 1, -(2**63)]
MODELS: list[Any] = [
    suffice.MultinomialNB(),
    suffice.BernoulliNB(),
    suffice.ComplementNB(),
    suffice.PoissonNB(),
    suffice.GaussianNB(),
    suffice.GDA(shrinkage=0.5),
    suffice.LogisticRegression(C=1.0),
    suffice.SoftmaxRegression(C=1.0),
    suffice.PoissonRegressor(alpha=1.0),
    suffice.NBLogisticRegression(C=1.0),
    suffice.Perceptron(max_iter=2),
    suffice.Ridge(),
    suffice.ElasticNet(),
    suffice.GLM("gaussian", l2=1.0),
    suffice.LocallyWeightedRegression(bandwidth=1.0),
]


@contextmanager
def mail() -> Iterator[Case]:
    """Messages: parsed, tokenised, packed and classified. No message may raise an exception."""
    seeds = [raw for make, _ in HOSTILE.values() if len(raw := make()) < 20_000]
    seeds += [
        each.data for which in ("ham", "spam") for each in read_messages([demo(which)]) if isinstance(each, Message)
    ]
    state = _native.mail.State(2)

    def case(random: Random) -> None:
        raw = mutated(random.choice(seeds), random)
        found = extract_features([raw])
        again = _native.mail.Letters.unpacked([found.packed(0)])
        assert sorted(found.tokens(0)) == sorted(again.tokens(0))
        identify_message(raw)
        state.learn(found, 0, random.randrange(2), 1.0, 1, 1)
        state.scores(found, 1)
        state.contributions(found, 0, 0)
        state.lines(found, 0, raw, 0)
        state.prune(5000)

    yield case


@contextmanager
def text() -> Iterator[Case]:
    """Documents of any characters and bytes, with every kind of analyser. No document may raise an exception."""
    seeds = ["Straße ΣΑΣ İstanbul 中文 字符 ﬁne", "a b  c\t\n", "\ud800 lone", "x" * 70, "ä" * 40, "\x00\u2028ß"]
    ways: list[dict[str, Any]] = [
        {},
        {"ngram_range": (1, 3)},
        {"analyzer": "char", "ngram_range": (1, 4)},
        {"analyzer": "char_wb", "ngram_range": (2, 5)},
        {"lowercase": False, "stop_words": ["a", "fine"]},
    ]

    def document(random: Random) -> str | bytes:
        raw = mutated(random.choice(seeds).encode("utf-8", "surrogatepass"), random)
        return (
            raw
            if random.random() < 0.3
            else raw.decode("utf-8", "surrogateescape" if random.random() < 0.5 else "replace")
        )

    def case(random: Random) -> None:
        documents = [document(random) for _ in range(random.randrange(1, 6))]
        words = CountVectorizer(**random.choice(ways))
        with suppress(ValueError):  # an empty vocabulary
            rows = words.fit_transform([*documents, "fine words"])
            assert rows.has_canonical_format
            words.transform(documents)
        labels = [random.choice("ab") for _ in documents]
        model = suffice.TextClassifier(random.choice(["multinomial", "bernoulli"]))
        model.fit([*documents, "fine words", "other words"], [*labels, "a", "b"]).predict(documents)

    yield case


def _number(random: Random, usual: int) -> int:
    return random.choice(EDGES) if random.random() < 0.5 else usual + random.randrange(-2, 3)


def broken_rows(random: Random) -> Any:
    """Return a sparse matrix, mostly with inconsistent arrays."""
    n, d = random.randrange(1, 9), random.randrange(1, 7)
    made = np.random.default_rng(random.randrange(2**32))
    x = sparse.csr_array(made.poisson(0.7, (n, d)).astype(random.choice([float, np.float32, np.int64, np.uint8])))
    x = x.asformat(random.choice(["csr", "csr", "csr", "csc", "coo", "bsr"]))
    wide = random.choice([np.int32, np.int64])
    names = ["row", "col"] if x.format == "coo" else ["indices", "indptr"]
    for name in (*names, "data"):
        part = np.array(getattr(x, name), dtype=wide if name != "data" else None)
        for _ in range(random.choice([0, 0, 1, 2])):
            if part.size and name != "data":
                with suppress(OverflowError, ValueError):
                    part.flat[random.randrange(part.size)] = _number(random, d)
            elif part.size and part.dtype.kind == "f":
                part.flat[random.randrange(part.size)] = random.choice([np.nan, np.inf, -1.0, 1e308, 5e-324])
        if random.random() < 0.1:
            part = part[: random.randrange(part.shape[0] + 1)]
        with suppress(AttributeError, ValueError):
            setattr(x, name, part)
    if random.random() < 0.2:
        # Sizes between these are legal, and take minutes and all memory.
        sizes = [max(_number(random, each), 0) for each in x.shape]
        x._shape = tuple(size if size <= 2**16 or size >= 2**61 else size % 2**16 for size in sizes)  # noqa: SLF001
    return x


@contextmanager
def rows() -> Iterator[Case]:
    """Sparse matrices of any kind, into every model's fit and predict."""
    good = sparse.csr_array(np.random.default_rng(0).poisson(1.0, (12, 4)).astype(float))
    fitted = {}
    for model in MODELS:
        fitted[model] = clone(model).fit(good if "Locally" not in repr(model) else good.toarray(), np.arange(12) % 2)

    def case(random: Random) -> None:
        x = broken_rows(random)
        model = random.choice(MODELS)
        with suppress(*DOCUMENTED):
            clone(model).fit(x, np.arange(max(0, min(x.shape[0], 64))) % random.choice([2, 3, 8]))
        with suppress(*DOCUMENTED):
            if x.shape[0] < 1000:
                fitted[model].predict(x)

    yield case


def _value(value: Any, random: Random) -> Any:
    """Return a replacement of a JSON value."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        name = random.choice(sorted(value))
        return {**value, name: _value(value[name], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        place = random.randrange(len(value))
        return [*value[:place], _value(value[place], random), *value[place + 1 :]]
    return random.choice([None, True, "", "x", [], {}, 1.5, -0.0, float("inf"), random.choice(EDGES), [value, value]])


def _array(array: np.ndarray, random: Random) -> np.ndarray:
    """Return a replacement of an array."""
    made = array.copy()
    how = random.randrange(5)
    if how == 0 and made.size:
        with suppress(OverflowError, ValueError):
            made.flat[random.randrange(made.size)] = random.choice([*EDGES, np.nan, np.inf, -1.5])
    elif how == 1:
        made = made.reshape(-1)
    elif how == 2 and made.ndim:
        made = made[: random.randrange(made.shape[0] + 1)]
    elif how == 3:
        made = made.astype(random.choice([np.float32, np.int64, np.uint8, np.bool_]))
    else:
        made = np.concatenate([made, made]) if made.ndim else made[None]
    return made


@contextmanager
def models() -> Iterator[Case]:
    """Model files: changed bytes, and files with a valid checksum and invalid contents."""
    with tempfile.TemporaryDirectory() as folder:
        good = np.random.default_rng(0).poisson(1.0, (12, 4)).astype(float)
        kept: list[tuple[bytes, Any]] = []
        path = Path(folder, "model")
        for model in MODELS:
            clone(model).fit(good, np.arange(12) % 2).save(path)
            kept.append((path.read_bytes(), store.read(path)))
        words = suffice.TextClassifier("multinomial").fit(["one two", "two three", "three four"], ["a", "b", "a"])
        words.save(path)
        kept.append((path.read_bytes(), store.read(path)))

        def case(random: Random) -> None:
            data, contents = random.choice(kept)
            if random.random() < 0.2:
                path.write_bytes(mutated(data, random))
            else:
                for _ in range(random.randrange(1, 3)):
                    if contents.arrays and random.random() < 0.6:
                        name = random.choice(sorted(contents.arrays))
                        arrays = {**contents.arrays, name: _array(contents.arrays[name], random)}
                        if random.random() < 0.1:
                            del arrays[name]
                        contents = replace(contents, arrays=arrays)
                    else:
                        contents = replace(contents, settings=_value(contents.settings, random))
                with suppress(*DOCUMENTED):
                    store.write(path, contents)
            with suppress(*DOCUMENTED):
                model = store.load(path)
                model.predict(["one two"] if isinstance(model, suffice.TextClassifier) else good)

        with np.errstate(all="ignore"):
            yield case


def _learned(path: Path) -> None:
    with MailFilter(path) as mine:
        for i in range(6):
            mine.learn(f"Subject: cheap pills {i}\n\nBuy cheap pills now".encode(), "spam")
            mine.learn(f"Subject: lunch {i}\n\nShall we have lunch".encode(), "ham")


def _damage(path: Path, random: Random) -> None:
    """Change a value in some row of a filter's file."""
    connection = sqlite3.connect(path)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = random.choice(sorted(tables))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        rows = connection.execute(f"SELECT rowid, * FROM {table}").fetchall()
        row, place = random.choice(rows), random.randrange(len(columns))
        value = row[place + 1]
        if isinstance(value, bytes):
            value = mutated(value, random) if value else b"\x01"
        elif isinstance(value, str):
            with suppress(ValueError):
                value = json.dumps(_value(json.loads(value), random))
        else:
            value = random.choice([None, "x", b"\0", 1e308, *EDGES[:-2]])
        connection.execute(f"UPDATE {table} SET {columns[place]} = ? WHERE rowid = ?", (value, row[0]))
        connection.commit()
    except (sqlite3.Error, IndexError):
        pass  # the schema or SQLite itself refuses this value
    finally:
        connection.close()


@contextmanager
def filters() -> Iterator[Case]:
    """Filter files: changed bytes, changed rows, and columns passed to the native code directly."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mail.db")
        _learned(path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.close()
        data = path.read_bytes()
        with MailFilter(path) as mine:
            columns = mine.store().state().columns()

        def case(random: Random) -> None:
            for other in Path(folder).iterdir():
                other.unlink()
            how = random.randrange(3)
            if how == 0:
                name = random.choice(sorted(columns))
                with suppress(ValueError):
                    state = _native.mail.State(random.choice([2, 2, 2, 3]))
                    state.put_columns({**columns, name: mutated(columns[name], random)})
                    state.scores(extract_features([b"Subject: x\n\ncheap lunch"]), 1)
                return
            path.write_bytes(mutated(data, random) if how == 1 else data)
            if how == 2:
                _damage(path, random)
            with suppress(ValueError), MailFilter(path) as mine:
                mine.classify(b"Subject: x\n\ncheap lunch")
                mine.learn(b"Subject: y\n\ncheap lunch again", random.choice(["ham", "spam"]))
                list(dump.dump_filter(mine))

        yield case


@contextmanager
def dumps() -> Iterator[Case]:
    """Dumps of filters, our own and bogofilter's, and messages of a journal."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mail.db")
        _learned(path)
        with MailFilter(path) as mine:
            dumped = list(dump.dump_filter(mine))
        dumped = dumped[:40] + dumped[-8:-1] + [f"#end {47}"]
        bogofilter = [".MSG_COUNT 12 9 20260101", "free 7 0 20260101", "subj:lunch 0 5 20260101"]
        packed = extract_features([b"Subject: x\n\ncheap lunch"]).packed(0)

        def case(random: Random) -> None:
            for other in Path(folder).iterdir():
                other.unlink()
            with suppress(ValueError):
                _native.mail.Letters.unpacked([mutated(packed, random)])
            lines = list(random.choice([dumped, bogofilter]))
            for _ in range(random.randrange(1, 4)):
                place = random.randrange(len(lines))
                if random.random() < 0.3:
                    lines[place : place + 1] = random.choice([[], [lines[place]] * 2])
                else:
                    parts = lines[place].split(random.choice(["\t", " "]))
                    parts[random.randrange(len(parts))] = str(random.choice([*EDGES, "nan", "1e400", "", "é", "\0"]))
                    lines[place] = ("\t" if "\t" in lines[place] else " ").join(parts)
                if not lines:
                    lines = [""]
            if lines[-1].startswith("#end"):
                lines[-1] = f"#end {len(lines) - 1}"
            with suppress(ValueError), MailFilter(path) as mine:
                dump.load_dump(mine, lines)
                mine.classify(b"Subject: x\n\ncheap lunch")

        yield case


@contextmanager
def formulas() -> Iterator[Case]:
    """Formulas: pieces of formulas in any order, with changed characters, and files of their models."""
    table = births(60)
    pieces = [
        *"+-*/:^()[]~.,'`%{}|=",
        " ",
        "**",
        "age",
        "lwt",
        "race",
        "smoke",
        "low",
        "days",
        "1",
        "0",
        "2",
        "1e9",
        "3j",
    ]
    pieces += [f"{name}(" for name in FUNCTIONS] + ["knots=[", "df=", "degree=", "__class__", "lambda x: x", "'white'"]
    seeds = [
        "bwt ~ age + C(race, Treatment('white')) * smoke + bs(lwt, 4)",
        "log(bwt) ~ poly(age, 3) + cr(lwt, 4, constraints='center') - 1",
        "low ~ (age + race + smoke)**2 + offset(days / 10) + scale(I(lwt * 2))",
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        formula.fit(seeds[0], table).save(path)
        contents = store.read(path)

        def case(random: Random) -> None:
            if random.random() < 0.3:
                with suppress(*DOCUMENTED):
                    store.write(path, replace(contents, settings=_value(contents.settings, random)))
                    store.load(path).predict(table)
                return
            text = random.choice(seeds)
            for _ in range(random.randrange(1, 6)):
                start = random.randrange(len(text) + 1)
                stop = min(start + random.randrange(5), len(text))
                text = text[:start] + random.choice(pieces) + text[stop:]
            with suppress(*DOCUMENTED):
                penalty: dict[str, float] = random.choice([{"alpha": 1.0}, {"C": 1.0}, {"l2": 1.0}, {}])
                formula.fit(text, table, **penalty).predict(table)

        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield case


TARGETS = {each.__name__: each for each in (mail, text, rows, models, filters, dumps, formulas)}
