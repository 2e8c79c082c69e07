"""What is wrong with a template, found by reading it as the resolver does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from rcc.diagnostic import Edit, Finding, Fix, finding
from rcc.lint.templates import LATE_NAME, Strings, takes_late_name
from rcc.recipe.model import Raw
from rcc.resolve.fill import KNOWN, LATE
from rcc.syntax.template import DOUBLED, MOST_PROBLEMS, Expression, parse_template, undoubled


def check(context: Strings, raw: Raw, names: frozenset[str], foreign: str) -> Iterator[Finding]:
    """RCC301, RCC302 and RCC303 for one string."""
    return islice(_check(context, raw, names, foreign), MOST_PROBLEMS)


def _check(context: Strings, raw: Raw, names: frozenset[str], foreign: str) -> Iterator[Finding]:
    template, errors = parse_template(raw.text)
    for error in errors:
        place = context.inside(raw.path, error.start, error.end)
        fix = _single_braces(context, raw) if error.message == DOUBLED else None
        yield finding("RCC301", error.message, place, help=error.help, fix=fix)
    for one in template.expressions if template else ():
        if one.name == LATE_NAME:
            yield from check_late_bound_name(context, raw, one)
        elif one.name is not None and one.name not in names and not re.fullmatch(foreign, one.name):
            near = context.meant(one.name, names)
            place = context.inside(raw.path, one.start, one.end)
            help = f"did you mean `{near}`?" if near else f"templates know {KNOWN}"
            yield finding("RCC302", f"template name `{one.name}` is not defined", place, help=help)


def _single_braces(context: Strings, raw: Raw) -> Fix | None:
    place = context.inside(raw.path, 0, len(raw.text))
    if place.source is not context.own:
        return None
    return Fix((Edit(place.span, undoubled(place.source.text[place.span.start : place.span.end])),))


def check_late_bound_name(context: Strings, raw: Raw, one: Expression) -> Iterator[Finding]:
    """RCC303: what is known only on the node can be nothing but the whole value of a variable."""
    whole = one.start == 0 and one.end == len(raw.text) and not one.filters
    if not (takes_late_name(raw.path) and whole):
        yield finding("RCC303", LATE.message, context.inside(raw.path, one.start, one.end), help=LATE.help)
