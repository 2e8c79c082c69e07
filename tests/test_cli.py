"""The command line as such: help, exit codes, streams, what it finds by itself."""

import os
import pty
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import click
import pytest

from tests.support.cli import call_rcc, clean_env, run_rcc
from tests.support.paths import RECIPES

RCC = str(Path(sys.executable).with_name("rcc"))
HELLO = RECIPES / "hello"
NODES = '\n[[nodes]]\nname = "{}"\nhost = "10.0.0.11"\n'


def commands() -> list[str]:
    from rcc.cli import command_line

    return command_line.list_commands(click.Context(command_line))


def test_help_lists_every_command_with_a_line(tmp_path: Path) -> None:
    lines = call_rcc("--help", cwd=tmp_path).out.splitlines()

    assert commands()
    for name in commands():
        assert any(line.startswith(f"  {name} ") and line.endswith(".") for line in lines), name


@pytest.mark.parametrize("name", commands())
def test_every_command_explains_itself_within_a_fixed_width(name: str, tmp_path: Path) -> None:
    wide, narrow = (call_rcc(name, "--help", cwd=tmp_path, env={"COLUMNS": columns}) for columns in ("200", "20"))

    assert wide.code == 0, wide.text
    assert wide.out == narrow.out
    assert max(map(len, wide.out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bulid"], "Did you mean `build`?"),
        (["build", "--targt", "shell"], "Did you mean"),
        (["build", "x", "--locked", "--frozen"], "exclude each other"),
        (["schema", "recipes"], "the formats are"),
        (["build"], "there is no rcc.toml"),
        (["freeze", "x", "--label", "a/b"], "A label is"),
        (["freeze", "x", "--label", "a", "--at", "yesterday"], "is no time"),
        (["build", "x", "--id", "../../etc"], "1 to 40 of"),
        (["plan", "x", "--id", "x" * 80], "1 to 40 of"),
        (["plan", "x", "--id", ""], "1 to 40 of"),
    ],
)
def test_wrong_usage_is_said_and_ends_with_2(arguments: list[str], said: str, tmp_path: Path) -> None:
    ran = call_rcc(*arguments, cwd=tmp_path)

    assert ran.code == 2, ran.text
    assert said in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("command", ["build", "plan", "explain", "grade", "stage --rank 0", "freeze --label x"])
def test_a_missing_recipe_ends_with_2(command: str, tmp_path: Path) -> None:
    ran = call_rcc(*command.split(), "nowhere.toml", cwd=tmp_path)

    assert ran.code == 2
    assert "RCC007" in ran.err
    assert "`nowhere.toml`" in ran.err


@pytest.mark.parametrize("command", ["build", "plan", "lint"])
def test_of_a_recipe_where_nothing_can_be_looked_at_the_recipe_is_named(command: str, tmp_path: Path) -> None:
    ran = call_rcc(command, f"{'x' * 300}/recipe.toml", cwd=tmp_path)

    assert ran.code == 2
    assert "error[RCC007]: cannot read `x" in ran.text
    assert ".git" not in ran.text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("build round", 2),
        ("plan round/recipe.toml", 2),
        ("lint round/recipe.toml", 2),
        (f"plan {HELLO} -c round", 2),
        (f"build {HELLO} -t shell -o round", 1),
        (f"build {HELLO} -t shell -o round/x", 1),
        ("verify round/x", 2),
        ("init round/x", 2),
    ],
)
def test_a_link_to_itself_is_no_bug(arguments: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    ran = call_rcc(*arguments.split(), cwd=tmp_path)

    assert ran.code == code, ran.text


def test_an_empty_place_for_the_result_is_not_no_place(tmp_path: Path) -> None:
    ran = call_rcc("build", HELLO, "-t", "shell", "-o", "", cwd=tmp_path)

    assert ran.code == 1
    assert "RCC1101" in ran.err
    assert not (tmp_path / "result").is_symlink()


def test_a_working_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = f"cd gone && rmdir ../gone && exec {sys.executable} {RCC} build x"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, env=clean_env(tmp_path), check=False)

    assert done.returncode == 2
    assert b"cannot use `the working folder`: no such file or directory" in done.stderr


def test_a_folder_without_a_recipe_is_a_missing_recipe(tmp_path: Path) -> None:
    ran = call_rcc("build", ".", cwd=tmp_path)

    assert ran.code == 2
    assert "`recipe.toml`" in ran.err


