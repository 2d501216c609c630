"""suffice completion: what a shell needs to complete names."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
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
    click.echo(found(suffice, {}, "suffice", "_SUFFICE_COMPLETE").source())
