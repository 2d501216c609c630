"""Sums on a GPU, compared with plain torch and the limits of the card: ``python -m benchmarks.gpu``."""

from __future__ import annotations

import argparse
import gc
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.provenance import store
from suffice import GDA, GaussianNB, LinearRegression, LogisticRegression, SoftmaxRegression
from suffice.families import Response
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.statistics import (
    Curvature,
    DiagonalMoments,
    EventCounts,
    Labels,
    NormalEquations,
    PresenceCounts,
    TiedMoments,
)

RESULTS = Path(__file__).with_name("gpu.md")
#: Number of rows on which sums are compared with those of the CPU, in float64.
COMPARED = 1_000_000


@dataclass
class Card:
    """A device, and its rates of copying and multiplying, measured in the same run."""

    device: str
    scale: int = 1  # the divisor of all sizes
    rounds: int = 5
    rates: dict[str, float] = field(default_factory=dict)  # bytes or operations a second

    @property
    def name(self) -> str:
        """The name of the card."""
        return torch.cuda.get_device_name() if self.device == "cuda" else "the CPU"

    def time(self, work: Callable[[], object]) -> float:
        """Return the seconds of some work, best of several rounds after one to warm up."""
        best = float("inf")
        for number in range(self.rounds + 1):
            self.wait()
            started = time.perf_counter()
            work()
            self.wait()
            if number:
                best = min(best, time.perf_counter() - started)
        return best

    def wait(self) -> None:
        """Wait until the device has finished."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def measure(self) -> None:
        """Measure the limits of the device."""
        numbers = torch.randn(2**31 // self.scale, device=self.device)
        room = torch.empty_like(numbers)
        self.rates["copy"] = 2 * numbers.nbytes / self.time(lambda: room.copy_(numbers))
        self.rates["read"] = numbers.nbytes / self.time(lambda: numbers.sum())
        side = max(int(8192 / self.scale**0.5) // 128 * 128, 128)
        for name, kind, fast in (
            ("float64", torch.float64, False),
            ("float32", torch.float32, False),
            ("tf32", torch.float32, True),
        ):
            torch.backends.cuda.matmul.allow_tf32 = fast
            matrix = torch.randn((side, side), device=self.device, dtype=kind)
            self.rates[name] = 2 * side**3 / self.time(lambda matrix=matrix: matrix @ matrix)
        torch.backends.cuda.matmul.allow_tf32 = False
        host = torch.empty(2**30 // self.scale, dtype=torch.uint8, pin_memory=self.device == "cuda")
        there = torch.empty_like(host, device=self.device)
        self.rates["host to device"] = host.nbytes / self.time(lambda: there.copy_(host, non_blocking=True))


class Sum(NamedTuple):
    """One pass over rows: with suffice, with plain torch, and its least amount of reading and multiplying."""

    name: str
    what: Any
    batch: Batch
    plain: Callable[[], object]
    operations: float  # in float64, for which there are tensor cores


def rows(card: Card, count: float, features: int) -> Any:
    """Return Gaussian rows in float32."""
    return torch.randn((int(count) // card.scale, features), device=card.device) + 0.5


def sums(card: Card) -> Iterator[Sum]:
    """Yield the passes, one at a time: their rows are large."""
    x = rows(card, 1e8, 32)
    for classes in (2, 4, 10):
        yield from per_class(x, classes)
    yield scatter(x, "1e8 × 32")
    target = torch.randn(len(x), device=card.device)
    operations = 2 * len(x) * 32 * 32
    yield Sum(
        "normal equations, 1e8 × 32",
        NormalEquations.over(),
        Batch(x, target),
        lambda x=x, target=target: (x.T @ x, x.T @ target),
        operations,
    )
    for hessian in (False, True):
        yield logistic(f"logistic value and gradient{' and Hessian' if hessian else ''}, 1e8 × 32", x, hessian)
    for classes in (3, 8):
        yield softmax(f"softmax value and gradient, 1e8 × 32, {classes} classes", x, classes)
    del x, target
    for count, features in ((5e7, 64), (2.5e7, 128), (8e6, 512)):
        x = rows(card, count, features)
        size = f"{count:.1e} × {features}".replace("e+0", "e").replace(".0e", "e")
        yield scatter(x, size)
        if features == 128:
            yield logistic(f"logistic value and gradient, {size}", x, False)


def per_class(x: Any, classes: int) -> Iterator[Sum]:
    """Yield sums over classes."""
    y = torch.randint(0, classes, (len(x),), device=x.device)
    labels, size = Labels.of(range(classes)), f"1e8 × 32, {classes} classes"
    member = torch.nn.functional.one_hot(y, classes).float()
    yield Sum(
        f"moments per class, {size}",
        DiagonalMoments.over(labels),
        Batch(x, y),
        lambda: (member.T @ x, member.T @ (x * x)),
        0,
    )
    if classes > 2:
        return
    yield Sum(
        f"presence counts, {size}",
        PresenceCounts.over(labels, 0.5),
        Batch(x, y),
        lambda: member.T @ (x > 0.5).float(),
        0,
    )
    counts = x.abs()
    yield Sum(f"event counts, {size}", EventCounts.over(labels), Batch(counts, y), lambda: member.T @ counts, 0)


def scatter(x: Any, size: str) -> Sum:
    """Return the pooled scatter of two classes."""
    y = torch.randint(0, 2, (len(x),), device=x.device)
    what = TiedMoments.over(Labels.of([0, 1]))
    return Sum(f"tied scatter, {size}, 2 classes", what, Batch(x, y), lambda: tied(x, y), 2 * len(x) * x.shape[1] ** 2)


def tied(x: Any, y: Any) -> object:
    """Return the scatter about the class means, in plain torch."""
    member = torch.nn.functional.one_hot(y, 2).float()
    mean = member.T @ x / member.sum(0)[:, None]
    z = x - mean[y]
    return z.T @ z


def logistic(name: str, x: Any, hessian: bool) -> Sum:
    """Return a pass of a logistic regression."""
    y = torch.randint(0, 2, (len(x),), device=x.device).float()
    theta = np.linspace(-0.1, 0.1, x.shape[1] + 1)[:, None]
    coef = torch.asarray(theta[1:, 0], dtype=torch.float32, device=x.device)

    def plain() -> object:
        z = x @ coef + float(theta[0, 0])
        p = torch.sigmoid(z)
        value = (y * z - torch.nn.functional.softplus(z)).sum()
        return value, x.T @ (y - p), x.T @ ((p * (1 - p))[:, None] * x) if hessian else None

    what = Curvature.over(Response.of("bernoulli"), theta, True, hessian)
    return Sum(name, what, Batch(x, y), plain, 2 * x.shape[0] * x.shape[1] ** 2 if hessian else 0)


def softmax(name: str, x: Any, classes: int) -> Sum:
    """Return a pass of a softmax regression."""
    theta = np.linspace(-0.1, 0.1, (x.shape[1] + 1) * (classes - 1)).reshape(x.shape[1] + 1, classes - 1)
    y = torch.randint(0, classes, (len(x),), device=x.device)
    coef = torch.asarray(theta, dtype=torch.float32, device=x.device)

    def plain() -> object:
        z = torch.nn.functional.pad(x @ coef[1:] + coef[0], (0, 1))
        p = torch.softmax(z, 1)
        value = torch.log_softmax(z, 1).gather(1, y[:, None]).sum()
        p.scatter_add_(1, y[:, None], torch.full((len(x), 1), -1.0, device=x.device))
        return value, x.T @ p[:, :-1]

    return Sum(name, Curvature.over(Response.of("multinomial"), theta, True, False), Batch(x, y), plain, 0)


def error(what: Any, batch: Batch) -> float:
    """Return the difference of sums of the first rows from those of the CPU in float64, relative to the largest."""
    few = Batch(batch.x[:COMPARED], batch.y[:COMPARED])
    host = Batch(few.x.cpu().numpy(), few.y.cpu().numpy())
    ours = ArrayEngine().accumulate(what, few).to_arrays()
    truth = ThreadEngine().accumulate(what, host).to_arrays()
    # Bounds of rounding errors differ between engines.
    names = [name for name in truth if name not in ("depth", "bounds") and not name.endswith("_error")]
    apart = [
        np.abs(ours[name] - truth[name]).max() / np.abs(truth[name]).max()
        for name in names
        if truth[name].size and truth[name].dtype.kind == "f" and truth[name].any()
    ]
    return float(max(apart))


def table_of_sums(card: Card) -> Iterator[str]:
    """Yield the table of passes, line by line."""
    yield "| pass | ours | reads | limit | ours / limit | plain torch, float32 | ratio | error |"
    yield "|---|---:|---:|---|---:|---:|---:|---:|"
    for task in sums(card):
        engine = ArrayEngine()
        ours = card.time(lambda task=task, engine=engine: engine.accumulate(task.what, task.batch))
        plain = card.time(task.plain)
        read = task.batch.x.nbytes + task.batch.y.nbytes
        floors = {"copying": read / card.rates["copy"], "float64 products": task.operations / card.rates["float64"]}
        limit = max(floors, key=lambda name: floors[name])
        yield (
            f"| {task.name} | {ours * 1e3:.2f} ms | {read / ours / 1e12:.2f} TB/s | {limit} "
            f"| {floors[limit] / ours:.0%} | {plain * 1e3:.2f} ms | {plain / ours:.1f}× "
            f"| {error(task.what, task.batch):.0e} |"
        )
        task = None
        gc.collect()


def fits(card: Card) -> Iterator[str]:
    """Yield the times of whole fits, from rows and targets on the device to a model."""
    yield "| fit, 1e8 × 32 float32, 12.8 GB | time |"
    yield "|---|---:|"
    x = rows(card, 1e8, 32)
    score = x @ torch.linspace(-1, 1, 32, device=card.device)
    noise = torch.randn(len(x), device=card.device)
    two, three = (
        (score + 3 * noise > 0).long(),
        torch.bucketize(score + 3 * noise, torch.tensor([-2.0, 2.0], device=card.device)),
    )
    for model, y in (
        (GaussianNB(), two),
        (GDA(), two),
        (LinearRegression(), score + noise),
        (LogisticRegression(), two),
        (SoftmaxRegression(), three),
    ):
        yield f"| {type(model).__name__} | {card.time(lambda model=model, y=y: model.fit(x, y)) * 1e3:.0f} ms |"


def streams(card: Card) -> Iterator[str]:
    """Yield the rates at which rows on the host are summed on the device."""
    yield "| rows of the host | read | rate | of the bus |"
    yield "|---|---:|---:|---:|"
    count = 200_000_000 // card.scale
    pinned = torch.empty((count // 4, 32), pin_memory=card.device == "cuda")
    pageable = np.empty((count, 32), dtype=np.float32)
    block = torch.randn((count // 100, 32), device=card.device).cpu()
    for target in (pinned, torch.from_numpy(pageable)):
        for start in range(0, len(target), len(block)):
            target[start : start + len(block)] = block[: len(target) - start]
    y = np.random.default_rng(0).integers(0, 2, count).astype(np.uint8)
    engine, what = ArrayEngine(device=card.device), DiagonalMoments.over(Labels.of([0, 1]))
    for name, x, passes in (("NumPy, pageable", pageable, 4), ("torch, pinned", pinned, 16)):
        batch = Batch(x[:], y[: len(x)])
        engine.accumulate(what, Batch(x[: len(x) // 8], y[: len(x) // 8]))
        started = time.perf_counter()
        for _ in range(passes):
            engine.accumulate(what, Batch(x, y[: len(x)]))  # a new batch each time: nothing is cached on the device
        card.wait()
        seconds = time.perf_counter() - started
        read = passes * (batch.x.nbytes + batch.y.nbytes)
        yield (
            f"| {name}, {batch.x.nbytes / 1e9:.1f} GB {passes} times | {read / 1e9:.1f} GB "
            f"| {read / seconds / 1e9:.1f} GB/s | {read / seconds / card.rates['host to device']:.0%} |"
        )


def report(card: Card, sections: list[Callable[[Card], Iterator[str]]]) -> str:
    """Measure, print the results as they are found, and return the page."""
    card.measure()
    rates = card.rates
    lines = [
        f"Card: {card.name}.",
        "",
        textwrap.fill(
            f"torch {torch.__version__}. Measured in the same run: copying {rates['copy'] / 1e12:.2f} TB/s (read and "
            f"written), reading {rates['read'] / 1e12:.2f} TB/s, matrix products {rates['float64'] / 1e12:.1f} TFLOP/s "
            f"in float64, {rates['float32'] / 1e12:.1f} in float32, {rates['tf32'] / 1e12:.0f} in TF32, host to device "
            f"{rates['host to device'] / 1e9:.1f} GB/s. Best of {card.rounds}. suffice sums in float64; the error is "
            "the difference of the sums of 1e6 rows from those of the CPU in float64, relative to the largest.",
            120,
        ),
    ]
    print("\n".join(lines), flush=True)
    for section in sections:
        for line in ["", *section(card)]:
            print(line, flush=True)
            lines.append(line)
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> str:
    """Run the benchmark; with --write, store the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a few thousand rows, on the CPU")
    parser.add_argument("--write", type=Path, nargs="?", const=RESULTS, help="where to write the page of results")
    parser.add_argument("--only", choices=["sums", "fits", "streams"], action="append")
    chosen = parser.parse_args(arguments)
    card = Card("cpu", scale=200_000, rounds=1) if chosen.small else Card("cuda")
    every: dict[str, Callable[[Card], Iterator[str]]] = {"sums": table_of_sums, "fits": fits, "streams": streams}
    page = report(card, [every[name] for name in chosen.only or every])
    if chosen.write:
        store(chosen.write, page)
    return page


if __name__ == "__main__":
    main()
