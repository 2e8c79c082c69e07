"""`report.json`: under which id, options and rcc a report was built, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rcc.diagnostic import Findings, finding, reason
from rcc.emit.stored import read_stored
from rcc.lock.shapes import digest, path_key
from rcc.plan.canonical import plain
from rcc.quick import dataclass
from rcc.recipe.keys import identifier
from rcc.recipe.shape import array, boolean, free, integer, mapping, nullable, record, string
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
        read, why = read_stored(path.read_bytes(), _RECORD)
    except OSError as error:
        message = f"there is no report in `{folder}`: {reason(error)}"
        return None, (finding("RCC1116", message, whole(str(path)), help="`rcc reports` lists those that there are"),)
    if why:
        message = f"the report is not one that this rcc writes: {why}"
        return None, (finding("RCC1116", message, whole(str(path)), help="restore it from version control"),)
    return read, ()


_text = string()
_OPTIONS = {
    "frozen": boolean,
    "hf_cache": nullable(_text),
    "k8s_workload": _text,
    "nodes": nullable(array(_text)),
    "targets": array(_text),
    "topology": nullable(_text),
}
_FIELDS = {
    "version": integer(VERSION, VERSION),
    "label": _text,
    "time": _text,
    "id": identifier,
    "rcc": _text,
    "build": digest,
    "plan": digest,
    "recipe": path_key,
    "cluster": nullable(path_key),
    "options": record(dict, _OPTIONS, tuple(_OPTIONS)),
    "bench": nullable(mapping(free)),
}
_RECORD = record(lambda version, **fields: Record(**fields), _FIELDS, tuple(_FIELDS))
