"""`rcc lock` as its users meet it."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.checkpoints import INDEX, Content, sharded, table
from tests.support.cli import call_rcc, clean_env, run_rcc
from tests.support.hf_cache import write_cache
from tests.support.hub import TOKEN, Hub
from tests.support.locks import REPO, SOURCES, edit, lock, locked, make_project, small_hub
from tests.support.oci import Blobs
from tests.support.server import Asked, Reply, Server
from tests.support.wait import wait_for


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with small_hub() as running:
        yield running


def test_the_first_lock_says_what_it_locked(project: Path) -> None:
    ran = locked(project)

    values = json.loads((project / "serve.recipe.lock").read_text())
    assert set(values) == {"version", "revision", "images", "models", "staging", "files"}
    assert values["images"]["engine"]["original"] == {"reference": "docker.io/library/serve:1"}
    assert values["models"]["model"]["locked"]["commit"] == "a" * 40
    assert values["staging"]["engram"]["locked"]["ranks"] == [{"1": [0, 5]}, {"1": [5, 10]}]
    assert values["files"]["run.sh"]["locked"]["mode"] == "0644"
    for word in (values["images"]["engine"]["locked"]["digest"], "a" * 40, "run.sh", "engram"):
        assert word in ran.out
    assert "wrote serve.recipe.lock" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        (INDEX, Content.of(b'{"weight_map": {"layers.1.engram.embed.\\ud800": "model.safetensors"}}'), "RCC1215"),
        ("config.json", Content(b"", 1 << 63, lfs=True, claimed="a" * 64), "RCC1214"),
    ],
)
def test_an_answer_that_no_lock_could_hold_is_refused(
    name: str, content: Content, code: str, hub: Hub, project: Path
) -> None:
    hub.add(REPO, {**sharded({"model.safetensors": table(1, 10)}), name: content})
    ran = call_rcc("lock", "serve.recipe.toml", *SOURCES[:2], cwd=project, env=hub.environ)

    assert ran.code == 1
    assert f"error[{code}]" in ran.err
    assert not (project / "serve.recipe.lock").exists()


def test_a_lock_that_nobody_could_read_again_is_not_written(hub: Hub, project: Path) -> None:
    folders = "/".join(["d" * 250] * 8)
    hub.add(REPO, {f"{folders}/{number}": Content.of(b"") for number in range(1_100)} | sharded({"a": table(1, 10)}))
    ran = call_rcc("lock", "serve.recipe.toml", *SOURCES[:2], cwd=project, env=hub.environ)

    assert ran.code == 1
    assert "error[RCC005]: the lock would have 23" in ran.err
    assert "more than the 2097152 that rcc reads" in ran.err
    assert not (project / "serve.recipe.lock").exists()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("HF_ENDPOINT", "junk", "`HF_ENDPOINT` is no address of a hub"),
        ("HF_ENDPOINT", "http://[x", "`HF_ENDPOINT` is no address of a hub"),
        ("HF_ENDPOINT", "http://127.0.0.1:99999", "`HF_ENDPOINT` is no address of a hub"),
        ("HF_TOKEN", "hf_\u00e9", "the login for the Hub cannot be had (it is not in ASCII)"),
        ("https_proxy", "junk://", "a variable for proxies"),
        ("all_proxy", "socks5://127.0.0.1:1", "a variable for proxies"),
        ("SSL_CERT_FILE", "/nowhere/at/all", "the certificates that `SSL_CERT_FILE` or `SSL_CERT_DIR` names"),
    ],
)
def test_a_variable_that_cannot_be_used_is_named(variable: str, value: str, said: str, hub: Hub, project: Path) -> None:
    env = {**hub.environ, variable: value}
    ran = run_rcc("lock", "serve.recipe.toml", *SOURCES[:2], cwd=project, env=env)

    assert ran.code == 1
    assert said in ran.err
    assert not (project / "serve.recipe.lock").exists()


def test_a_dry_run_tells_and_writes_nothing(project: Path) -> None:
    ran = lock(project, "--dry-run", *SOURCES)
    assert ran.code == 0
    assert "locked image engine" in ran.out
    assert not (project / "serve.recipe.lock").exists()

    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, "serve:1", "serve:2")
    ran = lock(project, "--dry-run", *SOURCES)
    assert ran.code == 0
    assert "updated image engine" in ran.out
    assert "→" in ran.out
    assert "models" not in ran.out
    assert (project / "serve.recipe.lock").read_bytes() == before


def test_a_lock_of_a_newer_revision_stays_while_it_answers_and_is_not_made_poorer_in_silence(project: Path) -> None:
    locked(project)
    path = project / "serve.recipe.lock"
    newer = json.dumps({**json.loads(path.read_text()), "revision": 2, "later": {}}, indent=2, sort_keys=True) + "\n"
    path.write_text(newer)
    ran = lock(project, *SOURCES)
    assert ran.code == 0
    assert "is up to date" in ran.err
    assert path.read_text() == newer

    edit(project, "serve:1", "serve:2")
    ran = lock(project, *SOURCES)
    assert ran.code == 0
    assert "warning[RCC614]: the lock was of revision 2" in ran.err
    assert json.loads(path.read_text())["revision"] == 1


def test_upgrades_resolve_just_what_they_name(project: Path) -> None:
    locked(project)
    blobs = Blobs()
    blobs.write_layout(project / "layout", {"1": blobs.image("linux", "arm64", "v8", b"new")})
    write_cache(project / "cache", REPO, sharded({"model.safetensors": table(1, 12)}), "classic", "b" * 40)
    (project / "cache/models--spark--small/refs/main").write_text("b" * 40)

    assert lock(project, *SOURCES).out == ""
    only_image = lock(project, "--upgrade-image", "--dry-run", *SOURCES).out
    only_model = lock(project, "--upgrade-model", "model", "--dry-run", *SOURCES).out
    both = lock(project, "--upgrade", "--json", *SOURCES)

    assert "updated image engine" in only_image
    assert "model" not in only_image.replace("models", "")
    assert "updated model model" in only_model
    assert "updated staging engram" in only_model  # its rows are those of the model
    assert "image" not in only_model
    (record,) = both.json()["locks"]
    assert record["written"]
    assert [(one["section"], one["key"]) for one in record["changes"]] == [
        ("images", "engine"),
        ("models", "model"),
        ("staging", "engram"),
    ]
    assert lock(project, "--upgrade-model", "draft", *SOURCES).code == 1


@pytest.mark.parametrize(
    "options",
    [
        ("--check", "--upgrade"),
        ("--check", "--verify"),
        ("--verify", "--dry-run"),
        ("--hash",),
        ("--image-from", "oci:"),
        ("--image-from", "docker"),
        ("--model-from", "cache:"),
        ("--model-from", "hub"),
    ],
)
def test_usage(project: Path, options: tuple[str, ...]) -> None:
    assert lock(project, *options).code == 2


def test_a_recipe_that_is_not_there(project: Path) -> None:
    assert call_rcc("lock", "none.recipe.toml", "--check", cwd=project).code == 2


def test_verify_asks_and_writes_nothing(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    assert lock(project, "--verify", *SOURCES).code == 0
    blobs = Blobs()
    blobs.write_layout(project / "layout", {"1": blobs.image("linux", "arm64", "v8", b"new")})

    ran = lock(project, "--verify", *SOURCES)

    assert "RCC12" in ran.err
    assert (project / "serve.recipe.lock").read_bytes() == before


def test_hash_compares_the_cache_with_the_lock(project: Path) -> None:
    locked(project)
    assert lock(project, "--hash", *SOURCES).code == 0
    blob = (project / "cache/models--spark--small/snapshots" / ("a" * 40) / "model.safetensors").resolve()
    blob.write_bytes(blob.read_bytes()[:-1] + b"x")

    ran = lock(project, "--hash", *SOURCES)

    assert ran.code == 1
    assert "RCC1217" in ran.err
    assert "model.safetensors" in ran.err


def test_nothing_changed_so_nothing_is_asked(project: Path, hub: Hub) -> None:
    locked(project)

    ran = call_rcc("lock", "serve.recipe.toml", cwd=project, env=hub.environ)

    assert ran.code == 0, ran.text
    assert "up to date" in ran.err
    assert hub.server
    assert not hub.server.asked


def test_no_token_in_any_message(project: Path, hub: Hub) -> None:
    assert hub.server
    hub.server.answer = lambda asked: Reply(403, {"X-Error-Message": f"no {asked.headers['authorization']}"})

    ran = call_rcc(
        "lock", "serve.recipe.toml", "--image-from", "oci:layout", cwd=project, env={**hub.environ, "HF_TOKEN": TOKEN}
    )

    assert ran.code == 1
    assert any("authorization" in one.headers for one in hub.server.asked)
    assert TOKEN not in ran.text


def test_a_missing_extra_says_how_to_install_it(project: Path) -> None:
    for module in ("httpx2", "huggingface_hub"):
        (project / "without").mkdir(exist_ok=True)
        (project / "without" / f"{module}.py").write_text("raise ImportError(name=__name__)\n")
    env = {"PYTHONPATH": str(project / "without")}

    ran = run_rcc("lock", "serve.recipe.toml", cwd=project, env=env)

    assert ran.code == 1
    assert "RCC1201" in ran.err
    assert "`pip install '.[lock]'` in a clone of it, else `pip install 'rcc[lock]'`" in ran.err
    assert run_rcc("lock", "serve.recipe.toml", *SOURCES, cwd=project, env=env).code == 0


def test_offline_work_imports_no_client(project: Path) -> None:
    locked(project)
    for options in (("--check",), ()):
        ran = run_rcc(
            "lock",
            "serve.recipe.toml",
            *options,
            cwd=project,
            python_options=("-X", "importtime"),
            env={"HF_ENDPOINT": "http://127.0.0.1:1"},
        )
        assert ran.code == 0, ran.text
        assert "httpx2" not in ran.err
        assert "huggingface_hub" not in ran.err


def test_docker_as_a_source(project: Path) -> None:
    digest = f"sha256:{'2' * 64}"
    image = {
        "RepoDigests": [f"other@sha256:{'1' * 64}", f"serve@{digest}"],
        "Descriptor": {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": digest, "size": 1},
        "Architecture": "arm64",
        "Os": "linux",
        "Variant": "v8",
    }
    docker = project / "docker"
    docker.write_text(
        f"#!/bin/sh\n[ \"$*\" = 'image inspect -- docker.io/library/serve:1' ] && cat <<'E'\n{json.dumps([image])}\nE\n"
    )
    docker.chmod(0o755)
    env = {"PATH": f"{project}:/usr/bin:/bin"}

    ran = call_rcc("lock", "serve.recipe.toml", "--image-from", "daemon", *SOURCES[2:], cwd=project, env=env)

    assert ran.code == 0, ran.text
    assert json.loads((project / "serve.recipe.lock").read_text())["images"]["engine"]["locked"] == {
        "digest": digest,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "platforms": {"linux/arm64": {"config": None, "manifest": None}},
    }
    assert lock(project, "--check").code == 0


def test_an_image_that_was_built_here_has_no_digest(project: Path) -> None:
    programs = project / "bin"
    programs.mkdir()
    (programs / "docker").write_text(
        '#!/bin/sh\necho \'[{"RepoDigests": [], "Architecture": "arm64", "Os": "linux"}]\'\n'
    )
    (programs / "docker").chmod(0o755)

    ran = call_rcc(
        "lock",
        "serve.recipe.toml",
        "--image-from",
        "daemon",
        *SOURCES[2:],
        cwd=project,
        env={"PATH": f"{programs}:/usr/bin"},
    )

    assert ran.code == 1
    assert "RCC1209" in ran.err
    assert "push it" in ran.err


def test_a_plain_file_as_answer_is_never_taken_for_an_image(project: Path) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(200, body=b"hello")

    with Server(answer) as server:
        edit(project, '"serve:1"', f'"{server.host}/serve:1"')
        ran = call_rcc("lock", "serve.recipe.toml", *SOURCES[2:], cwd=project)

    assert ran.code == 1
    assert "RCC1206" in ran.err
    assert "docker_image" in ran.err  # the place in the recipe


def test_long_work_is_shown_on_a_terminal_and_nowhere_else(project: Path) -> None:
    locked(project)
    command = [
        sys.executable,
        str(Path(sys.executable).with_name("rcc")),
        "lock",
        "serve.recipe.toml",
        "--hash",
        *SOURCES,
    ]
    ours, theirs = pty.openpty()
    env = clean_env(project, {"TERM": "xterm", "COLUMNS": "80"})
    with subprocess.Popen(command, cwd=project, env=env, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        out = process.communicate()[0]
    os.close(ours)

    assert process.returncode == 0, shown
    assert b"hashing" in shown
    assert b"100 %" in shown
    assert out == b""
    assert "hashing" not in lock(project, "--hash", *SOURCES).text


def _read(terminal: int) -> bytes:
    """What a terminal shows next; nothing where its program has ended."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@contextmanager
