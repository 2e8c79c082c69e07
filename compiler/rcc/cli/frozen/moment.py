"""The moment that a report is named by: the one place where rcc looks at the clock."""

from __future__ import annotations

from datetime import UTC, datetime

_FORMS = ("%Y-%m-%d_%H%M%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S")


def read_moment(text: str) -> datetime | None:
    """A time as people write it, UTC where it names no zone; None for anything else."""
    for form in _FORMS:
        try:
            read = datetime.strptime(text, form)
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def as_name(moment: datetime) -> str:
    """`2026-01-31_120000`."""
    return as_text(moment).removesuffix("Z").replace("T", "_").replace(":", "")


def as_text(moment: datetime) -> str:
    """`2026-01-31T12:00:00Z`."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
