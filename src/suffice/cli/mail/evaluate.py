"""suffice mail evaluate: error rates of a filter on labelled mail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.mail.learn import ClassCommand, class_options, group_by_class, show_progress
from suffice.cli.mail.options import json_option, print_remark, quiet_option, which_option, write_json

if TYPE_CHECKING:
    from suffice.mail.evaluation import Corpus
    from suffice.mail.mailboxes import Skipped
    from suffice.mail.outcome import Outcome

#: Numbers of messages after which the rest is also measured separately.
_AFTER = (500, 2000)


@dataclass(frozen=True)
class _Judge:
    """One side of a comparison: a new filter that learns, or the file of one that does not."""

    train: Any
    cuts: tuple[float, float] | None = None  # None: those of the file, or the defaults
    path: str | None = None

    def evaluate(self, corpus: Corpus, shuffles: int) -> list[Outcome]:
        """Return the outcome of each order; a filter that does not learn has the same in all."""
        from suffice.mail import MailFilter
        from suffice.mail.evaluation import evaluate_orders, judge_corpus, shuffle_order
        from suffice.mail.verdict import CUTS

        if self.path is not None:
            with MailFilter(self.path) as mail:
                return [judge_corpus(corpus, mail, self.cuts)] * max(shuffles, 1)
        orders = [shuffle_order(corpus, seed) for seed in range(shuffles)] or [list(range(len(corpus)))]
        return evaluate_orders(corpus, orders, train=self.train, cuts=self.cuts or CUTS)

    def changed(self, text: str) -> _Judge:
        """Return the other side: the file of a filter, or this side with other settings, as NAME=VALUE,NAME=VALUE."""
        from suffice.mail.verdict import CUTS, check_cuts

        if "=" not in text:
            return replace(self, path=text)
        low, high = self.cuts or CUTS
        other = self
        for item in text.split(","):
            name, _, value = item.strip().partition("=")
            if name == "train" and value in ("all", "error", "near") and self.path is None:
                other = replace(other, train=value)
            elif name in ("ham-cut", "spam-cut") and _is_number(value):
                low, high = (float(value), high) if name == "ham-cut" else (low, float(value))
                other = replace(other, cuts=(low, high))
            else:
                known = "ham-cut=P, spam-cut=P" + ("" if self.path else " and train=all, error or near")
                raise click.UsageError(f"--against {item.strip()!r} is neither the file of a filter nor one of {known}")
        check_cuts(other.cuts or CUTS)
        return other


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@click.command("evaluate", cls=ClassCommand)
@click.argument("index", required=False, type=click.Path(), metavar="[INDEX|FOLDER]")
@class_options
@click.option(
    "--folds", type=click.IntRange(min=2), metavar="K", help="Cross-validate in K folds instead of judging in order."
)
@click.option(
    "--shuffles",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also evaluate N random orders: mean and standard deviation.",
)
@which_option
@click.option("--ham-cut", type=float, help="A message is ham below this probability of spam. [default: 0.3]")
@click.option("--spam-cut", type=float, help="A message is spam from this probability of spam on. [default: 0.9]")
@click.option(
    "--filter", "path", type=click.Path(readable=False), metavar="FILE", help="Judge by this filter, which learns none."
)
@click.option(
    "--against",
    metavar="FILE|SETTINGS",
    help="Compare with another filter, or with other settings, such as train=error,spam-cut=0.99, message by message.",
)
@click.option(
    "--plot", type=click.Path(), metavar="FILE", help="Plot the ROC curve and the learning curve (.svg, .png, .pdf)."
)
@click.option("--calibration", type=click.Path(), metavar="FILE", help="Plot the calibration curve.")
@json_option
@quiet_option
def evaluate_command(
    index: str | None,
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    others: tuple[tuple[str, str], ...],
    folds: int | None,
    shuffles: int | None,
    train: Any,
    ham_cut: float | None,
    spam_cut: float | None,
    path: str | None,
    against: str | None,
    plot: str | None,
    calibration: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure error rates on labelled mail. A new filter judges each message, then learns it, in order.

    INDEX is a file with a class and a path per line. A FOLDER has a folder of mail for each class. Your own filter is
    neither read nor changed, unless --filter names it to be read.
    """
    from suffice.mail.evaluation import cross_validate, evaluate_online, evaluate_stream, extract_corpus
    from suffice.mail.verdict import CUTS, check_cuts

    cuts = check_cuts((CUTS[0] if ham_cut is None else ham_cut, CUTS[1] if spam_cut is None else spam_cut))
    own_cuts = None if ham_cut is None and spam_cut is None else cuts
    if folds is not None and (shuffles is not None or train != "all"):
        raise click.UsageError("--folds cannot be combined with --shuffles or --train")
    if (path is not None or against is not None) and folds is not None:
        raise click.UsageError("--folds cannot be combined with --filter or --against")
    if path is not None and (train != "all" or (shuffles is not None and against is None)):
        raise click.UsageError("--filter cannot be combined with --train or --shuffles: it learns nothing here")
    if against is not None and (plot is not None or calibration is not None):
        raise click.UsageError("--against cannot be combined with --plot or --calibration")
    judge = _Judge(train, own_cuts, path)
    other = judge.changed(against) if against is not None else None
    _check_plots(plot, calibration)
    skipped: list[Skipped] = []
    more: list[Outcome] = []
    pairs, classes, total = _read_mail(index, spam, ham, others, skipped)
    with show_progress(pairs, total, quiet=quiet or as_json, doing="judging") as pairs:
        if folds is None and shuffles is None and path is None and against is None:
            outcome, counts = evaluate_stream(pairs, classes, train=train, cuts=cuts)
        else:
            corpus = extract_corpus(pairs)
            counts = {name: corpus.labels.count(k) for k, name in enumerate(corpus.classes)}
            if other is not None:
                _compare(corpus, counts, (judge, other), shuffles or 0, skipped, as_json, quiet)
                return
            if path is not None:
                (outcome,) = judge.evaluate(corpus, 1)
            elif folds:
                outcome = cross_validate(corpus, folds, cuts=cuts)
            else:
                outcome = evaluate_online(corpus, train=train, cuts=cuts)
            more = _evaluate_shuffles(corpus, shuffles or 0, train, cuts)
    online = folds is None and path is None
    if as_json:
        write_json(_as_dict(counts, outcome, more, online, skipped))
    else:
        how = f"cross-validated in {folds} folds" if folds else f"judged by {path}, which learned none"
        _print(counts, outcome, more, online, "each judged, then learned" if online else how, skipped, quiet)
    _plot(outcome, plot, calibration)