def test_a_bug_ends_with_3_and_what_to_paste_without_secrets(tmp_path: Path) -> None:
    secret, home = "hunter2-hunter2", str(tmp_path)
    error = RuntimeError(f"no {secret} and no hf_{'x' * 20} in {home}/a\x1b[31m")
    with patch("rcc.cli.compiling.load", side_effect=error):
        ran = call_rcc("build", HELLO, cwd=tmp_path, env={"MY_TOKEN": secret})

    assert ran.code == 3
    assert "rcc 0." in ran.err
    assert "rcc/cli/compiling.py:" in ran.err
    assert "RuntimeError: no *** and no *** in ~/a" in ran.err
    assert "\x1b" not in ran.err


def test_an_interrupt_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    with patch("rcc.cli.compiling.load", side_effect=KeyboardInterrupt):
        ran = call_rcc("build", HELLO, cwd=tmp_path)

    assert ran.code == 130
    assert "Traceback" not in ran.text


def test_a_reader_that_leaves_is_nothing_to_complain_about(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, RCC, "schema", "recipe"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, env=clean_env(tmp_path), check=False
    )
    os.close(writer)

    assert done.stderr == b""


JSON_COMMANDS = [
    ["build", "bad", "-t", "shell"],
    ["plan", "bad"],
    ["explain", "bad"],
    ["grade", "bad"],
    ["freeze", "bad", "--label", "x"],
    ["lock", "bad"],
    ["stage", "bad", "--rank", "0"],
    ["diff", "bad", "bad"],
    ["diff", "bad", "nowhere.lock"],
    ["reproduce", "bad"],
    ["verify", "bad"],
    ["rollback"],
]


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=" ".join)
def test_programs_get_the_findings_of_a_command_that_gives_nothing_else(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/recipe.toml").write_text("prot = 1\n")
    ran = call_rcc(*arguments, "--json", cwd=tmp_path)

    value = ran.json()
    (told,) = value.get("builds") or value.get("locks") or [value]
    assert ran.code in (1, 2)
    assert "error" in [one["severity"] for one in told["findings"]]
    assert "error[" not in ran.err


def test_nothing_to_stage_is_json_too(tmp_path: Path) -> None:
    ran = call_rcc("stage", HELLO, "--rank", "0", "--json", cwd=tmp_path)

    assert ran.json() == {"version": 1, "command": "stage", "status": 0, "blocks": []}


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [("schema", 0), (f"plan {HELLO}", 0), ("plan nowhere", 2), ("nope", 2)])
def test_closed_streams_change_no_exit_code(closed: str, arguments: str, code: int, tmp_path: Path) -> None:
    script = f"exec {sys.executable} {RCC} {arguments} {closed}"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, env=clean_env(tmp_path), check=False)

    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(("arguments", "stream"), [("schema", ">"), ("plan nowhere", "2>"), ("nope", "2>")])
def test_a_stream_that_is_full_ends_with_2(arguments: str, stream: str, tmp_path: Path) -> None:
    script = f"exec {sys.executable} {RCC} {arguments} {stream}/dev/full"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, env=clean_env(tmp_path), check=False)

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["schema", f"plan {HELLO}", f"explain {HELLO}", f"build {HELLO} --json"])
def test_a_full_stdout_is_called_so(arguments: str, tmp_path: Path) -> None:
    script = f"exec {sys.executable} {RCC} {arguments} >/dev/full"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, env=clean_env(tmp_path), check=False)

    assert b"error[RCC007]: cannot write to stdout: no space left on device\n\n1 error\n" in done.stderr


def test_output_is_utf_8_in_any_locale(tmp_path: Path) -> None:
    env = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    (tmp_path / "recipe.toml").write_text('id = "é"\n')
    inside, plain = (run_rcc("plan", ".", cwd=tmp_path, env=one) for one in (env, {}))

    assert "é" in inside.err
    assert inside.err == plain.err