def locking(project: Path, *options: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """`rcc lock` at work, which is ended where the test has not done so."""
    command = [sys.executable, "-m", "rcc.cli", "lock", "serve.recipe.toml", *options]
    with subprocess.Popen(
        command, cwd=project, env=clean_env(project, env), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def silent(project: Path) -> Path:
    """A pipe in the place of a file of the cache: who opens it waits for somebody to write."""
    branch = project / "cache/models--spark--small/refs/main"
    branch.unlink()
    os.mkfifo(branch)
    return branch


def opened(branch: Path) -> int:
    """The other end of the pipe, once somebody waits there."""

    def open_for_writing() -> int | None:
        try:
            return os.open(branch, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None

    return wait_for(open_for_writing, "somebody who reads the cache") or 0


def readers(cache: Path) -> list[str]:
    """Processes that were told of a cache."""
    lines = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(one.read_bytes().decode("utf-8", "replace"))
    return [line for line in lines if "rcc.fetch.apart" in line and str(cache) in line]


def test_a_cache_that_does_not_answer_keeps_nobody_waiting(project: Path) -> None:
    before = sorted(os.listdir(project))
    silent(project)
    cache = project / "cache"
    with patch("rcc.fetch.apart.PATIENCE", 3.0):
        ran = lock(project, "--image-from", "oci:layout", "--model-from", f"cache:{cache}")

    assert ran.code == 1
    assert f"error[RCC1216]: the cache `{cache}` does not answer: nothing came of it for 3 s" in ran.err
    assert "help: look at its file server, or name another cache" in ran.err
    assert sorted(os.listdir(project)) == before
    assert readers(cache) == []


def test_work_that_takes_long_is_waited_for_as_long_as_something_comes_of_it(project: Path) -> None:
    """Each mebibyte is a sign of life."""
    with patch("rcc.fetch.apart.PATIENCE", 3.0):
        assert lock(project, *SOURCES, "--hash").code == 0


def assert_ended_at_once(process: subprocess.Popen[str], project: Path) -> None:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, "", "")
    assert [name for name in os.listdir(project) if "lock" in name] == []


def test_ctrl_c_does_not_wait_for_a_cache(project: Path) -> None:
    branch = silent(project)
    cache = project / "cache"
    with locking(project, "--image-from", "oci:layout", "--model-from", f"cache:{cache}") as process:
        end = opened(branch)
        try:
            assert readers(cache)
            assert_ended_at_once(process, project)
        finally:
            os.close(end)
    wait_for(lambda: not readers(cache), "the end of what read the cache")


def test_ctrl_c_does_not_wait_for_a_server(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        endpoint = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with locking(project, "--image-from", "oci:layout", HF_ENDPOINT=endpoint) as process:
            asked, _ = listening.accept()
            with asked:
                assert asked.recv(1)
                assert_ended_at_once(process, project)
