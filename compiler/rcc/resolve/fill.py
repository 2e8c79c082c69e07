"""Fills templates, and says what is wrong where one cannot be filled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

from rcc.diagnostic import MOST, Finding, finding
from rcc.nearest import meant_name
from rcc.quick import dataclass
from rcc.recipe.model import Raw
from rcc.source import Path, Place
from rcc.syntax.template import MOST_PROBLEMS, Expression, Template, TooLongError, has_template, parse_template


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that templates know and that has no value here, and what to say of it."""

    code: str
    message: str
    help: str


KNOWN = (
    "`hf`, `id`, `rank`, `nnodes`, `port`, `topology`, `recipe.name`, `cluster.name`, and those below "
    "`node.`, `head.`, `model.`, `models.<id>.`, `staging.<id>.` and `vars.`"
)

LATE = Missing(
    "RCC303",
    "`node.gid_index` is known only on the node, at start",
    "a late-bound name is the whole value of an `[env]` key; read the variable from there",
)

Names = Mapping[str, str | Missing]
Where = Callable[[Path], Place | None]
"""Finds the place of a value in the file that it stands in."""


class Filler:
    """Fills the strings of one file with the names of one rank; findings gather in `found`."""

    def __init__(self, names: Names, where: Where, string_place: Callable[[Path, int, int], Place | None]) -> None:
        self.names = names
        self.where = where
        self.string_place = string_place
        self.found: list[Finding] = []

    def fill(self, raw: Raw) -> str:
        """The string with its templates filled; where that fails, a finding and the text as it is.

        Of a file in which nothing can be filled, no more is said than anybody reads.
        """
        if not has_template(raw.text) or len(self.found) > MOST:
            return raw.text
        template, errors = parse_template(raw.text)
        for error in errors:
            place = self.string_place(raw.path, error.start, error.end)
            self.found.append(finding("RCC301", error.message, place, help=error.help))
        if template is None:
            return raw.text
        refused = (one for one in template.expressions if self._refused(raw, one))
        if list(islice(refused, MOST_PROBLEMS)):
            return raw.text
        try:
            return template.render(lambda name: str(self.names[name]))
        except TooLongError as error:
            message = f"the value has {error} once its templates are filled"
            help = "move the text into a file that is mounted"
            self.found.append(finding("RCC301", message, self.where(raw.path), help=help))
            return raw.text

    def late_name(self, raw: Raw) -> str | None:
        """The late-bound name that is the whole of the string, where it is one that this rank binds late."""
        if not has_template(raw.text):
            return None
        template, _ = parse_template(raw.text)
        name = whole_name(template)
        return name if name is not None and self.names.get(name) is LATE else None

    def _refused(self, raw: Raw, expression: Expression) -> bool:
        name = expression.name
        if name is None:
            return False
        value = self.names.get(name)
        if isinstance(value, str):
            return False
        place = self.string_place(raw.path, expression.start, expression.end)
        if value is None:
            near = meant_name(name, self.names)
            help = f"did you mean `{near}`?" if near else f"known are {KNOWN}"
            self.found.append(finding("RCC302", f"template name `{name}` is not defined", place, help=help))
        else:
            self.found.append(finding(value.code, value.message, place, help=value.help))
        return True


def whole_name(template: Template | None) -> str | None:
    """The plain name that is all of a template."""
    if template is None or len(template.parts) != 1:
        return None
    part = template.parts[0]
    return part.name if isinstance(part, Expression) and not part.filters else None
