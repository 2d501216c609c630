"""suffice completion: scripts for shell completion."""

from __future__ import annotations

import click

from suffice.cli.options import Named

#: Ends the help; \b keeps the lines as they are.
_EXAMPLES = """\b
bash: suffice completion bash >> ~/.bashrc
zsh:  suffice completion zsh >> ~/.zshrc
fish: suffice completion fish > ~/.config/fish/completions/suffice.fish
"""


@click.command(epilog=_EXAMPLES)
@click.argument("shell", type=Named(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> None:
    """Print the completion script of SHELL: bash, zsh or fish.

    It completes commands, options, columns and column kinds.
    """
    from click.shell_completion import get_completion_class

    from suffice.cli.app import suffice

    found = get_completion_class(shell)
    assert found is not None
    if shell == "bash":  # without this, bash splits COLUMN=KIND into three words
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}")
    click.echo(found(suffice, {}, "suffice", "_SUFFICE_COMPLETE").source())
