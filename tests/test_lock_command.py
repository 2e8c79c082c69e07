"""`rcc lock` as its users meet it."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkpoints import Content, sharded, table
from tests.support.cli import PATH, Ran, call_rcc, clean_env, run_rcc
from tests.support.hf_cache import write_cache
from tests.support.hub import TOKEN, Hub, run_hub
from tests.support.oci import Blobs
from tests.support.server import Asked, Reply, Server
from tests.support.skips import needs_root
from tests.support.wait import wait_for

REPO = "spark/small"
RECIPE = """
engine = "sglang"
docker_image = "serve:1"
model = "spark/small"
required_nodes = 2
tensor_parallel_size = 2
args = ["--trust-remote-code"]  # as its authors say

[[extra_mounts]]
host = "run.sh"
container = "/run.sh"

[[staging]]
kind = "sparse-rows"
id = "engram"
src = "{{ model.host_path }}"
dst = "/srv/engram"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A recipe with its file, an OCI layout with its image and a cache with its model."""
    blobs = Blobs()
    blobs.write_layout(tmp_path / "layout", {"1": blobs.multi_arch(), "2": blobs.image("linux", "arm64")})
    write_cache(tmp_path / "cache", REPO, sharded({"model.safetensors": table(1, 10)}), "classic")
    (tmp_path / "serve.recipe.toml").write_text(RECIPE)
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    return tmp_path


SOURCES = ("--image-from", "oci:layout", "--model-from", "cache:cache")


def lock(project: Path, *options: str) -> Ran:
    return call_rcc("lock", "serve.recipe.toml", *options, cwd=project)


def locked(project: Path) -> Ran:
    ran = lock(project, *SOURCES)
    assert ran.code == 0, ran.text
    return ran


def edit(project: Path, old: str, new: str) -> None:
    path = project / "serve.recipe.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


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


def test_a_lock_names_nothing_of_this_machine(project: Path) -> None:
    locked(project)

    text = (project / "serve.recipe.lock").read_text()
    assert str(project) not in text
    assert "cache" not in text
    assert "layout:" not in text


def test_check_is_offline_and_heeds_only_what_the_lock_answers(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, "# as its authors say", "# said otherwise")
    edit(project, "--trust-remote-code", "--enable-metrics")
    assert lock(project, "--check").code == 0

    edit(project, "serve:1", "serve:2")
    ran = lock(project, "--check")

    assert ran.code == 1
    assert ran.err.count("error[RCC610]") == 1
    assert "image `engine`" in ran.err
    assert "docker.io/library/serve:2" in ran.err
    assert "docker.io/library/serve:1" in ran.err
    assert "serve.recipe.toml:3" in ran.err
    assert (project / "serve.recipe.lock").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "entry", "why"),
    [
        ('model = "spark/small"', 'model = "spark/other"', "model `model`", "spark/other"),
        ('model = "spark/small"', 'model = "spark/small"\nrevision = "dev"', "model `model`", "dev"),
        ('id = "engram"', 'id = "engram"\ntiling = "floor"', "staging `engram`", "`tiling` is `floor`"),
        ('id = "engram"', 'id = "engram"\ntensors = "x*"', "staging `engram`", "`tensors` is `x*`"),
        ("required_nodes = 2\ntensor_parallel_size = 2", "required_nodes = 1", "staging `engram`", "`world` is `1`"),
        ('id = "engram"', 'id = "other"', "staging `other`", "not in the lock"),
        ('docker_image = "serve:1"', 'docker_image = "serve:1"\nstaging_image = "s:1"', "image `staging`", "not in"),
    ],
)
def test_every_stale_entry_is_named_with_its_reason(project: Path, old: str, new: str, entry: str, why: str) -> None:
    locked(project)
    edit(project, old, new)

    ran = lock(project, "--check")

    assert ran.code == 1
    assert entry in ran.err
    assert why in ran.err


def test_what_the_block_only_does_with_the_data_stales_nothing(project: Path) -> None:
    locked(project)
    edit(project, 'dst = "/srv/engram"', 'dst = "/srv/other"\nmin_free = "1G"\nrate_limit = "1G"')

    assert lock(project, "--check").code == 0


def test_a_carried_file_is_compared_by_text_and_mode(project: Path) -> None:
    locked(project)
    (project / "run.sh").chmod(0o755)
    ran = lock(project, "--check")
    assert ran.code == 1
    assert "0755" in ran.err

    (project / "run.sh").chmod(0o654)  # the owner may not run it
    (project / "run.sh").write_text("#!/bin/sh\nexit\n")
    ran = lock(project, "--check")
    assert ran.code == 1
    assert "sha256" in ran.err
    assert "mode" not in ran.err


def test_an_entry_that_is_not_asked_for_any_more(project: Path) -> None:
    locked(project)
    edit(project, '[[extra_mounts]]\nhost = "run.sh"\ncontainer = "/run.sh"\n', "")
    assert "does not ask for it any more" in lock(project, "--check").err

    assert "dropped file run.sh" in lock(project, *SOURCES).out
    assert json.loads((project / "serve.recipe.lock").read_text())["files"] == {}
    assert lock(project, "--check").code == 0


def test_without_a_lock(project: Path) -> None:
    ran = lock(project, "--check")

    assert ran.code == 1
    assert "RCC611" in ran.err
    assert "rcc lock serve.recipe.toml" in ran.err
    assert lock(project, "--verify").code == 1


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


def test_a_lock_is_written_again_to_the_same_bytes(project: Path) -> None:
    locked(project)
    path = project / "serve.recipe.lock"
    before, node = path.read_bytes(), path.stat().st_ino

    assert lock(project, *SOURCES).code == 0
    assert path.stat().st_ino == node  # nothing changed, so it is not written
    path.unlink()
    locked(project)
    assert path.read_bytes() == before


def test_the_mode_of_the_old_lock_is_kept_and_links_are_followed(project: Path) -> None:
    real = project / "elsewhere.lock"
    locked(project)
    (project / "serve.recipe.lock").rename(real)
    real.chmod(0o640)
    (project / "serve.recipe.lock").symlink_to(real)
    edit(project, "serve:1", "serve:2")

    locked(project)

    assert (project / "serve.recipe.lock").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert lock(project, "--check").code == 0


def test_a_failure_leaves_the_old_lock(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, "serve:1", "serve:9")
    edit(project, '"spark/small"', '"spark/none"')

    ran = lock(project, *SOURCES)

    assert ran.code == 1
    assert "RCC1208" in ran.err
    assert "RCC1216" in ran.err  # every problem in one run
    assert ran.out == ""
    assert (project / "serve.recipe.lock").read_bytes() == before
    assert sorted(path.name for path in project.iterdir() if "lock" in path.name) == ["serve.recipe.lock"]


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\n", "{}", '{"version": 9}', "{", ""])
def test_a_lock_that_cannot_be_read_is_explained_and_left(project: Path, text: str) -> None:
    (project / "serve.recipe.lock").write_text(text)

    for ran in (lock(project, "--check"), lock(project, *SOURCES)):
        assert ran.code == 1
        assert "serve.recipe.lock" in ran.err
        assert "help:" in ran.err
    assert (project / "serve.recipe.lock").read_text() == text


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


def test_without_a_recipe_all_builds_of_the_settings(project: Path) -> None:
    (project / "other").mkdir()
    (project / "other/recipe.toml").write_text('id = "other"\n' + RECIPE.replace('host = "run.sh"', 'host = "r.sh"'))
    (project / "other/r.sh").write_text("")
    (project / "rcc.toml").write_text(
        '[[build]]\nrecipe = "serve.recipe.toml"\nout = "a"\n[[build]]\nrecipe = "other/recipe.toml"\nout = "b"\n'
    )
    assert call_rcc("lock", *SOURCES, cwd=project).code == 0
    assert (project / "other/recipe.lock").exists()
    assert call_rcc("lock", "--check", cwd=project).code == 0
    (project / "other/r.sh").write_text("changed")

    ran = call_rcc("lock", "--check", "--json", cwd=project)

    assert ran.code == 1
    first, second = ran.json()["locks"]
    assert first["findings"] == []
    assert [one["code"] for one in second["findings"]] == ["RCC610"]


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


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    hub.add(REPO, sharded({"model.safetensors": table(1, 10)}))
    with run_hub(hub) as running:
        yield running


def test_two_clones_lock_to_the_same_bytes(project: Path, hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> None:
    texts = []
    for number, env in enumerate(({"TZ": "UTC"}, {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"})):
        clone = tmp_path_factory.mktemp(f"clone{number}")
        (clone / "deeper").mkdir()
        (clone / "deeper/serve.recipe.toml").write_text(RECIPE)
        (clone / "deeper/run.sh").write_text("#!/bin/sh\n")
        old = os.umask(0o077 if number else 0o022)
        ran = run_rcc(
            "lock",
            "deeper/serve.recipe.toml",
            "--image-from",
            f"oci:{project}/layout",
            cwd=clone,
            env={**hub.environ, **env},
        )
        os.umask(old)
        assert ran.code == 0, ran.text
        texts.append((clone / "deeper/serve.recipe.lock").read_bytes())

    assert texts[0] == texts[1]
    locked(project)
    assert (project / "serve.recipe.lock").read_bytes() == texts[0]


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
    assert "pip install 'rcc[lock]'" in ran.err
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


def test_a_killed_run_leaves_the_old_lock(project: Path) -> None:
    locked(project)
    before = (project / "serve.recipe.lock").read_bytes()
    edit(project, '"spark/small"', '"spark/other"')
    with Server(lambda asked: Reply(hang=True)) as server:
        command = [sys.executable, str(Path(sys.executable).with_name("rcc")), "lock", "serve.recipe.toml"]
        env = clean_env(project, {"HF_ENDPOINT": server.url})
        process = subprocess.Popen(command, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: server.asked, "the first request")
        process.send_signal(signal.SIGKILL)
        process.communicate()

    assert process.returncode == -signal.SIGKILL
    assert (project / "serve.recipe.lock").read_bytes() == before
    assert [path.name for path in project.iterdir() if "lock" in path.name] == ["serve.recipe.lock"]


@needs_root
def test_a_full_disk_leaves_the_old_lock(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    small = tmp_path_factory.mktemp("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=True, env={"PATH": PATH})
    try:
        (small / "serve.recipe.toml").write_text(RECIPE)
        (small / "run.sh").write_text("#!/bin/sh\n")
        sources = ("--image-from", f"oci:{project}/layout", "--model-from", f"cache:{project}/cache")
        assert call_rcc("lock", "serve.recipe.toml", *sources, cwd=small).code == 0
        before = (small / "serve.recipe.lock").read_bytes()
        files = {f"text/{number:04}": Content.of(b"%d" % number) for number in range(500)}
        write_cache(
            project / "cache", REPO, {**sharded({"model.safetensors": table(1, 9)}), **files}, "classic", "c" * 40
        )
        (project / "cache/models--spark--small/refs/main").write_text("c" * 40)

        ran = call_rcc("lock", "serve.recipe.toml", "--upgrade", *sources, cwd=small)

        assert ran.code == 1
        assert "RCC617" in ran.err
        assert "no space left" in ran.err
        assert (small / "serve.recipe.lock").read_bytes() == before
        assert sorted(path.name for path in small.iterdir()) == ["run.sh", "serve.recipe.lock", "serve.recipe.toml"]
    finally:
        subprocess.run(["umount", small], check=True, env={"PATH": PATH})


def test_a_folder_that_may_not_be_written(project: Path) -> None:
    locked(project)
    edit(project, "serve:1", "serve:2")
    (project / "serve.recipe.lock").unlink()
    (project / "serve.recipe.lock").mkdir()

    ran = lock(project, *SOURCES)

    assert ran.code == 2
    assert "RCC007" in ran.err


def test_docker_or_podman_as_a_source(project: Path) -> None:
    programs = project / "bin"
    programs.mkdir()
    image = [
        {
            "RepoDigests": [
                f"serve@sha256:{'1' * 64}",
                f"docker.io/library/serve@sha256:{'2' * 64}",
                f"other@sha256:{'3' * 64}",
            ],
            "Digest": f"sha256:{'1' * 64}",
            "Architecture": "arm64",
            "Os": "linux",
        }
    ]
    (programs / "docker").write_text("#!/bin/sh\necho cannot connect >&2; exit 1\n")
    (programs / "podman").write_text(
        f"#!/bin/sh\n[ \"$*\" = 'image inspect -- docker.io/library/serve:1' ] && cat <<'E'\n{json.dumps(image)}\nE\n"
    )
    for program in ("docker", "podman"):
        (programs / program).chmod(0o755)
    env = {"PATH": f"{programs}:/usr/bin:/bin"}

    ran = call_rcc("lock", "serve.recipe.toml", "--image-from", "daemon", *SOURCES[2:], cwd=project, env=env)

    assert ran.code == 0, ran.text
    answer = json.loads((project / "serve.recipe.lock").read_text())["images"]["engine"]["locked"]
    assert answer["digest"] == f"sha256:{'2' * 64}"
    assert answer["platforms"] == {"linux/arm64": {"config": None, "manifest": None}}
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


def test_no_plan_from_ranges_that_do_not_tile(project: Path) -> None:
    locked(project)
    nodes = "".join(f'[[nodes]]\nname = "n{n}"\nhost = "10.0.0.{n}"\n' for n in (1, 2))
    (project / "cluster.toml").write_text(f'name = "two"\nhf_cache = "/mnt/hf"\nhardware = "cuda"\n{nodes}')
    path = project / "serve.recipe.lock"
    for options in ((), ("--frozen",)):
        assert call_rcc("plan", "serve.recipe.toml", *options, cwd=project).code == 0
    values = json.loads(path.read_text())
    values["staging"]["engram"]["locked"]["ranks"][1]["1"][0] = 4
    path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")

    for options in ((), ("--frozen",)):
        ran = call_rcc("plan", "serve.recipe.toml", *options, cwd=project)
        assert ran.code == 1
        assert "RCC615" in ran.err
        assert "do not tile" in ran.err
