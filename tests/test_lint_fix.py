"""`--fix`, `--unsafe-fixes` and `--diff`: what is mended, and what is left alone."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli

from rcc.lint.mend import mended
from rcc.lint.pages import page, section
from tests.support.cli import Ran, call_rcc
from tests.support.pages import completed, examples
from tests.support.paths import CASES
from tests.support.skips import needs

HEAD = completed("port = 8000\n")


def lint(folder: Path, text: str, *options: str, name: str = "x.recipe.toml") -> tuple[Ran, str]:
    """How `rcc lint OPTIONS` ends, and the file afterwards."""
    (folder / name).write_bytes(text.encode())
    ran = call_rcc("lint", "--format", "concise", *options, name, cwd=folder)
    return ran, (folder / name).read_bytes().decode()


CAPTURED = """\
# Head of the file.

engine = "sglang"
docker_image = "registry.example.com/engine:1" # pinned by the lock

# The mounts.
[[extra_mounts]]
host = "/srv/serve.sh"
container = "/serve.sh"

# What the engine gets.
# Two lines of it.
args = [
    "--trust-remote-code", # for the tokenizer
]
model = "example/model"

[env]
A = "1"
"""
MOVED = """\
# Head of the file.

engine = "sglang"
docker_image = "registry.example.com/engine:1" # pinned by the lock

# What the engine gets.
# Two lines of it.
args = [
    "--trust-remote-code", # for the tokenizer
]
model = "example/model"

# The mounts.
[[extra_mounts]]
host = "/srv/serve.sh"
container = "/serve.sh"

