"""suffice mail demo: a small mailbox learned, new mail judged and explained."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click


@click.command("demo")
def demo_command() -> None:
    """Learn a small mailbox that comes along, judge new mail, and say why. Nobody's mail is read or changed."""
    with tempfile.TemporaryDirectory() as place:
        tour(Path(place))


def tour(place: Path) -> None:
    """Learn the small mailbox into a filter in a folder, judge the new letters, and explain one of them."""
    from suffice.cli.output import print_line
    from suffice.demo import letters
    from suffice.mail import MailFilter
    from suffice.mail.boxes import Letter
    from suffice.mail.boxes import letters as read
    from suffice.mail.heaps import mixed
    from suffice.mail.reading import subject_of

    name = place / "mail.db"
    print_line(f"$ suffice mail learn --spam spam.mbox --ham ham.mbox --filter {name.name}", "cyan")
    name.unlink(missing_ok=True)
    with MailFilter(name) as mine:
        tally = mine.learn_all(mixed({"spam": [str(letters("spam"))], "ham": [str(letters("ham"))]}))
        print_line(f"learned {', '.join(f'{count} {label}' for label, count in tally.classes.items())}")
        print_line()
        print_line(f"$ suffice mail classify new.mbox --filter {name.name}", "cyan")
        found = [each.data for each in read([letters("new")]) if isinstance(each, Letter)]
        verdicts = mine.classify_all(found)
        for data, verdict in zip(found, verdicts, strict=True):
            print_line(f"{verdict.label:<6} {verdict.probability:.4f}  {subject_of(data)}")
        worst = max(range(len(found)), key=lambda i: verdicts[i].probability)
        print_line()
        print_line(f"$ suffice mail explain --filter {name.name} < message   # {subject_of(found[worst])}", "cyan")
        print_line(mine.explain(found[worst]).text(12))
