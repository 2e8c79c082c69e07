"""`rcc lint`: checks recipes, cluster files and locks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from rcc.cli.linting import lint_file
from rcc.cli.outcome import exit_code, say, wants_color
from rcc.cli.path_type import PATH
from rcc.cli.render import FORMATS, render
from rcc.cli.stdin import STDIN, read_bytes, read_input, stdin_filename_option
from rcc.cli.walk import find_files
from rcc.diagnostic import Finding, Severity, reason

if TYPE_CHECKING:
    from rcc.cluster.model import ClusterFile
    from rcc.lint.settings import Choices

_QUIET = ("full", "concise", "github")
_KINDS = frozenset(("recipe", "cluster", "lock"))


def _codes(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """What a shell completes."""
    from rcc.codes import CODES

    return [code for code in ("all", *CODES) if code.startswith(begun)]


@click.command()
@click.argument("files", type=PATH, nargs=-1, metavar="[FILES]...")
@click.option("-c", "--cluster", type=PATH, metavar="FILE", help="Check the recipes against this cluster file too.")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="full", help="How to tell (default: full).")
@click.option("--select", multiple=True, metavar="CODES", help="Tell only of these codes (a list with commas).")
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not tell of these codes.")
@click.option("--fix", is_flag=True, help="Make the fixes that keep, or restore, what is meant.")
@click.option("--unsafe-fixes", is_flag=True, help="Make the fixes that may change what is meant as well.")
@click.option(
    "--diff", is_flag=True, help="Show what the fixes would change, and change nothing; findings go to stderr."
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@stdin_filename_option
@click.option(
    "--explain", metavar="CODE", help="Print a code's page, or with `all` the list of codes.", shell_complete=_codes
)
def command(
    files: tuple[str, ...],
    cluster: str | None,
    form: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    strict: bool,
    stdin_filename: str,
    explain: str | None,
) -> int:
    """Check recipes, cluster files and locks: FILES, folders or globs; without any, the working folder.

    Exit status: 0 no errors; 1 errors (with --strict also warnings); 2 usage, or a file that cannot be read.
    """
    if explain is not None:
        return _explain(explain)
    run = _Run(_chosen(select, ignore), cluster, stdin_filename)
    changes = False
    if fix or unsafe_fixes or diff:
        from rcc.cli.mending import mend

        changes, found = mend(run, files, unsafe=unsafe_fixes, dry=diff)
    else:
        found = run.lint(files)
    told = sys.stderr if diff or ((fix or unsafe_fixes) and STDIN in files) else sys.stdout
    if found or form not in _QUIET:
        click.echo(render(found, form, color=wants_color(told)), file=told, nl=False)
    warned = strict and any(one.severity is Severity.WARNING for one in found)
    return exit_code(found) or int(warned or changes)


def _explain(code: str) -> int:
    from rcc.lint.pages import index, page

    text = index() if code == "all" else page(code.upper())
    if text is None:
        raise _no_code(code)
    click.echo(text, nl=False)
    return 0


def _no_code(name: str) -> click.UsageError:
    return click.UsageError(f"There is no code `{name}`: `rcc lint --explain all` lists those that there are.")


def _chosen(select: tuple[str, ...], ignore: tuple[str, ...]) -> Choices | None:
    """What the command line chooses; None for everything."""
    if not select and not ignore:
        return None
    from rcc.lint.settings import Choices, codes_of

    def codes(texts: tuple[str, ...]) -> frozenset[str]:
        known, unknown = codes_of(word.strip() for text in texts for word in text.split(",") if word.strip())
        if unknown:
            raise click.UsageError(
                f"There is no code `{unknown[0]}`: `rcc lint --explain all` lists those that there are."
            )
        return known

    return Choices(codes(select) if select else None, codes(ignore))


class _Run:
    """One run over files: what was chosen, and the cluster that recipes are held against."""

    def __init__(self, chosen: Choices | None, cluster: str | None, stdin_name: str) -> None:
        self.chosen = chosen
        self.stdin_name = stdin_name
        self.cluster, self.found = _read_cluster(cluster) if cluster else (None, ())

    def lint(self, names: tuple[str, ...]) -> list[Finding]:
        """What is wrong with the files."""
        found = list(self.found)
        count = 0
        for name in self.files(names):
            data = read_input(name) if name == STDIN else None
            found += self.lint_one(self.stdin_name if name == STDIN else name, data)
            count += 1
        if not count:
            say("no recipe, cluster file or lock here")
        return _each_once(found)

    def files(self, names: tuple[str, ...]) -> Iterable[str]:
        """The files that are meant."""
        return find_files(names or (".",), _KINDS)

    def lint_one(self, name: str, data: bytes | None = None) -> list[Finding]:
        """What is wrong with a file, or with the bytes that stand in for it, as far as it is wanted."""
        from rcc.cli.lint_settings import choices_for

        def read(path: str) -> bytes:
            if path == name and data is not None:
                return data
            return read_bytes(path)

        found = lint_file(name, read, self.cluster)
        choices, of_settings = choices_for(name)
        shown = choices.shown(found) if choices else found
        return [*of_settings, *(self.chosen.shown(shown) if self.chosen else shown)]


def _read_cluster(name: str) -> tuple[ClusterFile | None, tuple[Finding, ...]]:
    from rcc.cluster.read import cluster_of
    from rcc.lint.order import renamed
    from rcc.syntax.document import read_with_duplicates

    try:
        data = read_bytes(name)
    except OSError as error:
        raise click.UsageError(f"`{name}` cannot be read: {reason(error)}.") from error
    document, found = read_with_duplicates(name, data)
    cluster, more = cluster_of(document) if document else (None, ())
    return cluster, renamed((*found, *more))


def _each_once(found: Iterable[Finding]) -> list[Finding]:
    """Findings in a file that several others build on are said once, with the fix that only its own lint makes."""
    kept: dict[object, Finding] = {}
    for one in found:
        place = one.place and (one.place.source.name, one.place.span)
        same = kept.setdefault((one.code, one.message, place), one)
        if one.fix and not same.fix:
            kept[one.code, one.message, place] = one
    return list(kept.values())
