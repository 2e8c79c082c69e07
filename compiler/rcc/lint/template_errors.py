"""What is wrong with a template, found by reading it as the resolver does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rcc.diagnostic import Edit, Finding, Fix, finding
from rcc.lint.context import Context
from rcc.recipe.model import Raw
from rcc.resolve.fill import KNOWN, LATE
from rcc.syntax.template import DOUBLED, MOST_PROBLEMS, Expression, parse_template, undoubled

_LATE = "node.gid_index"


def check(context: Context, raw: Raw, names: frozenset[str]) -> Iterator[Finding]:
    """RCC301, RCC302 and RCC303 for one string."""
    return islice(_check(context, raw, names), MOST_PROBLEMS)


def _check(context: Context, raw: Raw, names: frozenset[str]) -> Iterator[Finding]:
    template, errors = parse_template(raw.text)
    for error in errors:
        place = context.inside(raw.path, error.start, error.end)
        fix = _single_braces(context, raw) if error.message == DOUBLED else None
        yield finding("RCC301", error.message, place, help=error.help, fix=fix)
    for one in template.expressions if template else ():
        if one.name == _LATE:
            yield from check_late_bound_name(context, raw, one)
        elif one.name is not None and one.name not in names and not _is_variable(context, one.name):
            near = context.meant(one.name, names)
            place = context.inside(raw.path, one.start, one.end)
            help = f"did you mean `{near}`?" if near else f"templates know {KNOWN}"
            yield finding("RCC302", f"template name `{one.name}` is not defined", place, help=help)


def _single_braces(context: Context, raw: Raw) -> Fix | None:
    place = context.inside(raw.path, 0, len(raw.text))
    if place.source is not context.file.layers.top.source:
        return None
    return Fix((Edit(place.span, undoubled(place.source.text[place.span.start : place.span.end])),))


def _is_variable(context: Context, name: str) -> bool:
    """Whether a name may be one of the cluster's, which the resolver knows where there is a cluster."""
    return name.startswith("vars.") and name.count(".") == 1


def check_late_bound_name(context: Context, raw: Raw, one: Expression) -> Iterator[Finding]:
    """RCC303: what is known only on the node can be nothing but the whole value of a variable."""
    whole = one.start == 0 and one.end == len(raw.text) and not one.filters
    if not (raw.path[0] == "env" and whole):
        yield finding("RCC303", LATE.message, context.inside(raw.path, one.start, one.end), help=LATE.help)
