"""The group of all commands. `rcc --help` imports none of them."""

from __future__ import annotations

from importlib import import_module

import click

from rcc import __version__
from rcc.nearest import nearest_name

COMMANDS = {
    "build": "Compile a recipe into what starts it on every node.",
    "diff": "Say what changed in meaning between two results, locks or recipes.",
    "explain": "Say where a value comes from, what it overrode and what it reaches.",
    "fmt": "Lay out recipes in the canonical order.",
    "freeze": "Keep a recipe with all that it was built from, as a report.",
    "gc": "Remove results that nothing names any more.",
    "grade": "Grade how much of a recipe is pinned.",
    "init": "Write a first recipe and cluster file.",
    "lint": "Check recipes, cluster files and locks.",
    "lock": "Pin images, models and staged rows in the lock.",
    "plan": "Show what every target must say.",
    "reports": "List what was frozen.",
    "reproduce": "Build a report again and compare.",
    "rollback": "Go back to the former result.",
    "schema": "Print the JSON Schema of a format.",
    "stage": "Put a rank's rows on this node's own disk.",
    "targets": "List the targets.",
    "verify": "Compare a result, and the node it is on, with its manifest.",
}
"""One line of help for each command; module `rcc.cli.<name>` holds it as `command`, which returns its exit code."""


class LazyGroup(click.Group):
    """A click group that imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"rcc.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = nearest_name(args[0], COMMANDS)
            ctx.fail(f"There is no command `{args[0]}`." + (f" Did you mean `{near}`?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


# The width of help is fixed: no output depends on the terminal.
@click.group(
    cls=LazyGroup,
    context_settings={"terminal_width": 100, "help_option_names": ["-h", "--help"]},
    epilog='Completion in bash: eval "$(_RCC_COMPLETE=bash_source rcc)"; in zsh and fish likewise.',
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def command_line() -> None:
    """Compile a recipe for serving a large model into what starts it on every node.

    Exit status: 0 done; 1 something in the files that you can mend; 2 usage, or a file that is missing or cannot be
    read; 3 a bug in rcc.
    """
