"""`report.json`: under which id, options and rcc a report was built, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rcc.diagnostic import Findings, finding
from rcc.plan.canonical import plain
from rcc.quick import dataclass
from rcc.source import whole

VERSION = 1
NAME = "report.json"


@dataclass(frozen=True, slots=True)
class Record:
    """A report. `time` is UTC as `2026-01-31T12:00:00Z`; `recipe` and `cluster` are files of the report's folder.

    `options` has `frozen`, `hf_cache`, `k8s_workload`, `nodes`, `targets` and `topology`; `bench` is the benchmark's
    own JSON object, or None.
    """

    label: str
    time: str
    id: str
    rcc: str
    build: str
    plan: str
    recipe: str
    cluster: str | None
    options: Mapping[str, Any]
    bench: Mapping[str, Any] | None


def write_record(record: Record) -> bytes:
    """The bytes of a report.json: keys sorted, figures as the benchmark gave them."""
    content = {"version": VERSION, **plain(record)}
    return (json.dumps(content, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_record(folder: Path) -> tuple[Record | None, Findings]:
    """The record of a report's folder."""
    path = folder / NAME
    try:
        values = json.loads(path.read_bytes())
        if values.pop("version") != VERSION:
            raise ValueError
        return Record(**values), ()
    except OSError as error:
        message = f"there is no report in `{folder}`: {str(error.strerror).lower()}"
        return None, (finding("RCC1116", message, whole(str(path)), help="`rcc reports` lists those that there are"),)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"the report is not one that this rcc writes: {type(error).__name__}"
        return None, (finding("RCC1116", message, whole(str(path)), help="restore it from version control"),)
