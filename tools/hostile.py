"""Files that nobody meant to be linted, in any size: what bounds and growth are measured on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Make = Callable[[int], bytes]
"""Makes a file of so many bytes, or a little less."""

HEAD = """\
id = "x"
engine = "sglang"
docker_image = "example.org/engine:1"
model = "org/name"
"""


def filled(line: Callable[[int], str], before: str = "", after: str = "", head: str = HEAD) -> Make:
    """A recipe that is filled with numbered pieces of text, between what stands before and after them."""

    def make(size: int) -> bytes:
        start, end = head + before, after
        return "".join([start, *_pieces(line, size - len((start + end).encode())), end]).encode()

    return make


def _pieces(line: Callable[[int], str], room: int) -> Iterator[str]:
    number = 0
    while (room := room - len(line(number).encode())) >= 0:
        yield line(number)
        number += 1


def noise(size: int) -> bytes:
    """Bytes without any order."""
    return random.Random(size).randbytes(size)  # noqa: S311 - the same each time is the point


SHAPES: dict[str, Make] = {
    "random bytes": noise,
    "random ASCII": lambda size: bytes(33 + byte % 94 for byte in noise(size)),
    "blank": filled(lambda n: "\n", head=""),
    "comments": filled(lambda n: "#\n"),
    "open brackets": filled(lambda n: "[", head=""),
    "dots": filled(lambda n: "a.", head=""),
    "deep nesting": filled(lambda n: f"a{n} = {'[' * 90}{']' * 90}\n"),
    "too deep at the end": filled(lambda n: f"a{n} = {'[' * 90}{']' * 90}\n", after=f"z = {'[' * 200}{']' * 200}"),
    "dotted keys": filled(lambda n: f"{'a.' * 60}k{n} = 1\n"),
    "headers": filled(lambda n: f"[t{n}]\n"),
    "arrays of tables": filled(lambda n: "[[a]]\n"),
    "scattered tables": filled(lambda n: f"[a.b{n}]\n[b.c{n}]\n"),
    "captured keys": filled(lambda n: f"[m{n}]\nargs = []\n"),
    "inline tables": filled(lambda n: "{a=1},", "a = [", "]\n"),
    "numbers": filled(lambda n: "1,", "a = [", "]\n"),
    "an array that is never closed": filled(lambda n: "1,", "a = ["),
    "duplicate keys": filled(lambda n: f'model = "a{n}"\n'),
    "short keys": filled(lambda n: f"k{n}=1\n"),
    "unknown keys": filled(lambda n: f"kk{n} = 1\n"),
    "misspelt keys": filled(lambda n: f"tensor_parallel_siz{n} = 1\n"),
    "long keys": filled(lambda n: f"{'k' * 8_000}{n} = 1\n"),
    "a string of quotes": filled(lambda n: '\\"', 'name = "', '"\n'),
    "a string of lines": filled(lambda n: 'a""\n', 'name = """', '"""\n'),
    "a string that is never closed": filled(lambda n: 'a""\n', 'name = """'),
    "escapes": filled(lambda n: "\\u0041", '[env]\nA = "', '{{ x }}"\n'),
    "suppressions": filled(lambda n: "# rcc: ignore[RCC601]\n"),
    "suppressed codes": filled(lambda n: "RCC601,", "# rcc: ignore[", "]\n"),
    "conflict marks": filled(lambda n: "<<<<<<< a\n"),
    "unknown variables": filled(lambda n: f'SGLANG_FOO_{n} = "1"\n', "[env]\n"),
    "bad variable names": filled(lambda n: f'"{n} " = ""\n', "[env]\n"),
    "wrong types": filled(lambda n: f"A{n} = {n}\n", "[env]\n"),
    "tokens": filled(lambda n: f'A{n} = "hf_abcdefghijklmnopqrstuvwxyz{n:08}"\n', "[env]\n"),
    "almost passwords": filled(lambda n: "://a:b", '[env]\nA = "', '"\n'),
    "almost tokens": filled(lambda n: "eyJ-", '[env]\nA = "', '"\n'),
    "passwords": filled(lambda n: f'A{n}_TOKEN = "x1y2z3w4v5u6t7s8r9q{n}"\n', "[env]\n"),
    "a long list": filled(lambda n: "a, ", '[env]\nNCCL_IB_HCA = "', '"\n'),
    "bad templates": filled(lambda n: f"{{{{ {n} }}}}", '[env]\nA = "', '"\n'),
    "bad templates apart": filled(lambda n: f'A{n} = "{{{{ 1 }}}}"\n', "[env]\n"),
    "thousands of bad templates": lambda size: filled(lambda n: "{{ ! }}", '[env]\nA = "', '"\n')(min(size, 60_000)),
    "filters": filled(lambda n: "{{ hf|lower }}", '[env]\nA = "', '"\n'),
    "undefined names": filled(lambda n: f'A{n} = "{{{{ hff }}}}"\n', "[env]\n"),
    "open templates": filled(lambda n: "{{'", '[env]\nA = "', '"\n'),
    "shell variables": filled(lambda n: f'A{n} = "$HOME"\n', "[env]\n"),
    "unknown flags": filled(lambda n: f'"--x{n}",', "args = [", "]\n"),
    "misspelt flags": filled(lambda n: f'"--max-total-tokenz{n}",', "args = [", "]\n"),
    "a long flag": filled(lambda n: "a", 'args = ["--a-', '"]\n'),
    "a long variable": filled(lambda n: "A", "[env]\nSGLANG_", ' = "1"\n'),
    "flags": filled(lambda n: '"--trust-remote-code",', "args = [", "]\n"),
    "stray words": filled(lambda n: f'"w{n}",', "args = [", "]\n"),
    "owned flags": filled(lambda n: '"--port=1",', "args = [", "]\n"),
    "bad JSON": filled(lambda n: f'"--json-model-override-args","{{x{n}",', "args = [", "]\n"),
    "mounts": filled(lambda n: f'[[extra_mounts]]\nhost = "/a{n}"\ncontainer = "/b/{n}"\n'),
    "nested mounts": filled(lambda n: f'[[extra_mounts]]\nhost = "/a"\ncontainer = "/{"a/" * 400}{n}"\n'),
    "files beside it": filled(lambda n: f'[[extra_mounts]]\nhost = "f{n}"\ncontainer = "/b/{n}"\n'),
    "a long path": filled(lambda n: "b/", '[[staging]]\nkind = "snapshot"\nid = "a"\nsrc = "/a"\ndst = "/', '"\n'),
    "snapshots of snapshots": filled(lambda n: "/snapshots/{{", '[[extra_mounts]]\ncontainer = "/a"\nhost = "', '"\n'),
    "staging": filled(lambda n: f'[[staging]]\nkind = "snapshot"\nid = "a{n}"\nsrc = "/a/{n}"\ndst = "/b/{n}"\n'),
    "models": filled(lambda n: f'[[models]]\nid = "a{n}"\nmodel = "a/b{n}"\n'),
    "secrets given twice": filled(lambda n: '"A",', "secrets = [", "]\n"),
    "secrets": filled(lambda n: f'"A{n}",', "secrets = [", "]\n"),
    "bases": filled(lambda n: f'"b{n}.toml",', "extends = [", "]\n"),
    "unset": filled(lambda n: f'"env.A{n}",', "unset = [", "]\n"),
}

