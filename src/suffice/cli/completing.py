"""suffice completion: what a shell needs to complete names."""

from __future__ import annotations

import click

from suffice.cli.options import Named


@click.command()
@click.argument("shell", type=Named(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> None:
    r"""Write what SHELL needs to complete commands, options, columns and kinds.

    \b
    bash: suffice completion bash >> ~/.bashrc
    zsh:  suffice completion zsh >> ~/.zshrc
    fish: suffice completion fish > ~/.config/fish/completions/suffice.fish
    """
    from click.shell_completion import get_completion_class

    from suffice.cli.app import suffice

    found = get_completion_class(shell)
    assert found is not None
    if shell == "bash":  # or COLUMN=KIND would be three words
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}")
    click.echo(found(suffice, {}, "suffice", "_SUFFICE_COMPLETE").source())
