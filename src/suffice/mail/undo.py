"""Undoing a run of sorting: move back what it moved."""

from __future__ import annotations

from dataclasses import dataclass, field

from suffice.mail.errors import MailError
from suffice.mail.ledger import Move, StoredLedger
from suffice.mail.mailboxes import MessageGoneError, SortableMailbox, describe_os_error
from suffice.mail.sorter import INBOX


@dataclass
class UndoResult:
    """What was moved back."""

    run: int
    restored: int = 0
    missing: int = 0  # no longer in the folder to which they were moved: the user moved or deleted them
    failed: list[str] = field(default_factory=list)  # reasons


def undo_run(
    box: SortableMailbox, ledger: StoredLedger, run: int | None = None, *, dry_run: bool = False
) -> UndoResult:
    """Move the messages that a run moved back to the inbox; nothing is learned from that.

    Parameters
    ----------
    box
        The inbox.
    ledger
        Its ledger.
    run
        The number of the run; the last that was not undone if None.
    dry_run
        Whether only to count.
    """
    runs = ledger.runs(INBOX)
    if not runs:
        raise MailError("there is nothing to undo: no run has moved a message, or all were undone")
    chosen = max(runs) if run is None else run
    if chosen not in runs:
        raise MailError(f"run {chosen} moved nothing, or was undone: the runs are {', '.join(map(str, runs))}")
    result = UndoResult(chosen)
    for target in dict.fromkeys(move.target for move in runs[chosen]):
        _undo(box, ledger, [move for move in runs[chosen] if move.target == target], result, dry_run)
    return result


def _undo(box: SortableMailbox, ledger: StoredLedger, moves: list[Move], result: UndoResult, dry_run: bool) -> None:
    target = moves[0].target
    try:
        folder = box.folder(target, create=False)
    except FileNotFoundError:
        result.missing += len(moves)
        return
    here = {entry.key: entry for entry in folder.entries() if "T" not in entry.flags}
    named = {move.moved for move in moves}
    others: dict[str, list[str]] = {}  # keys by identity, of which equal messages have several
    for key, name in ledger.known_files(target).items():
        if name and key in here and key not in named:
            others.setdefault(name, []).append(key)
    found: dict[str, Move] = {}
    for move in moves:
        keys = [move.moved] if move.moved in here else others.get(move.identity)
        if keys:
            found[keys.pop()] = move
        else:
            result.missing += 1
    if dry_run:
        result.restored += len(found)
        return
    back = {key: Move(move.identity, target, key, INBOX) for key, move in found.items()}
    ledger.begin_moves(back.values())
    ledger.flush()
    outcomes = folder.move_all([here[key] for key in found], box)
    with ledger.transaction():
        for key, outcome in outcomes.items():
            if isinstance(outcome, OSError):
                if isinstance(outcome, MessageGoneError):
                    result.missing += 1
                else:
                    result.failed.append(describe_os_error(outcome))
                ledger.drop_moves([back[key]])
                ledger.set_folder(found[key].identity, target)
                continue
            ledger.end_move(back[key]._replace(moved=outcome.key))
            ledger.remove_files(target, [key])
            ledger.drop_moves([found[key], back[key]])
            result.restored += 1
        undone = set(found.values())
        ledger.drop_moves([move for move in moves if move not in undone])
