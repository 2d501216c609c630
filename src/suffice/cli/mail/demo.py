"""suffice mail demo: learn a small mailbox, classify new mail and explain a verdict."""

from __future__ import annotations

import shutil
from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--folder", type=click.Path(), default="suffice-demo", show_default=True, help="Folder of the files that it writes."
)
def demo_command(folder: str) -> None:
    """Learn and classify a small mailbox. One verdict is explained; your own mail is not read."""
    run_demo(prepare_folder(Path(folder)))


def prepare_folder(folder: Path) -> Path:
    """Return a folder for the demonstration; raise if it has files that are not of an earlier demonstration."""
    mark = folder / ".suffice-demo"
    if folder.exists() and not mark.exists() and any(folder.iterdir()):
        raise click.ClickException(f"{folder} is not empty: name another folder, in which files may be overwritten")
    folder.mkdir(parents=True, exist_ok=True)
    mark.touch()
    return folder


def run_demo(folder: Path) -> None:
    """Learn the example mailbox into a filter in a folder, classify its new messages, and explain one verdict."""
    from suffice.cli.mail.options import terminal_width
    from suffice.cli.output import print_line
    from suffice.demo import mailbox
    from suffice.mail import MailFilter
    from suffice.mail.features import decode_subject
    from suffice.mail.mailboxes import Message
    from suffice.mail.mailboxes.streams import interleave_classes, read_messages

    for name in ("spam", "ham", "new"):
        shutil.copy(mailbox(name), folder)
    for ending in ("", "-wal", "-shm"):
        (folder / f"mail.db{ending}").unlink(missing_ok=True)
    chosen = f"--filter {folder / 'mail.db'}"
    print_line(f"$ suffice mail learn --spam {folder / 'spam.mbox'} --ham {folder / 'ham.mbox'} {chosen}", "cyan")
    with MailFilter(folder / "mail.db") as mail:
        classes = {label: [str(folder / f"{label}.mbox")] for label in ("spam", "ham")}
        counts = mail.learn_all(interleave_classes(classes))
        print_line(f"learned {', '.join(f'{count} {label}' for label, count in counts.classes.items())}")
        print_line()
        print_line(f"$ suffice mail classify {folder / 'new.mbox'} {chosen}", "cyan")
        found = [each.data for each in read_messages([folder / "new.mbox"]) if isinstance(each, Message)]
        verdicts = mail.classify_all(found)
        for data, verdict in zip(found, verdicts, strict=True):
            print_line(f"{verdict.label:<6} {verdict.probability:.4f}  {decode_subject(data)}")
        surest = max(range(len(found)), key=lambda i: verdicts[i].probability)
        (folder / "message.eml").write_bytes(found[surest])
        print_line()
        print_line(f"$ suffice mail explain {folder / 'message.eml'} --top 12 {chosen}", "cyan")
        print_line(mail.explain(found[surest]).text(12, terminal_width()))