def _compare(
    corpus: Corpus,
    counts: dict[str, int],
    sides: tuple[_Judge, _Judge],
    shuffles: int,
    skipped: list[Skipped],
    as_json: bool,
    quiet: bool,
) -> None:
    """Print the measures of two filters or settings on the same messages, and the intervals of their differences."""
    from suffice.cli.output import counted, print_line, show_table
    from suffice.mail.comparison import compare_outcomes

    first, second = (side.evaluate(corpus, shuffles) for side in sides)
    found = compare_outcomes(first, second)
    if as_json:
        differences = [each._asdict() for each in found]
        write_json({"messages": len(corpus), "classes": counts, "differences": differences, **_skipped_dict(skipped)})
        return
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    orders = f", mean of {counted(shuffles, 'shuffle')}" if shuffles else ""
    print_line(f"{counted(len(corpus), 'message')} ({parts}), paired{orders}")
    show_table(
        ["", "first", "second", "second - first", "95 % interval"],
        [
            [name, f"{a:.4g}", f"{b:.4g}", f"{gap:+.3g}", f"{low:+.3g} to {high:+.3g}"]
            for name, a, b, gap, (low, high) in found
        ],
    )
    _remark_skipped(skipped, quiet)


def _check_plots(*paths: str | None) -> None:
    """Raise before the evaluation if a plot could not be written."""
    for path in paths:
        if path is None:
            continue
        from suffice.plots.style import require_matplotlib

        require_matplotlib()
        from matplotlib.backend_bases import FigureCanvasBase

        if not Path(path).parent.is_dir():
            raise click.ClickException(f"there is no folder to write {path} to")
        kinds = FigureCanvasBase.get_supported_filetypes()
        if Path(path).suffix[1:] not in kinds:
            raise click.ClickException(f"{path} must end in one of {', '.join(f'.{kind}' for kind in kinds)}")


def _read_mail(
    index: str | None,
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    others: tuple[tuple[str, str], ...],
    skipped: list[Skipped],
) -> tuple[Iterator[tuple[bytes, str]], list[str], int | None]:
    """Return the messages with their classes, the classes, and the approximate number of bytes."""
    from suffice.mail.evaluation import read_index, read_indexed
    from suffice.mail.mailboxes.streams import interleave_classes, total_size

    if index is None:
        classes = group_by_class(spam, ham, others)
        if any("-" in paths for paths in classes.values()):
            raise click.UsageError("an evaluation cannot read standard input: give files or folders")
    else:
        if spam or ham or others:
            raise click.UsageError("give either an index or folder, or --spam and --ham")
        path = Path(index)
        if not path.is_dir():
            names = list(dict.fromkeys(label for label, _ in read_index(path)))
            return read_indexed(path, skipped.append), names, None
        classes = {each.name: [str(each)] for each in sorted(path.iterdir()) if each.is_dir()}
        if "spam" not in classes or len(classes) < 2:
            raise click.UsageError(
                f"{index} must have a folder 'spam' and another one, such as 'ham'; it has {list(classes)}"
            )
    total = total_size([path for paths in classes.values() for path in paths])
    return interleave_classes(classes, skipped.append), list(classes), total


def _evaluate_shuffles(corpus: Corpus, count: int, train: Any, cuts: tuple[float, float]) -> list[Outcome]:
    from suffice.mail.evaluation import evaluate_online, shuffle_order

    orders = (shuffle_order(corpus, seed) for seed in range(count))
    return [evaluate_online(corpus, order, train=train, cuts=cuts) for order in orders]


