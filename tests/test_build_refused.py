"""What a build refuses, as the command line says it: files that would be built into something else than they say."""

import re
from pathlib import Path

import pytest

from tests.support.cli import Ran, call_rcc
from tests.support.texts import CUSTOM, FOUR_NODES, FOUR_RANKS, ONE_NODE

COMMIT = "a" * 40
BLOCK = re.compile(r"^(error|warning|info)\[(RCC\d+)\]: (.*)\n(?: +--> (\S+))?", re.MULTILINE)


def rcc(folder: Path, recipe: str, cluster: str | None = FOUR_NODES, *arguments: str, command: str = "build") -> Ran:
    """Calls a command with a recipe and a cluster file."""
    (folder / "r.toml").write_text(recipe)
    if cluster is not None:
        (folder / "cluster.toml").write_text(cluster)
    chosen = ("-c", "cluster.toml") if cluster else ()
    return call_rcc(command, "r.toml", *chosen, *arguments, cwd=folder)


def told(ran: Ran) -> list[str]:
    """The findings of a call, a line each: severity, code, place and message."""
    return [f"{level} {code} {place} {message}" for level, code, message, place in BLOCK.findall(ran.text)]


def refused(folder: Path, recipe: str, cluster: str | None = FOUR_NODES, *arguments: str) -> list[str]:
    """The errors of a build, each of which a linter with the same cluster tells too."""
    ran = rcc(folder, recipe, cluster, *arguments)
    assert ran.code == 1, ran.text
    errors = [line for line in told(ran) if line.startswith("error")]
    linted = told(rcc(folder, recipe, cluster, command="lint"))
    assert set(errors) <= set(linted), linted
    return [line.removeprefix("error ") for line in errors]


def test_a_further_model_never_takes_the_place_of_the_recipe_s_own(tmp_path: Path) -> None:
    further = f'revision = "{COMMIT}"\n[[models]]\nid = "model"\nmodel = "o/b"\nrevision = "{"b" * 40}"\n'

    assert refused(tmp_path, FOUR_RANKS + further) == [
        "RCC206 r.toml:9:6 `model` is the id of the recipe's own `model` already"
    ]


MOUNT = '[[extra_mounts]]\nhost = "/data/{0}"\ncontainer = "{1}"\n'


TAKEN = "`{}` in the container is taken already"
DEVICE = "`devices[0]` must be a device such as `/dev/fuse`, not `{}`"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('shm_size = "1g"\n' + MOUNT.format("a", "/dev/shm"), "RCC703 r.toml:10:13 " + TAKEN.format("/dev/shm")),
        (MOUNT.format("a", "/dev/infiniband"), "RCC703 r.toml:9:13 " + TAKEN.format("/dev/infiniband")),
        ('devices = ["/dev/a:/dev/c", "/dev/b:/dev/c:r"]', "RCC703 r.toml:7:29 " + TAKEN.format("/dev/c")),
        ('devices = ["/dev/x"]\n' + MOUNT.format("a", "/dev/x/"), "RCC703 r.toml:10:13 " + TAKEN.format("/dev/x")),
        ('devices = ["/dev/infiniband:/dev/infiniband:rwm"]', "RCC703 r.toml:7:12 " + TAKEN.format("/dev/infiniband")),
        ('devices = ["/a/../b"]', "RCC205 r.toml:7:12 " + DEVICE.format("/a/../b")),
        ('devices = ["/dev/a:/dev/b/"]', "RCC205 r.toml:7:12 " + DEVICE.format("/dev/a:/dev/b/")),
    ],
)
def test_two_things_at_one_path_of_a_container_are_refused(lines: str, expected: str, tmp_path: Path) -> None:
    assert refused(tmp_path, FOUR_RANKS + lines) == [expected]


