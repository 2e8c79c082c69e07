"""Values that break naive encoders: those beside the repository, and a few that are always there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rcc.plan.model import Mount, Plan
from tests.support.paths import SHARED
from tests.support.plans import single

FILE = SHARED / "hardcases.json"


@dataclass(frozen=True, slots=True)
class HardCase:
    """One value. `expect` maps a format's name to one exact text for it, or to `refuse: reason`."""

    id: str
    kind: str
    value: bytes
    name: str = "A"
    role: str = ""
    argv0: str = ""
    expect: Mapping[str, str] = field(default_factory=dict)
    naive: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The value as text; bytes that are no UTF-8 come as surrogates, as from the command line."""
        return self.value.decode("utf-8", "surrogateescape")

    def refused_by(self, target: str) -> str | None:
        """Why a format cannot carry it, or None."""
        expected = self.expect.get(target, "")
        return expected.removeprefix("refuse: ") if expected.startswith("refuse: ") else None

    def __str__(self) -> str:
        return self.id


def hard_cases(*kinds: str) -> tuple[HardCase, ...]:
    """Cases of these kinds (`env`, `arg`, `path`, `label`), at least our own ones."""
    cases = tuple(case for case in (*OWN, *_beside_the_repository()) if case.kind in kinds)
    assert cases, kinds
    return cases


def of_case(case: HardCase) -> Plan:
    """A plan that has the case's value where its kind belongs."""
    if case.kind == "env":
        return single(env={case.name: case.text})
    if case.kind == "label":
        return single(labels={"dev.rcc.id": "hello", case.name: case.text})
    if case.kind == "path":
        source, where = (case.text, "/t") if case.role != "target" else ("/srv/src", case.text)
        return single(mounts=(Mount(source, where, False, "bind"),))
    return single(entrypoint=(case.text,)) if case.argv0 else single(command=(case.text,))


def _beside_the_repository() -> tuple[HardCase, ...]:
    if not FILE.is_file():
        return ()
    cases = tuple(_case(record) for record in json.loads(FILE.read_bytes()))
    assert cases
    return cases


def _case(record: dict[str, Any]) -> HardCase:
    if "value_repeat" in record:
        unit, count = record["value_repeat"]
        value = (unit * count).encode()
    else:
        value = bytes.fromhex(record["value_hex"])
    return HardCase(
        id=record["id"],
        kind=record["kind"],
        value=value,
        name=record.get("name", record.get("key", "A")),
        role=record.get("role", ""),
        argv0=record.get("argv0", ""),
        expect=record["expect_by_target"],
        naive=tuple(record.get("naive_encoders_that_fail", ())),
    )


_VALUES = {
    "empty": "",
    "blanks": "  two  blanks ",
    "quotes": """it's "so" `now`""",
    "backslashes": r"a\b\\c\n\x41\ ",
    "newlines": "one\n\ntwo\n",
    "tab-and-return": "a\tb\rc",
    "control": "\x01\x1b[31m\x7f",
    "dollar-name": "$HOME ${HOME} $(HOME) $$HOME $1 $",
    "dollar-default": "${HOME:-x} ${X/a/b} ${",
    "percent": "%h %% %n 100%",
    "braces": "{{ model }} {% raw %}",
    "json": '{"a": [1, "b c"], "d": null}',
    "comma": "a,b=c,d",
    "hash": "a # b",
    "semicolon": ";",
    "tilde": "~/x",
    "glob": "* ? [a-z]",
    "dashes": "--help",
    "yaml-no": "no",
    "yaml-y": "y",
    "yaml-exponent": "1e3",
    "yaml-octal": "0o17",
    "yaml-date": "2001-01-01",
    "yaml-null": "~",
    "latin": "grüße",
    "next-line": "a\x85b\u2028c",
    "astral": "😀",
    "noncharacter": "\ufffe",
}
_PATHS = {
    "plain": "/data",
    "blank": "/with blank",
    "comma": "/a,b",
    "quotes": """/it's "so\"""",
    "dollar": "/$HOME/${HOME}",
    "percent": "/%h",
    "backslash": "/a\\b",
    "latin": "/grüße",
}
OWN = (
    *(HardCase(f"own-{kind}-{name}", kind, text.encode()) for kind in ("env", "arg") for name, text in _VALUES.items()),
    *(HardCase(f"own-path-{name}", "path", text.encode(), role="source") for name, text in _PATHS.items()),
    *(HardCase(f"own-label-{name}", "label", text.encode(), name="note") for name, text in _VALUES.items()),
)
