"""The grammar against the TOML 1.1 conformance suite, with tomli and the suite's own expectations as judges."""

import json
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
import tomli

from rcc.source import Path as TomlPath
from rcc.syntax import tree as tree_module
from rcc.syntax.document import read_document
from rcc.syntax.errors import TomlError
from rcc.syntax.tree import Part, Tree, parse, parse_valid
from tests.support.paths import SHARED, needs_shared

SUITE = SHARED / "toml-test"
LIST = SUITE / "files-toml-1.1.0"
NAMES = LIST.read_text().split() if LIST.exists() else ["valid/missing.toml", "invalid/missing.toml"]
PARTS: tuple[Part, ...] = ("key", "value", "header")
VALID = [name for name in NAMES if name.startswith("valid/") and name.endswith(".toml")]
INVALID = [name for name in NAMES if name.startswith("invalid/")]
SEEDS = sorted((SHARED / "seed").glob("*.toml"))

pytestmark = needs_shared


def test_the_suite_is_there() -> None:
    assert len(VALID) == 220
    assert len(INVALID) == 492
    assert SEEDS


@pytest.mark.parametrize("name", VALID)
def test_a_valid_file_has_the_values_that_the_suite_and_tomli_say(name: str) -> None:
    document, findings = read_document(name, (SUITE / name).read_bytes())
    assert document is not None
    assert [one.code for one in findings] in ([], ["RCC002"])
    values = document.tree.values()
    assert repr(values) == repr(document.values)
    assert repr(values) == repr(tomli.loads(document.source.text.removeprefix("\ufeff")))
    expected = json.loads((SUITE / name).with_suffix(".json").read_text("utf-8"))
    assert _same(values, expected), (values, expected)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_file_is_refused_with_a_place(name: str) -> None:
    data = (SUITE / name).read_bytes()
    document, findings = read_document(name, data)
    assert document is None
    errors = [one for one in findings if one.code != "RCC002"]
    assert {one.code for one in errors} in ({"RCC001"}, {"RCC003"}, {"RCC004"})
    place = errors[0].place
    assert place is not None
    assert 0 <= place.span.start <= place.span.end <= len(place.source.text)
    assert errors[0].help
    if errors[0].code != "RCC001":
        with pytest.raises(TomlError):
            parse(data.decode("utf-8")).values()


@pytest.mark.parametrize("file", [*(SUITE / name for name in VALID), *SEEDS], ids=lambda file: file.name)
def test_every_path_has_a_place_that_says_the_same(file: Path) -> None:
    text = file.read_bytes().decode("utf-8")
    tree = parse(text)
    for path, value in _paths(tomli.loads(text.removeprefix("\ufeff")), ()):
        _check_value(tree, path, value)
        _check_key(tree, path)
        if isinstance(value, str):
            _check_characters(tree, path, value)


@pytest.mark.parametrize("file", [*(SUITE / name for name in VALID), *SEEDS], ids=lambda file: file.name)
def test_places_are_the_same_where_values_are_parsed_when_they_are_asked_for(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = file.read_bytes().decode("utf-8")
    at_once = parse(text)
    monkeypatch.setattr(tree_module, "_LARGE", -1)
    later = parse_valid(text)
    assert repr(later.values()) == repr(at_once.values())
    for path, value in _paths(tomli.loads(text.removeprefix("\ufeff")), ()):
        assert [later.span(path, part) for part in PARTS] == [at_once.span(path, part) for part in PARTS]
        if isinstance(value, str):
            assert later.string_span(path, 0, len(value)) == at_once.string_span(path, 0, len(value))
    assert later.statements == at_once.statements


@pytest.mark.parametrize("file", [*(SUITE / name for name in VALID), *SEEDS], ids=lambda file: file.name)
def test_the_statements_of_a_file_are_the_file(file: Path) -> None:
    text = file.read_bytes().decode("utf-8")
    assert "".join(text[one.line.start : one.line.end] for one in parse(text).statements) == text


def _paths(value: Any, path: TomlPath) -> Iterator[tuple[TomlPath, Any]]:
    if path:
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from _paths(one, (*path, step))


def _check_value(tree: Tree, path: TomlPath, value: Any) -> None:
    span = tree.span(path)
    assert span is not None, path
    source = tree.text[span.start : span.end]
    if isinstance(value, dict) and not source.startswith("{"):
        return  # a header, or a dotted key
    if isinstance(value, list) and source.startswith("[[") and tree.span(path, "header") == span:
        return
    assert repr(tomli.loads(f"x = {source}")) == repr({"x": value})


def _check_key(tree: Tree, path: TomlPath) -> None:
    span = tree.span(path, "key")
    names = [step for step in path if isinstance(step, str)]
    if span is None:
        assert isinstance(path[-1], int)
    else:
        assert tomli.loads(f"{tree.text[span.start : span.end]} = 1") == {names[-1]: 1}


def _check_characters(tree: Tree, path: TomlPath, value: str) -> None:
    whole = tree.span(path)
    assert whole is not None
    quote = tree.text[whole.start]
    for index, character in enumerate(value):
        span = tree.string_span(path, index, index + 1)
        assert span is not None
        source = tree.text[span.start : span.end]
        if source != character:
            assert tomli.loads(f"x = {quote * 3}-{source}{quote * 3}") == {"x": f"-{character}"}


def _same(value: Any, expected: Any) -> bool:
    """Whether a value is what the suite's tagged JSON says."""
    if isinstance(value, dict):
        return value.keys() == expected.keys() and all(_same(value[key], expected[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(expected) and all(map(_same, value, expected))
    kind, text = expected["type"], expected["value"]
    if kind == "float":
        return isinstance(value, float) and (value == float(text) or (value != value and text == "nan"))
    readers: dict[str, Any] = {
        "string": str,
        "integer": int,
        "bool": lambda word: word == "true",
        "datetime": datetime.fromisoformat,
        "datetime-local": datetime.fromisoformat,
        "date-local": date.fromisoformat,
        "time-local": time.fromisoformat,
    }
    wanted = readers[kind](text)
    return type(value) is type(wanted) and bool(value == wanted)