def test_a_path_that_the_recipe_itself_takes_needs_no_cluster(tmp_path: Path) -> None:
    recipe = FOUR_RANKS + 'shm_size = "1g"\ndevices = ["/dev/x"]\n'
    ran = rcc(tmp_path, recipe + MOUNT.format("a", "/dev/shm/") + MOUNT.format("b", "/dev/x"), None, command="lint")

    assert [line for line in told(ran) if "RCC703" in line] == [
        "error RCC703 r.toml:11:13 " + TAKEN.format("/dev/shm"),
        "error RCC703 r.toml:14:13 " + TAKEN.format("/dev/x"),
    ]


def with_second(key: str, value: str) -> str:
    """Four nodes, of which the second has another value under a key."""
    name = 'name = "spark2"\n'
    old = next((line for line in FOUR_NODES.split(name)[1].split("\n\n")[0].splitlines() if line.startswith(key)), None)
    new = f'{key} = "{value}"'
    return FOUR_NODES.replace(old, new) if old else FOUR_NODES.replace(name, f"{name}{new}\n")


@pytest.mark.parametrize(
    ("key", "value", "place", "same"),
    [
        ("fabric", "10.0.0.11", "14:10", "address `10.0.0.11`"),
        ("host", "192.168.200.11", "13:8", "address `192.168.200.11`"),
        ("ssh", "root@10.0.0.11:22", "13:7", "address `10.0.0.11`"),
    ],
)
def test_no_two_nodes_are_one_machine(key: str, value: str, place: str, same: str, tmp_path: Path) -> None:
    ran = rcc(tmp_path, FOUR_RANKS, with_second(key, value))

    assert (ran.code, told(ran)) == (1, [f"error RCC901 cluster.toml:{place} two nodes have the {same}"])
    assert "first used here" in ran.text


@pytest.mark.parametrize(
    "lines",
    [
        'ssh = "a"\n[[nodes]]\nname = "b"\nssh = "a"\n',
        'fabric = "fd00::1"\n[[nodes]]\nname = "b"\nhost = "FD00:0::1"\n',
    ],
)
def test_an_address_has_one_meaning_however_it_is_written(lines: str, tmp_path: Path) -> None:
    assert [line.split()[1] for line in told(rcc(tmp_path, CUSTOM, ONE_NODE + lines))] == ["RCC901"]


def test_no_two_nodes_are_one_of_kubernetes(tmp_path: Path) -> None:
    names = '[k8s.node_names]\nspark1 = "n1"\nspark2 = "n1"\n'

    assert told(rcc(tmp_path, FOUR_RANKS, FOUR_NODES + names)) == [
        "error RCC901 cluster.toml:31:10 two nodes have the name in Kubernetes `n1`"
    ]


@pytest.mark.parametrize(("without", "codes"), [((2, 3), ["RCC1051"]), ((3,), []), ((1, 2, 4), ["RCC1051"] * 2)])
def test_one_node_at_most_is_the_machine_of_the_operator(
    without: tuple[int, ...], codes: list[str], tmp_path: Path
) -> None:
    cluster = FOUR_NODES
    for number in without:
        cluster = cluster.replace(f'host = "10.0.0.1{number}"\n', "")
    ran = rcc(tmp_path, FOUR_RANKS, cluster, "-t", "shell")

    assert [line.split()[1] for line in told(ran) if line.startswith("error")] == codes
    assert ran.code == bool(codes)
    assert rcc(tmp_path, FOUR_RANKS, cluster, "-t", "compose,systemd,k8s").code == 0


def test_a_node_without_a_login_is_shown(tmp_path: Path) -> None:
    cluster = FOUR_NODES.replace('host = "10.0.0.12"\n', "").replace('host = "10.0.0.13"\n', "")
    both = "nodes `spark2` and `spark3` have no login, so that both are the machine of `cluster.sh`"

    assert f"error RCC1051 cluster.toml:16:8 {both}" in told(rcc(tmp_path, FOUR_RANKS, cluster, "-t", "shell"))


