"""Files that nobody meant to be read: findings or silence, never a traceback, never a long wait."""

import random
import subprocess
import sys
import time
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
from rcc.lock.read import MAX_BYTES as LARGEST_LOCK
from rcc.recipe.layers import Read
from rcc.syntax import tree
from rcc.syntax.document import MAX_BYTES, read_document
from tests.support.pages import completed, examples
from tests.support.paths import CASES, RECIPES, SHARED, needs_shared
from tools.hostile import CLUSTERS, HEAD, LOCKS, PAIRS, SHAPES, Make, filled

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

    found = lint_file(name, only(name, data), CLUSTER if with_cluster else None)
    for form in FORMATS:
        render(found, form)
    for one in found:
        if one.place:
            assert 0 <= one.place.span.start <= one.place.span.end <= max(len(one.place.source.text), 1)
    return found


def only(name: str, data: bytes) -> Read:
    """Reads a file that lies alone."""

    def read(path: str) -> bytes:
        if path == name:
            return data
        raise FileNotFoundError(2, "no such file", path)

    return read


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

    before = {(one.code, one.message) for one in lint("x.recipe.toml", text.encode())}
    unreadable = {(one.code, one.message) for one in left if one.severity.name == "ERROR" and one.code < "RCC007"}
    assert unreadable <= before, "a fix brings to light what nobody could see, and breaks nothing"
    assert mended("x.recipe.toml", after, lambda text: lint("x.recipe.toml", text.encode()), unsafe=True)[0] == after


@given(st.binary(max_size=400), st.sampled_from(NAMES))
def test_random_bytes(data: bytes, name: str) -> None:
    lint(name, data)


def of_recipe(size: int) -> bytes:
    """A cluster that stays as it is, whatever its recipe grows to."""
    return (CASES / "ok-cluster.toml").read_bytes()


GROWING: dict[str, tuple[str, Make, Make | None]] = {
    **{shape: ("x.recipe.toml", make, None) for shape, make in SHAPES.items()},
    **{f"{shape}, for a cluster": ("x.recipe.toml", make, of_recipe) for shape, make in SHAPES.items()},
    **{f"{shape} of a cluster": ("cluster.toml", make, None) for shape, make in CLUSTERS.items()},
    **{f"{shape} of a lock": ("recipe.lock", make, None) for shape, make in LOCKS.items()},
    **{f"{shape} of both": ("x.recipe.toml", *both) for shape, both in PAIRS.items()},
}


@pytest.mark.parametrize(("name", "make", "cluster"), GROWING.values(), ids=GROWING)
def test_time_grows_with_the_file_and_not_with_its_square(name: str, make: Make, cluster: Make | None) -> None:
    """Four times the text is not nearly sixteen times the time; so the machine's speed does not matter."""
    small, large = ((make(size), cluster and cluster(size)) for size in (8 * 1024, 32 * 1024))
    took(name, *small)

    for _ in range(3):
        before, after = took(name, *small), took(name, *large)
        if after < 8 * max(before, 0.02):
            return
    pytest.fail(f"four times the text takes {after / before:.1f} times as long")


def took(name: str, data: bytes, cluster: bytes | None) -> float:
    """Seconds of processor time to lint a file and to tell of it."""
    start = time.process_time()
    read = cluster and read_cluster("with.cluster.toml", cluster)[0]
    render(lint_file(name, only(name, data), read or None), "full")
    return time.process_time() - start


MENDABLE = {
    "suppressions of nothing": filled(lambda n: '"a", # rcc: ignore[RCC602] x\n', "args = [\n", "]\n"),
    "joined words": filled(lambda n: f'"--load-format auto{n}",', "args = [", "]\n"),
    "numbers as variables": filled(lambda n: f"A{n} = {n}\n", "[env]\n"),
    "shortened flags": filled(lambda n: '"--trust-remote",', "args = [", "]\n"),
}


@pytest.mark.parametrize("make", MENDABLE.values(), ids=MENDABLE)
def test_a_large_file_is_mended_with_few_readings(make: Make) -> None:
    read: list[str] = []

    def counted(text: str) -> Findings:
        read.append(text)
        return lint("x.recipe.toml", text.encode())

    text = make(MAX_BYTES - 16 * 1024).decode()  # with room for what the fixes add
    after, _ = mended("x.recipe.toml", text, counted, unsafe=True)

    assert len(read) == 2
    assert after == read[1] != text, "the first five hundred are mended"


def test_more_slips_of_a_kind_than_are_told_are_mended() -> None:
    text = MENDABLE["suppressions of nothing"](24 * 1024).decode()
    assert text.count("rcc:") > 600

    after, _ = mended("x.recipe.toml", text, lambda text: lint("x.recipe.toml", text.encode()), unsafe=False)
    assert "rcc:" not in after


@pytest.mark.parametrize("number", ["1" * 5_000, "0x" + "f" * 5_000, "0b" + "1" * 99_999, "-" + "1" * 5_000])
@pytest.mark.parametrize("line", ["port = {}", "x = [{{ a = {} }}]", "measured.a = {}"])
def test_an_integer_that_is_longer_than_can_be_shown(line: str, number: str) -> None:
    text = HEAD + line.format(number) + "\n"
    (one,) = lint("x.recipe.toml", text.encode())

    assert one.code == "RCC003"
    assert one.place
    assert text[one.place.span.start : one.place.span.end] == number


