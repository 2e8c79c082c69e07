"""The lock's text: one lock, one text; strict reading; the schema says the same as the reader."""

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcc.diagnostic import Findings, Severity
from rcc.lock.model import Lock
from rcc.lock.read import read_lock
from rcc.lock.write import canonical, is_canonical, write_lock
from rcc.source import Source
from rcc.staging.locked import check_layouts
from tests.support.paths import ROOT

SCHEMA = json.loads((ROOT / "schema/rcc_schema/lock.schema.json").read_text())
NAME = "recipe.lock"


def digest(letter: str) -> str:
    return f"sha256:{letter * 64}"


def tree(files: dict[str, Any]) -> str:
    text = json.dumps(files, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


FILES = {
    "config.json": {"git-sha1": "1" * 40, "size": 2},
    "model.safetensors": {"sha256": "2" * 64, "size": 1 << 40},
    "ünï/ code": {"git-sha1": "3" * 40, "size": 0},
}
LAYOUT: dict[str, Any] = {
    "format": "sparse-copy", "tiling": "base-rem", "world": 2,
    "shards": [{"name": "model.safetensors", "size": 99, "header": digest("7")}],
    "tensors": [
        {"name": "layers.2.t.weight", "shard": "model.safetensors", "dtype": "U8", "shape": [5, 4], "offset": 40},
        {"name": "layers.14.t.weight", "shard": "model.safetensors", "dtype": "U8", "shape": [4, 4], "offset": 60},
    ],
    "ranks": [{"14": [0, 2], "2": [0, 3]}, {"14": [2, 4], "2": [3, 5]}],
}  # fmt: skip
EXAMPLE: dict[str, Any] = {
    "version": 1,
    "revision": 1,
    "images": {
        "engine": {
            "original": {"reference": "docker.io/library/serve:1"},
            "locked": {
                "digest": digest("a"),
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "platforms": {
                    "linux/arm64": {
                        "manifest": {"digest": digest("b"), "size": 1},
                        "config": {"digest": digest("c"), "size": 2},
                    },
                },
            },
        },
        "staging": {
            "original": {"reference": "10.0.0.11:5000/stage:2"},
            "locked": {
                "digest": digest("d"),
                "mediaType": None,
                "platforms": {"linux/arm/v7": {"manifest": None, "config": None}},
            },
        },
    },
    "models": {
        "model": {
            "original": {"repo": "spark/small", "revision": "main"},
            "locked": {"commit": "e" * 40, "files": FILES, "tree": tree(FILES)},
        }
    },
    "staging": {
        "engram": {
            "original": {
                "kind": "sparse-rows", "source": "spark/small@main", "format": "sparse-copy", "tensors": "layers.*",
                "tiling": "base-rem", "world": 2,
            },
            "locked": {
                "commit": "e" * 40,
                "layout": tree(LAYOUT),
                "shards": {"model.safetensors": {"size": 99, "header": digest("7")}},
                "tensors": {
                    one["name"]: {key: one[key] for key in ("shard", "dtype", "shape", "offset")}
                    for one in LAYOUT["tensors"]
                },
                "ranks": LAYOUT["ranks"],
            },
        },
        "whole": {
            "original": {"kind": "snapshot", "source": "spark/small@main", "include": ["*.json"], "exclude": []},
            "locked": {
                "commit": "e" * 40,
                "files": {"config.json": dict(FILES["config.json"])},
                "layout": tree(
                    {"format": "snapshot", "files": [{"name": "config.json", "size": 2, "id": "git:" + "1" * 40}]}
                ),
            },
        },
    },
    "files": {"run.sh": {"original": {"path": "run.sh"}, "locked": {"mode": "0755", "sha256": "9" * 64}}},
}  # fmt: skip
"""Everything that a lock may hold."""


def text_of(values: Any) -> str:
    return json.dumps(values, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def read(values: Any) -> tuple[Lock | None, Findings]:
    text = values if isinstance(values, str) else text_of(values)
    lock, found = read_lock(NAME, text.encode())
    if lock is not None:
        found = (*found, *check_layouts(lock, Source(NAME, text)))
    return lock, found


def test_what_is_read_is_what_is_written() -> None:
    lock, found = read(EXAMPLE)

    assert not found
    assert lock
    assert write_lock(lock).decode() == text_of(EXAMPLE)
    assert lock.staging["engram"].ranks[1] == {"2": (3, 5), "14": (2, 4)}


def test_the_text_ends_in_one_newline_and_has_no_other_line_ends() -> None:
    lock, _ = read(EXAMPLE)
    assert lock
    data = write_lock(lock)

    assert data.endswith(b"}\n")
    assert b"\r" not in data
    assert "ünï/ code" in data.decode()


# JSON as our locks have it: no floats.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(VALUES, st.randoms(use_true_random=False))
def test_equal_values_have_one_canonical_text(value: Any, random: Any) -> None:
    def shuffled(one: Any) -> Any:
        if isinstance(one, dict):
            items = list(one.items())
            random.shuffle(items)
            return {key: shuffled(inner) for key, inner in items}
        return [shuffled(inner) for inner in one] if isinstance(one, list) else one

    text = canonical(value)

    assert json.loads(text) == value
    assert canonical(shuffled(value)) == text
    assert canonical(json.loads(text)) == text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    if isinstance(value, list):
        for position, inner in enumerate(value):
            yield from paths(inner, (*path, position))


def changed(path: tuple[Any, ...], change: Callable[[Any, Any], None], values: Any = EXAMPLE) -> Any:
    result = copy.deepcopy(values)
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    change(inner, path[-1])
    return result


WRONG: list[Any] = [None, True, -1, 1.5, "", "../x", [[]], {}, "é\0"]


def variants() -> Iterator[Any]:
    """The example with one value replaced, removed or put beside."""
    for number, path in enumerate(paths(EXAMPLE)):
        if not path:
            continue
        for wrong in (WRONG * 2)[number % len(WRONG) :][:3]:
            yield changed(path, lambda inner, last, wrong=wrong: inner.__setitem__(last, wrong))  # type: ignore[misc]
        yield changed(path, lambda inner, last: inner.pop(last))
        if isinstance(path[-1], str):
            yield changed(path, lambda inner, last: inner.__setitem__("surplus", inner[last]))
            yield changed(path, lambda inner, last: inner.__setitem__("../" + last, inner.pop(last)))


def test_schema_and_reader_agree() -> None:
    validator = jsonschema.Draft7Validator(SCHEMA)
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    tried = refused = 0
    for values in variants():
        tried += 1
        lock, _ = read(values)
        errors = list(validator.iter_errors(values))
        if errors:
            refused += 1
            assert lock is None, (errors[0].message, values)
        if lock is not None:
            assert not errors
    assert tried > 500
    assert refused > 400


def test_every_property_of_the_schema_is_described() -> None:
    def check(schema: Any) -> None:
        for name, one in [*schema.get("properties", {}).items(), *schema.get("definitions", {}).items()]:
            assert one.get("description"), name
        for inner in schema.values() if isinstance(schema, dict) else []:
            for one in inner.values() if isinstance(inner, dict) else []:
                if isinstance(one, dict):
                    check(one)

    check(SCHEMA)


def only(values: Any) -> Any:
    _, found = read(values)
    errors = [one for one in found if one.severity is Severity.ERROR]
    assert len(errors) == 1, found
    return errors[0]


def test_merge_markers_are_explained() -> None:
    lines = text_of(EXAMPLE).split("\n")
    at = next(number for number, line in enumerate(lines) if "docker.io" in line)
    ours, theirs = lines[at], lines[at].replace("serve:1", "serve:2")
    merged = [*lines[:at], "<<<<<<< HEAD", ours, "=======", theirs, ">>>>>>> branch", *lines[at + 1 :]]

    found = only("\n".join(merged))

    assert found.code == "RCC613"
    assert found.place.line_column == (at + 1, 1)
    assert "<<<<<<< HEAD" in found.message
    assert "git checkout" in found.help


@pytest.mark.parametrize("version", [0, 2, 99])
def test_an_unknown_version_is_refused_before_all_else(version: int) -> None:
    found = only({"version": version, "else": 1})

    assert found.code == "RCC614"
    assert str(version) in found.message
    assert found.place.line_column == (3, 14)


@pytest.mark.parametrize("values", [{}, [], "7\n", {"version": "1"}, {"version": True}])
def test_what_is_no_lock(values: Any) -> None:
    assert only(values).code == "RCC614"


def test_a_newer_revision_may_hold_more_an_equal_one_may_not() -> None:
    for path in [
        ("new",),
        ("images", "engine", "locked", "new"),
        ("models", "model", "locked", "files", "config.json", "new"),
    ]:
        more = changed(path, lambda inner, last: inner.__setitem__(last, {"anything": [1]}))

        assert only(more).code == "RCC612"
        newer = {**more, "revision": 2}
        lock, found = read(newer)
        assert lock == read(EXAMPLE)[0]
        assert not found
        jsonschema.validate(newer, SCHEMA)


def test_duplicate_keys_are_shown_both() -> None:
    found = only(text_of(EXAMPLE).replace('"mode": "0755"', '"mode": "0644",\n        "mode": "0755"'))

    assert found.code == "RCC004"
    assert found.place.line_column[0] == found.labels[0].place.line_column[0] + 1


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("models", "model", "locked", "files", "config.json", "size"), "tree"),
        (("staging", "engram", "locked", "ranks", 0, "2", 1), "layout"),
        (("staging", "engram", "locked", "tensors", "layers.2.t.weight", "offset"), "layout"),
        (("staging", "whole", "locked", "files", "config.json", "size"), "layout"),
    ],
)
def test_hand_edits_are_found_by_what_they_do_not_change(path: tuple[Any, ...], place: str) -> None:
    edited = changed(path, lambda inner, last: inner.__setitem__(last, inner[last] + 1))

    found = only(edited)

    assert found.code == "RCC615"
    assert place in found.place.source.line(found.place.line_column[0])
    assert "git" in found.help or "version control" in found.help