STAGED = """\
[[staging]]
kind = "snapshot"
id = "s"
serve = true
src = "{{{{hf}}}}/hub/models--org--big/snapshots/x"
dst = "{}"
"""
SYSTEM = "`{}` is a folder of the system"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('listen = "--rm"', "RCC205 r.toml:7:10 `listen` must be an address, not `--rm`"),
        ('shm_size = "0"', "RCC203 r.toml:7:12 `shm_size` must be at least 1 byte, not `0`"),
        ('memory = "0.1b"', "RCC203 r.toml:7:10 `memory` must be at least 1 byte, not `0.1b`"),
        (STAGED.format("/"), "RCC711 r.toml:12:7 " + SYSTEM.format("/")),
        (STAGED.format("/tmp/"), "RCC711 r.toml:12:7 " + SYSTEM.format("/tmp")),
        (STAGED.format("{{hf}}/hub"), "RCC803 r.toml:12:7 `s` is staged onto its source, or into the model cache"),
        (STAGED.format("/mnt/nas"), "RCC803 r.toml:12:7 `s` is staged onto its source, or into the model cache"),
    ],
)
def test_what_would_be_taken_in_silence_is_refused(lines: str, expected: str, tmp_path: Path) -> None:
    assert refused(tmp_path, FOUR_RANKS + lines) == [expected]


@pytest.mark.parametrize("key", ["cache_dir", "install_dir", "hf_cache"])
@pytest.mark.parametrize("folder", ["/", "/usr/", "/var//"])
def test_no_folder_of_the_system_is_rcc_s_own(key: str, folder: str, tmp_path: Path) -> None:
    for command in ("build", "lint"):
        ran = rcc(tmp_path, FOUR_RANKS, with_second(key, folder), command=command)

        assert f"error RCC711 cluster.toml:{13}:{len(key) + 4} {SYSTEM.format(folder)}" in told(ran)
        assert ran.code == 1
    assert rcc(tmp_path, FOUR_RANKS, with_second(key, f"{folder.rstrip('/')}/rcc")).code == 0


def test_an_option_names_no_folder_of_the_system_either(tmp_path: Path) -> None:
    assert told(rcc(tmp_path, FOUR_RANKS, FOUR_NODES, "--hf-cache", "/")) == [
        f"error RCC711  `--hf-cache`: {SYSTEM.format('/')}"
    ]


def test_a_profile_without_a_name_is_none(tmp_path: Path) -> None:
    cluster = FOUR_NODES.replace('hardware = "dgx-spark"', 'hardware = ""')

    assert refused(tmp_path, FOUR_RANKS, cluster) == ["RCC907 cluster.toml:2:12 no hardware profile is called ``"]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ('unset = ["env.A"]', ["env.A"]),
        ('extends = "base.toml"\nunset = ["env.NOPE", "env.A", "port"]', ["env.NOPE", "port"]),
    ],
)
def test_what_unset_does_not_remove_is_told(lines: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('[env]\nA = "b"\n')
    for command in ("build", "lint"):
        found = [line for line in told(rcc(tmp_path, f"{CUSTOM}{lines}\n", None, command=command)) if "RCC211" in line]

        assert [line.split("`")[1] for line in found] == names


@pytest.mark.parametrize(("by", "place"), [("recipe", "r.toml:8:21"), ("cluster", "cluster.toml:33:21")])
def test_a_gid_index_for_all_nodes_is_told_by_a_build_too(by: str, place: str, tmp_path: Path) -> None:
    cluster = re.sub(r"(?m)^host = .*", r'\g<0>\ngid_index = "nccl"', FOUR_NODES)
    index = 'NCCL_IB_GID_INDEX = "3"\n'
    texts = (f"{FOUR_RANKS}[env]\n{index}", cluster) if by == "recipe" else (FOUR_RANKS, cluster + index)
    for command in ("build", "lint"):
        ran = rcc(tmp_path, *texts, command=command)

        assert ran.code == 0
        assert [line for line in told(ran) if "RCC407" in line] == [
            f"warning RCC407 {place} GID index 3 is pinned for every node, and each has its own table"
        ]