def _measures(outcome: Outcome, online: bool) -> list[tuple[str, float, tuple[float, float] | None]]:
    """Return the name, value and confidence interval of each measure."""
    rows: list[tuple[str, float, tuple[float, float] | None]] = [
        ("(1-ROCA)%", outcome.roca, outcome.interval("roca")),
    ]
    for k in _AFTER:
        if online and len(outcome) > k + 100:
            rest = outcome.after(k)
            rows.append((f"(1-ROCA)% after the first {k:,}", rest.roca, rest.interval("roca")))
    unsure = outcome.unsure_share
    return [
        *rows,
        ("hm%: ham filed as spam", outcome.hm, outcome.interval("hm")),
        ("sm%: spam not filed", outcome.sm, outcome.interval("sm")),
        ("lam%: both, logistic average", outcome.lam, outcome.interval("lam")),
        ("sm% at hm 0.1 %", outcome.sm_at(0.1), None),
        ("ham left unsure, %", unsure.ham, None),
        ("spam left unsure, %", unsure.spam, None),
        ("calibration error, %", 100 * outcome.calibration_error(), None),
    ]


def _spread(more: list[Outcome], online: bool) -> list[tuple[float, float]]:
    import numpy as np

    values = np.array([[value for _, value, _ in _measures(each, online)] for each in more])
    return [
        (float(mean), float(sd)) for mean, sd in zip(values.mean(0), values.std(0, ddof=len(more) > 1), strict=True)
    ]


def _print(
    counts: dict[str, int],
    outcome: Outcome,
    more: list[Outcome],
    online: bool,
    how: str,
    skipped: list[Skipped],
    quiet: bool,
) -> None:
    from suffice.cli.output import counted, print_line, show_table

    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print_line(f"{counted(len(outcome), 'message')} ({parts}), {how}")
    rows = [
        [name, f"{value:.4g}", f"{interval[0]:.3g} to {interval[1]:.3g}" if interval else ""]
        for name, value, interval in _measures(outcome, online)
    ]
    columns = ["", "this order" if more else "", "95 % interval"]
    if more:
        columns.append(f"mean of {counted(len(more), 'shuffle')}")
        rows = [[*row, f"{mean:.4g} ± {sd:.2g}"] for row, (mean, sd) in zip(rows, _spread(more, online), strict=True)]
    show_table(columns, rows)
    found = outcome.calibration_curve(10)
    print_line()
    show_table(
        ["predicted", "observed", "messages"],
        [[f"{p:.3f}", f"{o:.3f}", int(n)] for p, o, n in zip(*found, strict=True)],
        "calibration",
    )
    if online:
        curve = outcome.learning_curve(
            [k for k in (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000) if k < len(outcome)]
        )
        if len(curve.seen):
            print_line()
            columns = ["messages seen", "(1-ROCA)% so far", "ham lost since", "spam missed since"]
            points = [[int(k), f"{r:.4g}", int(h), int(s)] for k, r, h, s in zip(*curve, strict=True)]
            show_table(columns, points, "learning curve")
    _remark_skipped(skipped, quiet)


def _remark_skipped(skipped: list[Skipped], quiet: bool) -> None:
    if not quiet:
        for one in skipped[:10]:
            print_remark(f"skipped {one.where}: {one.why}")


def _skipped_dict(skipped: list[Skipped]) -> dict[str, Any]:
    return {"skipped": [{"where": each.where, "why": each.why} for each in skipped]}


def _as_dict(
    counts: dict[str, int], outcome: Outcome, more: list[Outcome], online: bool, skipped: list[Skipped]
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "messages": len(outcome),
        "classes": counts,
        "measures": [
            {"what": name, "value": value, "interval": interval} for name, value, interval in _measures(outcome, online)
        ],
        "reliability": [
            {"said": float(p), "was_spam": float(o), "messages": int(n)}
            for p, o, n in zip(*outcome.calibration_curve(10), strict=True)
        ],
        **_skipped_dict(skipped),
    }
    if more:
        names, spread = [name for name, _, _ in _measures(outcome, online)], _spread(more, online)
        found["shuffles"] = [
            {"what": name, "mean": mean, "sd": sd} for name, (mean, sd) in zip(names, spread, strict=True)
        ]
    return found


def _plot(outcome: Outcome, plot: str | None, calibration: str | None) -> None:
    if plot is not None:
        from suffice.plots import SpamFilterDisplay

        curve = outcome.learning_curve()
        SpamFilterDisplay(
            {"suffice": outcome.roc()},
            {"suffice": (curve.seen, curve.roca)},
            operating_points={"suffice": (outcome.hm, outcome.sm)},
        ).plot().figure_.savefig(plot)
    if calibration is not None:
        from suffice.plots import CalibrationDisplay

        CalibrationDisplay(*outcome.calibration_curve(), label="spam").plot().figure_.savefig(calibration)
