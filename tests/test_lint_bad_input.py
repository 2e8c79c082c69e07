"""Files that nobody meant to be read: findings or silence, never a traceback, never a long wait."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcc.cli.linting import lint_file
from rcc.cli.render import FORMATS, render
from rcc.cluster.read import read_cluster
from rcc.diagnostic import Findings
from rcc.lint.layout import laid_out
from rcc.lint.mend import mended
from rcc.syntax.document import MAX_BYTES, read_document
from tests.support.pages import completed, examples
from tests.support.paths import CASES, RECIPES, SHARED, needs_shared

NAMES = ("x.recipe.toml", "cluster.toml", "recipe.lock", "rcc.toml")
CLUSTER = read_cluster("cluster.toml", (CASES / "ok-cluster.toml").read_bytes())[0]
# Texts that hold something of everything, to be cut up and glued together.
TEXTS = [path.read_text() for path in (*sorted(CASES.glob("*.toml")), *sorted(RECIPES.glob("*/*.toml")))]
TEXTS += [completed(block.text) for one in (*examples("Example"), *examples("Use instead")) for block in one.blocks]
PIECES = [*"[]=.\"'\\\n#{},-\0\ufeffé😀", "[[", "]]", '"""', "{{", "}}", "<<", ">>", "\r\n", "nan", "true"]
PIECES += ["--", "=1", "env", "args", "extends = ", "unset = ", "rcc: ignore[", "{{ node.gid_index }}", "$(x)", "hf_"]
assert CLUSTER


def lint(name: str, data: bytes, *, with_cluster: bool = False) -> Findings:
    """All that linting does with a file, every form of output included; there is no file beside it."""

    def read(path: str) -> bytes:
        if path == name:
            return data
        raise FileNotFoundError(2, "no such file", path)

    found = lint_file(name, read, CLUSTER if with_cluster else None)
    for form in FORMATS:
        render(found, form)
    for one in found:
        if one.place:
            assert 0 <= one.place.span.start <= one.place.span.end <= max(len(one.place.source.text), 1)
    return found


@needs_shared
def test_every_file_of_the_suite_and_the_corpus() -> None:
    corpus = [path for path in (SHARED / "corpus").rglob("*.*") if path.is_file()]
    files = [*(SHARED / "toml-test").rglob("*.toml"), *corpus]
    assert len(files) > 800
    for path in files:
        data = path.read_bytes()
        found = [lint(name, data) for name in NAMES[:2]]
        invalid = "toml-test/invalid" in str(path)
        assert not invalid or all(any(one.severity.name == "ERROR" for one in each) for each in found), path


def mutated(text: str, other: str, chance: random.Random) -> str:
    """The text with a few things cut out, put in, doubled, swapped or taken from another."""
    for _ in range(chance.randint(1, 5)):
        start, end = sorted(chance.randint(0, len(text)) for _ in range(2))
        end = min(end, start + chance.choice([0, 1, 3, 20, 200]))
        match chance.randint(0, 4):
            case 0:
                middle = ""
            case 1:
                middle = chance.choice(PIECES)
            case 2:
                middle = text[start:end] * 2
            case 3:
                at = chance.randint(0, len(other))
                middle = other[at : at + chance.randint(1, 80)]
            case _:
                lines = text[start:end].splitlines(keepends=True)
                chance.shuffle(lines)
                middle = "".join(lines)
        text = text[:start] + middle + text[end:]
    return text


@given(st.integers(0, 2**32))
def test_mutated_files(seed: int) -> None:
    chance = random.Random(seed)
    text = mutated(chance.choice(TEXTS), chance.choice(TEXTS), chance)
    name = chance.choice(NAMES)
    lint(name, text.encode(), with_cluster=chance.random() < 0.5)
    document, _ = read_document(name, text.encode())
    if document:
        laid_out(document)


@given(st.integers(0, 2**32))
def test_fixes_of_mutated_files_end_and_break_nothing(seed: int) -> None:
    chance = random.Random(seed)
    text = mutated(chance.choice(TEXTS), chance.choice(TEXTS), chance)
    after, left = mended("x.recipe.toml", text, lambda text: lint("x.recipe.toml", text.encode()), unsafe=True)

    before = {(one.code, one.message) for one in lint("x.recipe.toml", text.encode()) if one.severity.name == "ERROR"}
    assert {(one.code, one.message) for one in left if one.severity.name == "ERROR"} <= before
    assert mended("x.recipe.toml", after, lambda text: lint("x.recipe.toml", text.encode()), unsafe=True)[0] == after