@pytest.mark.parametrize("number", ["1" * 5_000, "0x" + "f" * 5_000, "0" + "7" * 5_000])
def test_a_string_of_digits_is_none(number: str) -> None:
    text = completed(
        f'args = ["--port-of-ours", "{number}"]\n[env]\nNCCL_IB_TC = "{number}"\nA_GID_INDEX = "{number}"\n'
    )
    codes = {one.code for one in lint("x.recipe.toml", text.encode())}

    assert "RCC411" in codes
    assert "RCC003" not in codes


def test_a_file_that_is_too_large_is_not_read_further(tmp_path: Path) -> None:
    assert [one.code for one in lint("x.recipe.toml", b"#" * (MAX_BYTES + 1))] == ["RCC005"]


@pytest.mark.parametrize("name", ["/dev/stdin", "-"])
@pytest.mark.parametrize("command", ["lint", "lint --fix", "fmt"])
def test_an_input_without_an_end_is_read_no_further(command: str, name: str) -> None:
    limited = f'ulimit -v 3000000 && exec "$0" {command} {name} </dev/zero'
    rcc = Path(sys.executable).with_name("rcc")
    done = subprocess.run(["sh", "-c", limited, rcc], capture_output=True, text=True, check=False)
    assert (done.returncode, (done.stdout + done.stderr).count("RCC")) == (1, 1), done.stderr
    assert "RCC005" in done.stdout + done.stderr


def test_of_thousands_of_findings_the_first_are_told() -> None:
    found = lint("x.recipe.toml", SHAPES["unknown keys"](MAX_BYTES))
    codes = [one.code for one in found]

    assert codes.count("RCC201") == 500
    assert codes.count("RCC011") == 1


SEVERAL = {
    "bases": "RCC007",
    "bad variable names": "RCC405",
    "misspelt flags": "RCC503",
    "scattered tables": "RCC106",
    "secrets given twice": "RCC206",
    "shell variables": "RCC308",
    "tokens": "RCC412",
    "undefined names": "RCC302",
}


@pytest.mark.parametrize("shape", SEVERAL)
def test_a_finding_of_one_kind_is_told_some_five_hundred_times(shape: str) -> None:
    codes = [one.code for one in lint("x.recipe.toml", SHAPES[shape](MAX_BYTES))]

    assert 500 <= codes.count(SEVERAL[shape]) <= 501
    assert "RCC011" in codes


def test_nodes_of_one_name_are_told_some_five_hundred_times() -> None:
    codes = [one.code for one in lint("cluster.toml", CLUSTERS["nodes of one name"](MAX_BYTES))]

    assert (codes.count("RCC901"), codes.count("RCC011")) == (500, 1)


def test_an_error_is_told_also_behind_thousands_of_warnings() -> None:
    """What is not told never decides the exit code."""
    variables = filled(lambda n: f'A{n} = "$HOME"\n', "[env]\n", 'Z = "{{ hff }}"\n')
    found = lint("x.recipe.toml", variables(MAX_BYTES))

    assert [one.code for one in found].count("RCC308") == 500
    assert [one.code for one in found if one.severity.name == "ERROR"] == ["RCC302"]


@pytest.mark.parametrize(("template", "code"), [("{{ ! }}", "RCC301"), ("{{ hff }}", "RCC302")])
@pytest.mark.parametrize("with_cluster", [False, True])
def test_bad_templates_of_one_string_are_told_twenty_times(template: str, code: str, with_cluster: bool) -> None:
    data = (HEAD + '[env]\nA = "' + template * 5_000 + '"\n').encode()

    assert [one.code for one in lint("x.recipe.toml", data, with_cluster=with_cluster)].count(code) == 20


def test_with_a_cluster_thousands_of_findings_are_told_no_further() -> None:
    found = lint("x.recipe.toml", SHAPES["undefined names"](MAX_BYTES), with_cluster=True)

    assert 500 <= [one.code for one in found].count("RCC302") <= 501


def test_of_a_broken_file_the_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = tree.parse_flat

    def counted(text: str) -> tree.Tree:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(tree, "parse_flat", counted)
    found = lint("x.recipe.toml", SHAPES["an array that is never closed"](MAX_BYTES))

    assert [one.code for one in found] == ["RCC003"]
    assert len(parsed) == 1


@pytest.mark.parametrize("rest", ["]]]", "}", '"a', '"a":', '"\\q":1', "{", '[{"b":1,"b":1', ' "a": {"c": 1, "c": 1}]'])
def test_a_key_that_stands_twice_in_a_lock_is_told_whatever_follows(rest: str) -> None:
    found = lint("recipe.lock", b'{"a":1,\n"a":1}' + rest.encode())

    assert next((one.code, one.place and one.place.line_column) for one in found) == ("RCC004", (2, 1))


@pytest.mark.parametrize("shape", ["files that are none", "repeated keys"])
def test_of_thousands_of_findings_in_a_lock_the_first_are_told(shape: str) -> None:
    found = lint("recipe.lock", LOCKS[shape](LARGEST_LOCK))

    assert [one.code for one in found].count("RCC011") == 1
    assert len(found) == 501


def test_a_lock_that_is_too_large_is_not_read_further() -> None:
    (one,) = lint("recipe.lock", b"{" + b" " * LARGEST_LOCK)

    assert one.code == "RCC005"
