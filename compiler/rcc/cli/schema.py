"""`rcc schema`: the formats' JSON Schemas, for editors and other programs."""

from __future__ import annotations

import click


def _names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """What a shell completes."""
    from rcc_schema import names

    return [name for name in names() if name.startswith(begun)]


@click.command()
@click.argument("name", required=False, shell_complete=_names)
def command(name: str | None) -> None:
    """Print the JSON Schema of NAME; without a name, list the formats that have one."""
    from rcc_schema import names, text

    if name is None:
        click.echo("\n".join(names()))
    elif name in names():
        click.echo(text(name), nl=False)
    else:
        raise click.UsageError(f"There is no schema `{name}`: the formats are {', '.join(names())}.")