def on_a_terminal(*arguments: str, cwd: Path, env: dict[str, str]) -> str:
    """What rcc's stderr shows on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, RCC, *arguments]
    subprocess.run(command, cwd=cwd, env={**clean_env(cwd), **env}, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # all is read: the other end is closed
            break
    os.close(ours)
    return shown.decode()


@pytest.mark.parametrize(
    ("env", "colored"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_want_it(env: dict[str, str], colored: bool, tmp_path: Path) -> None:
    shown = on_a_terminal("plan", "nowhere.toml", cwd=tmp_path, env=env)

    assert "RCC007" in shown
    assert ("\x1b[" in shown) == colored


def test_what_a_recipe_holds_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    evil = "\\u001b]0;owned\\u0007 \\u009b31m \\u202eend"
    (tmp_path / "recipe.toml").write_text(f'id = "x"\nengine = "custom"\ndocker_image = "a:1"\n"{evil}" = 1\n')
    shown = on_a_terminal("plan", ".", cwd=tmp_path, env={"TERM": "dumb"})

    assert "unknown key" in shown
    assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_completion_knows_the_commands(tmp_path: Path) -> None:
    env = {"_RCC_COMPLETE": "bash_complete", "COMP_WORDS": "rcc ro", "COMP_CWORD": "1"}

    assert "rollback" in run_rcc(cwd=tmp_path, env=env).out
    assert "_RCC_COMPLETE" in run_rcc(cwd=tmp_path, env={"_RCC_COMPLETE": "bash_source"}).out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("build rec", "file,rec"),
        ("build x -c clu", "file,clu"),
        ("lint a.toml b", "file,b"),
        ("diff a b", "file,b"),
        ("build x -t sy", "plain,systemd"),
        ("lint --explain RCC10", "plain,RCC101"),
        ("schema rec", "plain,recipe"),
    ],
)
def test_completion_knows_what_stands_where(words: str, offered: str, tmp_path: Path) -> None:
    line = f"rcc {words}"
    env = {"_RCC_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}

    assert offered in run_rcc(cwd=tmp_path, env=env).out.splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A git repository with a recipe two folders down, and a cluster file in every folder from above to there."""
    folder = tmp_path / "above/top/mid/low"
    folder.mkdir(parents=True)
    (tmp_path / "above/top/.git").mkdir()
    for path in (HELLO / "recipe.toml", HELLO / "serve.sh"):
        (folder / path.name).write_bytes(path.read_bytes())
    for above in ("low", "mid", "top", "above"):
        place = next(one for one in (folder, *folder.parents) if one.name == above)
        (place / "cluster.toml").write_text(f'name = "{above}"' + NODES.format(above))
    return folder


def node_of(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> tuple[str, str]:
    """The node that a plan is for, and what was said on the way."""
    ran = call_rcc("plan", *arguments, "--json", cwd=cwd, env=env)
    assert ran.code == 0, ran.text
    return ran.json()["ranks"][0]["node"], ran.err


def test_the_nearest_cluster_file_up_to_the_repository_s_top_is_used_and_said(project: Path) -> None:
    assert node_of(".", cwd=project) == ("low", "cluster: cluster.toml\n")
    (project / "cluster.toml").unlink()
    assert node_of(".", cwd=project) == ("mid", "cluster: ../cluster.toml\n")
    (project.parent / "cluster.toml").unlink()
    assert node_of("mid/low/recipe.toml", cwd=project.parents[1]) == ("top", "cluster: cluster.toml\n")
    (project.parents[1] / "cluster.toml").unlink()
    assert node_of(".", cwd=project) == ("localhost", "")


def test_without_a_repository_no_cluster_file_above_is_used(project: Path) -> None:
    (project.parents[1] / ".git").rmdir()
    (project / "cluster.toml").unlink()

    assert node_of(".", cwd=project) == ("localhost", "")


def test_a_cluster_file_that_is_named_goes_before_the_variable_and_that_before_the_search(project: Path) -> None:
    variable = {"RCC_CLUSTER": str(project.parent / "cluster.toml")}

    assert node_of(".", cwd=project, env=variable)[0] == "mid"
    assert node_of(".", "-c", "../../cluster.toml", cwd=project, env=variable)[0] == "top"


def test_the_lock_is_the_one_beside_the_recipe(project: Path) -> None:
    (project / "recipe.lock").write_text("<<<<<<< HEAD\n")
    assert "recipe.lock:1:1" in call_rcc("build", ".", cwd=project).err
    (project / "recipe.toml").rename(project / "a.recipe.toml")
    assert "recipe.lock" not in call_rcc("plan", "a.recipe.toml", cwd=project).err
    (project / "a.recipe.lock").write_text("<<<<<<< HEAD\n")
    assert "a.recipe.lock:1:1" in call_rcc("plan", "a.recipe.toml", cwd=project).err


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "x.recipe.toml"],
        ["lint", "."],
        ["fmt", "x.recipe.toml"],
        ["build", "x.recipe.toml"],
        ["lint", "locked.recipe.toml"],
        ["lock", "--check", "locked.recipe.toml"],
        ["diff", "locked.recipe.lock", "locked.recipe.lock"],
        ["build", "locked.recipe.toml", "-c", "pipe.toml"],
    ],
)
def test_nobody_is_waited_for_at_a_pipe(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "locked.recipe.toml").write_text('engine = "custom"\ndocker_image = "localhost/x:1"\n')
    for name in ("x.recipe.toml", "locked.recipe.lock", "pipe.toml"):
        os.mkfifo(tmp_path / name)

    ran = run_rcc(*words, cwd=tmp_path)

    assert ran.code == 2
    assert "not a regular file" in ran.text


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    ran = run_rcc("lint", "--format", "concise", "/dev/stdin", cwd=tmp_path, stdin=b"engine = 1\n")

    assert "/dev/stdin:1:10: error[RCC202] " in ran.out