def test_ranges_that_do_not_tile_are_found_under_a_right_hash() -> None:
    layout = copy.deepcopy(LAYOUT)
    layout["ranks"][1]["2"] = [2, 5]
    edited = copy.deepcopy(EXAMPLE)
    edited["staging"]["engram"]["locked"].update(ranks=layout["ranks"], layout=tree(layout))

    assert "do not tile" in only(edited).message


def test_a_commit_that_is_not_the_one_asked_for() -> None:
    edited = changed(("models", "model", "original", "revision"), lambda inner, last: inner.__setitem__(last, "f" * 40))

    assert only(edited).code == "RCC615"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: json.dumps(json.loads(text)),
        lambda text: text + "\n",
        lambda text: text.rstrip("\n"),
    ],
)
def test_another_layout_of_the_text_is_a_warning(change: Callable[[str], str]) -> None:
    lock, found = read(change(text_of(EXAMPLE)))

    assert lock
    assert [(one.code, one.severity) for one in found] == [("RCC616", Severity.WARNING)]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "RCC612"),
        (b"\n", "RCC612"),
        (b"{", "RCC612"),
        (text_of(EXAMPLE).encode()[:700], "RCC612"),
        (b'{"version": 1,}', "RCC612"),
        (b'{"version": NaN}', "RCC612"),
        (b'{"version": 1.0}', "RCC612"),
        (b'{"version": %s}' % (b"1" * 5000), "RCC612"),
        (b"[" * 100_000, "RCC612"),
        (b'{"version": 1, "x": "\\ud800"}', "RCC612"),
        (b"\xff\xfe", "RCC001"),
    ],
)
def test_texts_that_are_no_json(data: bytes, code: str) -> None:
    lock, found = read_lock(NAME, data)

    assert lock is None
    assert [one.code for one in found] == [code]
    assert found[0].place
    assert found[0].help


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=3)
    ),
)


@given(VALUES)
def test_a_canonical_text_is_known_without_writing_it(value: object) -> None:
    text = canonical(value)
    others = (text[:-1], text + "\n", text.replace("  ", "   ", 1), text.replace(": ", ":", 1), text.replace("\n", ""))

    assert is_canonical(text, value)
    for other in others:
        assert is_canonical(other, value) is (other == text)
