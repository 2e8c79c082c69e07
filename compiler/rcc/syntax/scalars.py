"""The values of TOML's scalars, from their text."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

from rcc.syntax.scan import LONGEST_INTEGER
from rcc.syntax.strings import decode

Scalar = str | bool | int | float | date | datetime | time

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]|$)")
_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6})[0-9]*)?)?(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))?$"
)
_CONSTANTS = {"true": True, "false": False}


def read_scalar(raw: str) -> Scalar:
    """The value of a token that the grammar takes as a scalar; raises ValueError for 30 February and the like."""
    if raw[0] in "\"'":
        return decode(raw)
    if raw in _CONSTANTS:
        return _CONSTANTS[raw]
    if ":" in raw or _DATE.match(raw):
        return _read_date_time(raw)
    if raw[:2] in ("0x", "0o", "0b"):
        if len(raw) > LONGEST_INTEGER:
            raise ValueError
        return int(raw, 0)
    if any(mark in raw for mark in ".eEn"):
        return float(raw)
    return int(raw)


def _read_date_time(raw: str) -> date | datetime | time:
    day = _DATE.match(raw)
    if day is None:
        return _read_time(raw)
    on = date(*(int(part) for part in day.groups()))
    return on if day.end() == 10 else datetime.combine(on, _read_time(raw[11:]))


def _read_time(raw: str) -> time:
    match = _TIME.match(raw)
    assert match is not None
    hour, minute, second, fraction, utc, sign, hours, minutes = match.groups()
    zone = UTC if utc else None
    if sign:
        zone = timezone((-1 if sign == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))
    return time(int(hour), int(minute), int(second or 0), int((fraction or "").ljust(6, "0")), zone)
