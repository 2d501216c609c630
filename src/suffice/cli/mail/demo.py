"""suffice mail demo: a small mailbox learned, new mail judged and explained."""

from __future__ import annotations

import shutil
from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--folder", type=click.Path(), default="suffice-demo", show_default=True, help="Where to write what is made."
)
def demo_command(folder: str) -> None:
    """Learn a small mailbox that comes along, judge new mail, and say why. Nobody's mail is read or changed."""
    tour(made(Path(folder)))


def made(place: Path) -> Path:
    """Return a folder that is the demonstration's own: a new or empty one, or one that it made before."""
    mark = place / ".suffice-demo"
    if place.exists() and not mark.exists() and any(place.iterdir()):
        raise click.ClickException(f"{place} is not empty: name another folder, whose files may be written over")
    place.mkdir(parents=True, exist_ok=True)
    mark.touch()
    return place


def tour(place: Path) -> None:
    """Learn the small mailbox into a filter in a folder, judge the new letters, and explain one of them."""
    from suffice.cli.mail.options import terminal_width
    from suffice.cli.output import print_line
    from suffice.demo import mailbox
    from suffice.mail import MailFilter
    from suffice.mail.boxes import Letter
    from suffice.mail.boxes import letters as read
    from suffice.mail.heaps import mixed
    from suffice.mail.reading import subject_of

    for name in ("spam", "ham", "new"):
        shutil.copy(mailbox(name), place)
    for ending in ("", "-wal", "-shm"):
        (place / f"mail.db{ending}").unlink(missing_ok=True)
    chosen = f"--filter {place / 'mail.db'}"
    print_line(f"$ suffice mail learn --spam {place / 'spam.mbox'} --ham {place / 'ham.mbox'} {chosen}", "cyan")
    with MailFilter(place / "mail.db") as mine:
        tally = mine.learn_all(mixed({label: [str(place / f"{label}.mbox")] for label in ("spam", "ham")}))
        print_line(f"learned {', '.join(f'{count} {label}' for label, count in tally.classes.items())}")
        print_line()
        print_line(f"$ suffice mail classify {place / 'new.mbox'} {chosen}", "cyan")
        found = [each.data for each in read([place / "new.mbox"]) if isinstance(each, Letter)]
        verdicts = mine.classify_all(found)
        for data, verdict in zip(found, verdicts, strict=True):
            print_line(f"{verdict.label:<6} {verdict.probability:.4f}  {subject_of(data)}")
        surest = max(range(len(found)), key=lambda i: verdicts[i].probability)
        (place / "message.eml").write_bytes(found[surest])
        print_line()
        print_line(f"$ suffice mail explain {place / 'message.eml'} --top 12 {chosen}", "cyan")
        print_line(mine.explain(found[surest]).text(12, terminal_width()))