[env]
A = "1"
"""


def test_captured_keys_move_up_with_their_comments(tmp_path: Path) -> None:
    ran, text = lint(tmp_path, CAPTURED, "--fix")

    assert text == MOVED
    assert "RCC101" not in ran.out
    assert ran.code == 0


def test_line_ends_and_a_mark_at_the_start_survive_or_go_as_they_should(tmp_path: Path) -> None:
    _, text = lint(tmp_path, "\ufeff" + CAPTURED.replace("\n", "\r\n"), "--fix")

    assert text == MOVED.replace("\n", "\r\n"), "lines keep their ends, and the mark goes"


@needs("patch")
def test_a_diff_changes_nothing_and_is_what_patch_applies(tmp_path: Path) -> None:
    ran, text = lint(tmp_path, CAPTURED, "--diff")
    assert text == CAPTURED
    assert ran.code == 1

    subprocess.run(["patch", "-s", "x.recipe.toml"], cwd=tmp_path, input=ran.out.encode(), check=True)
    assert (tmp_path / "x.recipe.toml").read_text() == MOVED
    again = call_rcc("lint", "--diff", "x.recipe.toml", cwd=tmp_path)
    assert (again.code, again.out) == (0, "")


LONG = HEAD + "".join(f"[measured.a{n}]\nx = {n}\n[ulimits.b{n}]\nsoft = {n}\nhard = {n}\n" for n in range(310))


@needs("patch")
@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
@pytest.mark.parametrize("text", [CAPTURED + "# \u2028 \x85 \u2029.\n", LONG + "[env]\nargs = []\n"])
def test_a_diff_is_what_patch_makes_of_it_whatever_the_lines_are(text: str, end: str, tmp_path: Path) -> None:
    text = text.replace("\n", end) if "\r" in end else text.removesuffix("\n") + end
    for command in (("lint", "--fix"), ("fmt",)):
        (tmp_path / "x.recipe.toml").write_bytes(text.encode())
        diff = call_rcc(*command, "--diff", "x.recipe.toml", cwd=tmp_path)
        assert diff.out.startswith("--- x.recipe.toml") or command == ("fmt",)
        subprocess.run(["patch", "-p0", "--binary"], input=diff.out.encode(), cwd=tmp_path, check=True)
        patched = (tmp_path / "x.recipe.toml").read_bytes()

        (tmp_path / "x.recipe.toml").write_bytes(text.encode())
        call_rcc(*command, "x.recipe.toml", cwd=tmp_path)
        assert patched == (tmp_path / "x.recipe.toml").read_bytes()


def test_with_a_diff_what_is_found_is_told_on_the_other_stream(tmp_path: Path) -> None:
    open_tag = completed('docker_image = "example/engine:1"\nargs = ["--max-total-tokens", "1"]\n')
    (tmp_path / "tag.recipe.toml").write_text(open_tag)
    assert call_rcc("lint", "--diff", "tag.recipe.toml", cwd=tmp_path).code == 0
    strict = call_rcc("lint", "--strict", "--diff", "tag.recipe.toml", cwd=tmp_path)
    assert (strict.code, strict.out) == (1, "")
    assert "RCC602" in strict.err

    (tmp_path / "bad.recipe.toml").write_text(completed('args = ["--trust-remote-code", "x"]\n'))
    ran = call_rcc("lint", "--diff", "bad.recipe.toml", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert "RCC515" in ran.err

    ran, text = lint(tmp_path, CAPTURED, "--diff", "--format", "json")
    assert ran.out.startswith("--- x.recipe.toml\n")
    found = json.loads(ran.err)["findings"]
    lines = [text.splitlines()[one["line"] - 1] for one in found if one["code"] == "RCC101"]
    assert lines == ["args = [", 'model = "example/model"'], "places are those of the file as it is"
    (tmp_path / "ok.recipe.toml").write_text(completed('args = ["--max-total-tokens", "1"]\n'))
    clean = call_rcc("lint", "--diff", "--format", "json", "ok.recipe.toml", cwd=tmp_path)
    assert (clean.out, json.loads(clean.err)) == ("", {"version": 1, "findings": []})


def test_a_mended_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text(CAPTURED)
    (tmp_path / "real.toml").chmod(0o640)
    (tmp_path / "x.recipe.toml").symlink_to("real.toml")

    call_rcc("lint", "--fix", "x.recipe.toml", cwd=tmp_path)

    assert (tmp_path / "x.recipe.toml").is_symlink()
    assert (tmp_path / "real.toml").read_text() == MOVED
    assert os.stat(tmp_path / "real.toml").st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["real.toml", "x.recipe.toml"]


@pytest.mark.parametrize("args", [("lint", "--fix"), ("fmt",)])
def test_a_file_that_changes_meanwhile_is_left_as_it_is(
    args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.recipe.toml"
    path.write_text(CAPTURED)

    def after_another(work: Callable[..., object]) -> Callable[..., object]:
        def both(*args: object, **options: object) -> object:
            path.write_text("# another's\n" + CAPTURED)
            return work(*args, **options)

        return both

    monkeypatch.setattr("rcc.cli.mending.mended", after_another(mended))
    monkeypatch.setattr("rcc.lint.layout.laid_out", after_another(lambda _: MOVED))
    ran = call_rcc(*args, "x.recipe.toml", cwd=tmp_path)

    assert (ran.code, path.read_text()) == (2, "# another's\n" + CAPTURED)
    assert "RCC007" in ran.text
    assert "was changed meanwhile" in ran.text
    assert [one.name for one in tmp_path.iterdir()] == ["x.recipe.toml"]


def test_standard_input_is_mended_to_standard_output(tmp_path: Path) -> None:
    ran = call_rcc("lint", "--fix", "-", cwd=tmp_path, stdin=CAPTURED.encode())

    assert ran.out == MOVED
    assert "RCC602" in ran.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('port = "8000"\n', "port = 8000\n"),
        ("[env]\nA = 1\n", '[env]\nA = "1"\n'),
        ("[env]\nA = true\n", '[env]\nA = "true"\n'),
        ("[env]\nA = 1.50\n", '[env]\nA = "1.50"\n'),
        ("[env]\nA = 1e3\n", '[env]\nA = "1e3"\n'),
        ("[env]\nA = 0x10\n", '[env]\nA = "0x10"\n'),
        ("[env]\nA = -0\n", '[env]\nA = "-0"\n'),
        ("[env]\nA = 1_000\n", '[env]\nA = "1_000"\n'),
        ("[env]\nA = 07:32:00.500\n", '[env]\nA = "07:32:00.500"\n'),
        ("name = 1.10\n", 'name = "1.10"\n'),
        ('port = "0080"\n', 'port = "0080"\n'),
        ('[extra_mounts]\nhost = "/a"\ncontainer = "/b"\n', '[[extra_mounts]]\nhost = "/a"\ncontainer = "/b"\n'),
        ('args = ["--context-length 8192"]\n', 'args = ["--context-length", "8192"]\n'),
        ("args = ['--context-length  8192']\n", "args = ['--context-length', '8192']\n"),
        ('args = ["--context-len", "8192"]\n', 'args = ["--context-length", "8192"]\n'),
        ('[env]\nNCCL_IB_HCA = "a, b"\n', '[env]\nNCCL_IB_HCA = "a,b"\n'),
        ("port = 8000 # rcc: ignore[RCC601] gone\n", "port = 8000\n"),
        ("# rcc: ignore[RCC601] gone\nport = 8000\n", "port = 8000\n"),
    ],
)
def test_safe_fixes(tmp_path: Path, before: str, after: str) -> None:
    base = completed(before).removesuffix(before)
    _, text = lint(tmp_path, base + before, "--fix")

    assert text == base + after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('distributed_backend = "rai"\n', 'distributed_backend = "ray"\n'),
        ("required_node = 1\n", "required_nodes = 1\n"),
        ('args = ["--max-runing-requests", "4"]\n', 'args = ["--max-running-requests", "4"]\n'),
        ('args = ["--tokenizer-path", "{{ modl.path }}"]\n', 'args = ["--tokenizer-path", "{{ model.path }}"]\n'),
        ('[env]\nNCCL_DEBG = "INFO"\n', '[env]\nNCCL_DEBUG = "INFO"\n'),
    ],
)
def test_unsafe_fixes_are_made_only_on_request(tmp_path: Path, before: str, after: str) -> None:
    base = completed(before).removesuffix(before)

    assert lint(tmp_path, base + before, "--fix")[1] == base + before
    assert lint(tmp_path, base + before, "--unsafe-fixes")[1] == base + after


def test_scattered_tables_move_to_their_siblings(tmp_path: Path) -> None:
    text = HEAD + (
        '\n[[extra_mounts]]\nhost = "/srv/a"\ncontainer = "/a"\n\n[healthcheck]\npath = "/x"\n\n'
        '# The other one.\n[[extra_mounts]]\nhost = "/srv/b"\ncontainer = "/b"\n'
    )
    ran, after = lint(tmp_path, text, "--fix")

    assert "RCC106" not in ran.out
    assert tomli.loads(after) == tomli.loads(text)
    assert after.index("# The other one.\n[[extra_mounts]]") < after.index("[healthcheck]")


OK = 'engine = "custom"\ndocker_image = "a/b@sha256:' + "a" * 64 + '"\nentrypoint = ["sh"]\n'
DEVICE = '[[extra_mounts]]\nhost = "/dev/x"\ncontainer = "/x"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Everything below a header, and keys below two.
        (DEVICE + OK, OK + "\n" + DEVICE),
        (
            OK + "\n" + DEVICE + 'port = 3\n[env]\nA = "1"\nshm_size = "1g"\n',
            OK + 'port = 3\nshm_size = "1g"\n\n' + DEVICE + '[env]\nA = "1"\n',
        ),
        # What a fix brings to light is no reason not to make it.
        (OK + "\n" + DEVICE + 'engin = "x"\nport = 99999\n', OK + "port = 99999\n\n" + DEVICE + 'engin = "x"\n'),
        ("".join(OK.splitlines(keepends=True)[1:]) + DEVICE + 'engine = "sglang"\n', None),
        (OK + '[extra_mounts]\nhost = "/dev/x"\ncontainer = "/x"\nport = 3\n', OK + "port = 3\n" + DEVICE),
        # A table is not torn apart.
        (
            OK + "port = 3\n" + DEVICE + '# how\nhealthcheck.path = "/h"\nhealthcheck.interval = "10s"\n',
            OK + 'port = 3\n\n# how\nhealthcheck.path = "/h"\nhealthcheck.interval = "10s"\n' + DEVICE,
        ),
        # A header or a dotted key that captured by its name.
        (OK + "\n" + DEVICE + '[extra_mounts.env]\nA = "1"\n', OK + "\n" + DEVICE + '[env]\nA = "1"\n'),
        (
            OK + DEVICE + '[[extra_mounts.assert]]\npath = "/a"\ncontains = "a"\n[[extra_mounts.assert]]\n'
            'path = "/b"\ncontains = "b"\n',
            OK + DEVICE + '[[assert]]\npath = "/a"\ncontains = "a"\n[[assert]]\npath = "/b"\ncontains = "b"\n',
        ),
        (OK + "env.port = 30 # mine\n", OK + "port = 30 # mine\n"),
        # A comment that nothing follows does not come to stand on another key.
        (OK + "# free\n\n" + DEVICE + "port = 3\n", OK + "# free\n\nport = 3\n\n" + DEVICE),
    ],
)
def test_captured_keys_are_fixed_in_one_go(before: str, after: str | None, tmp_path: Path) -> None:
    ran, text = lint(tmp_path, before, "--fix")

    if after is not None:
        assert text == after
    assert text != before
    assert "RCC101" not in ran.out
    assert lint(tmp_path, text, "--fix")[1] == text


NODE = '[[nodes]]\nname = "a"\nhost = "10.0.0.11"\n'
OTHER = NODE.replace('"a"', '"b"').replace("11", "12")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # RCC105: a sub-table before the array that it belongs to.
        (
            '# theirs\n\n# env\n[nodes.env]\nA = "1"\n\n' + NODE,
            "# theirs\n\n" + NODE + '\n# env\n[nodes.env]\nA = "1"\n',
        ),
        (
            '[nodes.env]\nA = "1"\n[nodes.vars]\nb = "2"\n' + NODE,
            NODE + '\n[nodes.env]\nA = "1"\n[nodes.vars]\nb = "2"\n',
        ),
        # RCC107: dotted keys and a header.
        (
            'vars.a = "1" # one\n# two\nvars."b c"   = """\n=\n"""\n' + NODE + '[vars]\nd = "3"\n',
            NODE + '[vars]\na = "1" # one\n# two\n"b c"   = """\n=\n"""\nd = "3"\n',
        ),
        ('nccl.x.A = "1"\n' + NODE + "[nccl.x]", NODE + '[nccl.x]\nA = "1"\n'),
        # RCC103: single brackets beside double ones, before and after, and twice.
        (NODE + OTHER.replace("[[nodes]]", "[nodes]"), NODE + OTHER),
        (NODE.replace("[[nodes]]", "[nodes]") + OTHER, NODE + OTHER),
        ((NODE + OTHER).replace("[[nodes]]", "[nodes]"), NODE + OTHER),
        # Several slips, of which each alone leaves the file unreadable.
        (
            'vars.a = "1"\n' + NODE + OTHER.replace("[[nodes]]", "[nodes]") + '[vars]\nb = "2"\n',
            NODE + OTHER + '[vars]\na = "1"\nb = "2"\n',
        ),
    ],
)
def test_a_file_that_table_order_makes_unreadable_is_mended(before: str, after: str, tmp_path: Path) -> None:
    ran, text = lint(tmp_path, before, "--fix", name="cluster.toml")

    assert text == after
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize("option", ["--fix", "--unsafe-fixes"])
def test_what_may_mean_more_than_one_thing_is_left_alone(option: str, tmp_path: Path) -> None:
    several = '[nodes.env]\nA = "1"\n' + NODE + OTHER
    _, text = lint(tmp_path, several, option, name="cluster.toml")
    assert text == (several if option == "--fix" else NODE + '[nodes.env]\nA = "1"\n' + OTHER)

    for both in ('vars.a = "1"\n' + NODE + '[vars]\na = "2"\n', NODE + 'name = "b"\n', "nodes = []\n" + NODE):
        assert lint(tmp_path, both, option, name="cluster.toml")[1] == both


def test_a_hundred_captured_keys_in_two_tables(tmp_path: Path) -> None:
    keys = [f'{key} = "x"\n' for key in ("name", "description", "parent_model", "listen", "topology", "requires_rcc")]
    text = OK + DEVICE + "".join(keys[:3]) + '[env]\nA = "1"\n' + "".join(f'V{n} = "1"\n' for n in range(100))
    _, after = lint(tmp_path, text + "".join(keys[3:]), "--fix")

    assert after.startswith(OK + "".join(keys))


def test_scattered_tables_take_only_their_own_comments_along(tmp_path: Path) -> None:
    first, second = (DEVICE.replace("/x", f"/{letter}") for letter in "ab")
    tail = '# about env\n[env]\nA = "1"\n'
    _, after = lint(tmp_path, OK + first + tail + "\n# second\n" + second + "# trailing\n", "--fix")
    assert after == OK + first + "# second\n" + second + "# trailing\n\n" + tail

    free = "\n# free, about nothing\n\n"
    _, after = lint(tmp_path, OK + first + "\n" + tail + "\n" + second + free + "[measured]\na = 1\n", "--fix")
    assert after == OK + first + "\n" + second + "\n" + tail + free + "[measured]\na = 1\n"


@pytest.mark.parametrize("example", examples("Example"), ids=lambda one: one.code)
def test_fixes_of_all_examples_are_sound(example: object, tmp_path: Path) -> None:
    """Whatever is mended can be read, has no finding of that code with a safe fix left, and stays as it is then."""
    path = example.write(tmp_path)  # type: ignore[attr-defined]
    code = example.code  # type: ignore[attr-defined]
    call_rcc("lint", "--fix", path.name, cwd=tmp_path)
    once = path.read_bytes()
    ran = call_rcc("lint", "--fix", path.name, cwd=tmp_path)

    assert path.read_bytes() == once
    if section(page(code) or "", "Fix safety").startswith("The fix") and "It is safe:" in (page(code) or ""):
        assert code not in ran.out


def test_thirty_slips_lose_what_can_be_mended_and_gain_nothing(tmp_path: Path) -> None:
    text = (CASES / "err-thirty-slips.toml").read_text()
    before, after_text = lint(tmp_path, text, "--unsafe-fixes")
    after, again = lint(tmp_path, after_text, "--unsafe-fixes")

    assert after_text == again
    assert before.out == after.out
    mended = set(lint(tmp_path, text)[0].out.split("[RCC")[1:]) - set(after.out.split("[RCC")[1:])
    assert len(mended) >= 10
    comments = [line.partition("#")[2] for line in text.splitlines() if "#!" in line and "RCC008" not in line]
    assert [comment for comment in comments if comment not in after_text] == []


@pytest.mark.parametrize(
    ("lines", "safe"),
    [
        ('tiling = "floor"\n', True),
        ('tiling = "floor" # as the engine splits them\n', False),
        ('# as the engine splits them\ntiling = "floor"\n', False),
        ('include = [\n  "*.json", # the tokenizer\n]\n', False),
    ],
)
def test_a_safe_fix_takes_no_comment_with_it(lines: str, safe: bool, tmp_path: Path) -> None:
    kind = "sparse-rows" if "include" in lines else "snapshot"
    head = f'{HEAD}[[staging]]\nkind = "{kind}"\nid = "a"\nsrc = "{{{{ model.host_path }}}}"\ndst = "/srv/a"\n'
    assert lint(tmp_path, head + lines, "--fix")[1] == (head if safe else head + lines)
    assert lint(tmp_path, head + lines, "--unsafe-fixes")[1] == head