CLUSTERS: dict[str, Make] = {
    "nodes": filled(lambda n: f'[[nodes]]\nname = "n{n}"\nhost = "h{n}"\n', head=""),
    "nodes of one name": filled(lambda n: '[[nodes]]\nname = "n"\nhost = "h"\n', head=""),
    "nodes without names": filled(lambda n: "[[nodes]]\n", head=""),
    "profiles": filled(lambda n: f'[nccl.p{n}]\nNCCL_DEBUGG = "x"\n', head=""),
    "a large profile": filled(lambda n: f'NCCL_IB_HCB{n} = "x"\n', head="[nccl.p]\n"),
    "unknown keys of a node": filled(lambda n: f"kk{n} = 1\n", head='[[nodes]]\nname = "n"\nhost = "h"\n'),
}
"""The same for cluster files."""

LOCKS: dict[str, Make] = {
    "unknown members": filled(lambda n: "[],", '{"version": 1, "x": [', "1]}", head=""),
    "keys": filled(lambda n: f'"k{n}":1,', "{", '"k":1}', head=""),
    "files that are none": filled(lambda n: f'"k{n}":1,', '{"version": 1, "files": {', '"k":1}}', head=""),
    "repeated keys": filled(lambda n: '"a":{"b":2},', '{"a":1,', '"c":1}', head=""),
    "a key repeated at the end": filled(lambda n: f'"k{n}":1,', '{"a":{', '"k":1},"a":2}', head=""),
    "a long string": filled(lambda n: "x", '{"a":"', '"}', head=""),
    "half a pair": filled(lambda n: "\\ud800", '{"a":"', '"}', head=""),
    "merge markers": filled(lambda n: "<<<<<<< a\n", "{\n", head=""),
}
"""The same for locks."""


def _on_all_nodes(line: Callable[[int], str]) -> Make:
    """A recipe on every node that "nodes" has in a file of the size."""

    def make(size: int) -> bytes:
        nodes = CLUSTERS["nodes"](size).count(b"[[nodes]]")
        return filled(line, f"required_nodes = {nodes}\n[env]\n")(size)

    return make


PAIRS: dict[str, tuple[Make, Make]] = {
    "nodes": (_on_all_nodes(lambda n: "#\n"), CLUSTERS["nodes"]),
    "variables on all nodes": (_on_all_nodes(lambda n: f'A{n} = "1"\n'), CLUSTERS["nodes"]),
    "variables over a profile": (
        filled(lambda n: f'A{n} = "{{{{ rank }}}}"\n', "[env]\n"),
        filled(lambda n: f'A{n} = "{{{{ rank }}}}"\n', head='[[nodes]]\nname = "n"\nhost = "h"\n[nccl.p]\n'),
    ),
}
"""A recipe and its cluster, both of the size."""
