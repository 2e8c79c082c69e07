"""What makes a text no TOML that rcc reads."""

from __future__ import annotations

from rcc.source import Span


class TomlError(Exception):
    """What makes a text no TOML: words as a finding has them; `first` is another place that it is about."""

    def __init__(
        self,
        message: str,
        span: Span,
        *,
        label: str | None = None,
        help: str | None = None,
        first: Span | None = None,
        first_label: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.label = label
        self.help = help
        self.first = first
        self.first_label = first_label


class DuplicateKeyError(TomlError):
    """A key or table that stands twice, or is both a table and another value.

    `torn` says that the two cannot be read as one: a part of what was meant is then nowhere.
    """

    torn = False


class TooDeepError(TomlError):
    """Arrays, tables or a dotted key nest deeper than rcc reads."""