@given(st.binary(max_size=400), st.sampled_from(NAMES))
def test_random_bytes(data: bytes, name: str) -> None:
    lint(name, data)


HEAD = completed('id = "x"\n')


def filled(line: Callable[[int], str], head: str = HEAD, tail: str = "") -> Callable[[int], bytes]:
    """Makes files of so many bytes, filled with lines."""

    def make(size: int) -> bytes:
        return "".join([head, *_lines(line, size - len((head + tail).encode())), tail]).encode()

    return make


def _lines(line: Callable[[int], str], room: int) -> Iterator[str]:
    number = 0
    while (room := room - len(line(number).encode())) >= 0:
        yield line(number)
        number += 1


LARGE = {
    "unknown keys": filled(lambda n: f"kk{n} = 1\n"),
    "unknown variables": filled(lambda n: f'SGLANG_FOO_{n} = "1"\n', HEAD + "[env]\n"),
    "unknown flags": filled(lambda n: f'"--x{n}",', HEAD + "args = [", "]\n"),
    "stray words": filled(lambda n: f'"w{n}",', HEAD + "args = [", "]\n"),
    "owned flags": filled(lambda n: '"--port=1",', HEAD + "args = [", "]\n"),
    "bad JSON": filled(lambda n: f'"--json-model-override-args","{{x{n}",', HEAD + "args = [", "]\n"),
    "mounts": filled(lambda n: f'[[extra_mounts]]\nhost = "/a{n}"\ncontainer = "/b/{n}"\n'),
    "nested mounts": filled(lambda n: f'[[extra_mounts]]\nhost = "/a"\ncontainer = "/{"a/" * 400}{n}"\n'),
    "staging": filled(lambda n: f'[[staging]]\nkind = "snapshot"\nid = "a{n}"\nsrc = "/a/{n}"\ndst = "/b/{n}"\n'),
    "scattered": filled(lambda n: f"[a.b{n}]\n[b.c{n}]\n"),
    "captured": filled(lambda n: f"[m{n}]\nargs = []\n"),
    "suppressions": filled(lambda n: "# rcc: ignore[RCC601]\n"),
    "undefined names": filled(lambda n: f'A{n} = "{{{{ hff }}}}"\n', HEAD + "[env]\n"),
    "tokens": filled(lambda n: f'A{n} = "hf_abcdefghijklmnopqrstuvwxyz{n:08}"\n', HEAD + "[env]\n"),
    "almost tokens": filled(lambda n: "eyJ-", HEAD + '[env]\nA = "', '"\n'),
    "a long list": filled(lambda n: "a, ", HEAD + '[env]\nNCCL_IB_HCA = "', '"\n'),
    "blank": filled(lambda n: "\n", ""),
    "open": filled(lambda n: "[", ""),
    "dots": filled(lambda n: "a.", ""),
}


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
def test_time_grows_with_the_file_and_not_with_its_square(make: Callable[[int], bytes]) -> None:
    """Four times the text is not nearly sixteen times the time; so the machine's speed does not matter."""
    small, large = make(8 * 1024), make(32 * 1024)
    took(small)

    for _ in range(3):
        before, after = took(small), took(large)
        if after < 8 * max(before, 0.02):
            return
    pytest.fail(f"four times the text takes {after / before:.1f} times as long")


def took(data: bytes) -> float:
    """Seconds of processor time to lint a file and to tell of it."""
    start = time.process_time()
    render(lint_file("x.recipe.toml", lambda _: data, None), "full")
    return time.process_time() - start


def test_a_file_that_is_too_large_is_not_read_further(tmp_path: Path) -> None:
    assert [one.code for one in lint("x.recipe.toml", b"#" * (MAX_BYTES + 1))] == ["RCC005"]


def test_of_thousands_of_findings_the_first_are_told() -> None:
    found = lint("x.recipe.toml", LARGE["unknown keys"](MAX_BYTES))
    codes = [one.code for one in found]

    assert codes.count("RCC201") == 500
    assert codes.count("RCC011") == 1
