"""`rcc fmt`: lays out recipes and cluster files in the canonical order."""

from __future__ import annotations

import click

from rcc.cli.outcome import exit_code, say, tell
from rcc.cli.path_type import PATH
from rcc.cli.rewriting import difference, rewrite
from rcc.cli.stdin import STDIN, read_input, stdin_filename_option
from rcc.cli.walk import find_files
from rcc.diagnostic import Finding, Findings, cannot_read
from rcc.lint.kind import kind_of
from rcc.lint.order import renamed

_KINDS = frozenset(("recipe", "cluster"))


@click.command()
@click.argument("files", type=PATH, nargs=-1, metavar="[FILES]...")
@click.option("--check", is_flag=True, help="Only tell which files are laid out otherwise: then exit with 1.")
@click.option("--diff", is_flag=True, help="Show what would change, and change nothing: then exit with 1.")
@stdin_filename_option
def command(files: tuple[str, ...], check: bool, diff: bool, stdin_filename: str) -> int:
    """Lay out recipes and cluster files in the canonical order: FILES, folders or globs; else the working folder.

    Scalars come first, then arrays, [[arrays of tables]], other tables, [env] last. Comments stay with what follows
    them, and no value changes.
    """
    found: list[Finding] = []
    changed = False
    for name in find_files(files or (".",), _KINDS):
        own = stdin_filename if name == STDIN else name
        texts, more = _laid_out(own, name)
        found.extend(more)
        if texts is None:
            continue
        before, after = texts
        changed |= before != after
        if diff:
            click.echo(difference(own, before, after), nl=False)
        elif check and before != after:
            say(f"{own} would be laid out otherwise")
        elif not check and name == STDIN:
            click.echo(after.encode(), nl=False)
        elif not check and before != after:
            refused = rewrite(name, before.encode(), after)
            found.extend(refused)
            if not refused:
                say(f"{name} laid out")
    if found:
        tell(found)
    return exit_code(found) or (1 if changed and (check or diff) else 0)


def _laid_out(own: str, name: str) -> tuple[tuple[str, str] | None, Findings]:
    """A file's text before and after."""
    from rcc.lint.layout import laid_out
    from rcc.syntax.document import read_document

    try:
        data = read_input(name)
    except OSError as error:
        return None, (cannot_read(name, error),)
    if kind_of(own, data) not in _KINDS:
        return None, ()
    document, found = read_document(own, data)
    if document is None:
        return None, renamed(found)
    return (document.source.text, laid_out(document)), ()
