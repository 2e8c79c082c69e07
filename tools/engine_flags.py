"""Makes the flag and variable tables in compiler/rcc/engines/data from what was read off the engines' own parsers.

    python tools/engine_flags.py FOLDER

FOLDER holds `<engine>-<version>.json` (a list of argparse actions) and `env-<engine>-<version>.json` (names of
environment variables). The format of the tables is described in compiler/rcc/engines/data/README.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rcc.engines.flags import WITH_TABLES

DATA = Path(__file__).resolve().parents[1] / "compiler" / "rcc" / "engines" / "data"
# What the parsers' converter functions take, by their names there.
KINDS = {
    "int": "int",
    "float": "float",
    "loads": "json",
    "json_list_type": "json",
    "parse_dataclass": "json",
    "_parse_type": "json",
    "human_readable_int": "count",
    "human_readable_int_or_auto": "count-or-auto",
    "<lambda>": "word",
}
# Texts that the parser takes as they are and the engine then reads as JSON.
JSON_TEXTS = ("--json-model-override-args", "--model-loader-extra-config")


def main() -> None:
    """Writes the tables of all engines."""
    folder = Path(sys.argv[1])
    for engine in WITH_TABLES:
        (DATA / f"{engine}.flags").write_text(flag_table(folder, engine), "utf-8")
        (DATA / f"{engine}.variables").write_text(variable_table(folder, engine), "utf-8")


def flag_table(folder: Path, engine: str) -> str:
    """The text of `<engine>.flags`."""
    (path,) = folder.glob(f"{engine}-*.json")
    table = json.loads(path.read_text("utf-8"))
    lines = sorted(_line(flag, engine) for flag in table["flags"] if not flag["positional"])
    return "\n".join([f"# {engine} {table['version']}", *lines]) + "\n"


def variable_table(folder: Path, engine: str) -> str:
    """The text of `<engine>.variables`."""
    (path,) = folder.glob(f"env-{engine}-*.json")
    table = json.loads(path.read_text("utf-8"))
    prefix = f"{engine.upper()}_"
    names = sorted(name.removeprefix(prefix) for name in table["names"] if name.startswith(prefix))
    return "\n".join([f"# {engine} {table['version']}: {prefix}…", *names]) + "\n"


def _line(flag: dict[str, Any], engine: str) -> str:
    spellings = sorted(flag["flags"], key=lambda one: (one not in _names(flag), not one.startswith("--")))
    arity = {None: "1", 0: "0"}.get(flag["nargs"], flag["nargs"])
    words = [*spellings, *_hidden(flag), arity]
    kind, optional = _kind(flag)
    if arity != "0":
        words.append(kind)
    if optional:
        words.append("none")
    # vLLM's help texts use the word for other things than the flag itself.
    if flag["deprecated"] and engine == "sglang":
        words.append("deprecated")
    if flag["action"] == "AppendAction":
        words.append("repeats")
    choices = [str(one) for one in flag["choices"] or () if one is not None and "<" not in str(one)]
    return " ".join([*words, ":", *choices] if choices else words)


def _names(flag: dict[str, Any]) -> list[str]:
    """The spellings that are called as the value is, which are the ones that the engine's documents use."""
    return [one for one in flag["flags"] if one.lstrip("-").replace("-", "_") == flag["dest"]]


def _hidden(flag: dict[str, Any]) -> list[str]:
    """What vLLM takes beside `--enable-x` and `--disable-x`, and leaves out of its help."""
    paired = [one for one in _names(flag) if one.startswith(("--enable-", "--disable-"))]
    return [f"--no-{one[2:]}" for one in paired] if flag["action"] == "EnableDisableAction" else []


def _kind(flag: dict[str, Any]) -> tuple[str, bool]:
    name = flag["type"] or "str"
    optional = name.startswith("optional_type(")
    inner = name.removeprefix("optional_type(").removeprefix("parse_type(").rstrip(")")
    if inner.startswith("json:") or any(one in JSON_TEXTS and inner == "str" for one in flag["flags"]):
        return "json", optional
    return KINDS.get(inner, "str"), optional


if __name__ == "__main__":
    main()
