"""A YAML reader that takes only what every YAML reader takes alike, and refuses the rest.

YAML 1.1 and 1.2 readers differ on `no`, `1e3`, `0o17`, raw U+0085, surrogate pairs and long keys. So a string is
double-quoted ASCII on one line, a plain scalar is `true`, `false`, `null` or a short decimal number, a plain key is a
word, and there are no tags, anchors, merges or duplicate keys.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,9}")
NO_WORD = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
LONGEST_KEY = 1000


class UnfaithfulError(ValueError):
    """The text means different things to different readers, or not what its writer meant."""


def read_documents(text: str) -> list[Any]:
    """All documents of a YAML text, each as dicts, lists, strings, integers and booleans."""
    if not re.fullmatch(r"[\x20-\x7e\n]*[\x20-\x7e]\n", text):
        raise UnfaithfulError("the text is not printable ASCII lines with one newline at the end")
    events = yaml.parse(text, yaml.CSafeLoader)
    if any(isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) for event in events):
        raise UnfaithfulError("the text has an anchor or an alias")
    return [_value(node) for node in yaml.compose_all(text, Loader=yaml.CSafeLoader)]


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    assert isinstance(node, yaml.ScalarNode)
    return _string(node) if node.style == '"' else _plain(node)


def _mapping(node: yaml.MappingNode) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for key, value in _pairs(node):
        if key in pairs:
            raise UnfaithfulError(f"the key {key!r} stands twice")
        pairs[key] = _value(value)
    return pairs


def _pairs(node: yaml.MappingNode) -> Iterator[tuple[str, yaml.Node]]:
    for key, value in node.value:
        yield _key(key), value


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise UnfaithfulError(f"a key that is no scalar:{node.start_mark}")
    if node.style == '"':
        if node.end_mark.index - node.start_mark.index > LONGEST_KEY:
            raise UnfaithfulError(f"a key too long for some readers:{node.start_mark}")
        return _string(node)
    if node.style or not PLAIN_KEY.fullmatch(node.value) or node.value.lower() in NO_WORD:
        raise UnfaithfulError(f"the key {node.value!r} is no plain word and not double-quoted:{node.start_mark}")
    return str(node.value)


def _string(node: yaml.ScalarNode) -> str:
    if node.start_mark.line != node.end_mark.line:
        raise UnfaithfulError(f"a string over several lines:{node.start_mark}")
    value = str(node.value)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UnfaithfulError(f"a surrogate, which only some readers join:{node.start_mark}")
    return value


def _plain(node: yaml.ScalarNode) -> int | bool | None:
    if not node.style and node.value == "null":
        return None
    if not node.style and node.value in {"true", "false"}:
        return bool(node.value == "true")
    if not node.style and PLAIN_NUMBER.fullmatch(node.value):
        return int(node.value)
    raise UnfaithfulError(f"{node.value!r} is neither double-quoted nor a short number nor a boolean:{node.start_mark}")
