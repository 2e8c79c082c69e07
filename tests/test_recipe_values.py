"""Values that a key does not take: what is wrong with each, and a help that leads to one that it takes."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call_rcc
from tests.support.texts import CUSTOM

STAGING = '[[staging]]\nkind = "sparse-rows"\nid = "a"\nsrc = "/a"\ndst = "/b"\n{} = {{}}\n'
CHECK = "[healthcheck]\ninterval = {}\n"


def linted(folder: Path, text: str, *options: str) -> list[str]:
    """What `rcc lint` says of a recipe as errors, a line each, without the place."""
    (folder / "r.toml").write_text(text)
    found = call_rcc("lint", "r.toml", "--format", "json", *options, cwd=folder).json()["findings"]
    return [f"{one['code']} {one['message']} | {one['help']}" for one in found if one["severity"] == "error"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "stop_grace = 90",
            'RCC202 `stop_grace` must be a string, not an integer | write it with its unit, in quotes: `"90s"`',
        ),
        (
            'stop_grace = "90"',
            "RCC205 `stop_grace` must be a duration such as `90s` or `45m`, not `90` | did you mean `90s`?",
        ),
        (
            CHECK.format('"1500ms"'),
            "RCC205 `healthcheck.interval` must be whole seconds, not `1500ms` | did you mean `2s`?",
        ),
        (CHECK.format('"0s"'), "RCC203 `healthcheck.interval` must be at least 1s, not `0s` | write `1s`"),
        (CHECK.format('"500ms"'), "RCC203 `healthcheck.interval` must be at least 1s, not `500ms` | write `1s`"),
    ],
)
def test_a_duration_that_cannot_be_is_told_with_one_that_can(line: str, expected: str, tmp_path: Path) -> None:
    assert linted(tmp_path, f"{CUSTOM}port = 1\n{line}\n") == [expected]


@pytest.mark.parametrize("user", ["2147483648", "1:2147483648", "9999999999"])
def test_a_user_that_no_system_has(user: str, tmp_path: Path) -> None:
    assert linted(tmp_path, f'{CUSTOM}user = "{user}"\n') == [
        f"RCC203 `user` must be of numbers up to 2147483647, not `{user}` | None"
    ]
    assert linted(tmp_path, f'{CUSTOM}user = "2147483647:0"\n') == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            'cap_add = ["CAP_BPF"]',
            "RCC205 `cap_add[0]` must be a capability such as `IPC_LOCK`, not `CAP_BPF` | did you mean `BPF`?",
        ),
        (
            'cap_add = ["sys_nise"]',
            "RCC205 `cap_add[0]` must be a capability such as `IPC_LOCK`, not `sys_nise` | did you mean `SYS_NICE`?",
        ),
        ("ulimits = { nofiles = 1 }", "RCC201 unknown key `nofiles` in `ulimits` | did you mean `nofile`?"),
        (
            "ulimits = { nofile = { soft = 2, hard = 1 } }",
            "RCC203 `ulimits.nofile` has a soft limit above its hard one | write the hard one, or a lower one",
        ),
        (
            "ulimits = { stack = { soft = -1, hard = 1 } }",
            "RCC203 `ulimits.stack` has a soft limit above its hard one | write the hard one, or a lower one",
        ),
    ],
)
def test_what_docker_would_refuse_on_the_node_is_refused_here(line: str, expected: str, tmp_path: Path) -> None:
    assert linted(tmp_path, f"{CUSTOM}{line}\n") == [expected]
    hardware = f'[hardware.own]\n{line}\n[[nodes]]\nname = "a"\n'
    (tmp_path / "cluster.toml").write_text(hardware)
    (one,) = call_rcc("lint", "cluster.toml", "--format", "json", cwd=tmp_path).json()["findings"]
    key = line.split()[0]

    assert f"{one['code']} {one['message']} | {one['help']}" == expected.replace(f"`{key}", f"`hardware.own.{key}")


def test_limits_and_capabilities_that_docker_takes(tmp_path: Path) -> None:
    limits = "ulimits = { memlock = -1, nofile = { soft = 1, hard = -1 }, stack = { soft = -1, hard = -1 }, nproc = 5 }"

    assert linted(tmp_path, f'{CUSTOM}{limits}\ncap_add = ["SYS_NICE", "ALL"]\n') == []


@pytest.mark.parametrize(
    "line",
    [
        'secrets = ["TOKEN"]',
        'assert = [{ path = "/v", contains = "1" }]',
        'staging = [{ kind = "snapshot", id = "a", src = "/a", dst = "/b" }]',
    ],
)
def test_what_no_cluster_can_run_is_told_without_one(line: str, tmp_path: Path) -> None:
    (one,) = linted(tmp_path, f"{CUSTOM}{line}\n")

    assert one.startswith("RCC204 the image's own entrypoint is not known, and something must happen in the container")
    assert linted(tmp_path, f'{CUSTOM}{line}\nentrypoint = ["run"]\n') == []


MANY = "9" * 6000


@pytest.mark.parametrize(
    "line",
    [
        f"port = {MANY}",
        f"port = 0x{'f' * 6000}",
        f"measured = {{ a = 0o{'7' * 9000} }}",
        f'user = "{MANY}"',
        f'shm_size = "{MANY}g"',
        f'stop_grace = "0.{MANY}s"',
        f'requires_rcc = ">={MANY}"',
        f'args = ["--port", "{MANY}", "--json", "[{MANY}]"]',
        f'env = {{ NCCL_BUFFSIZE = "{MANY}", NCCL_IB_GID_INDEX = "0x{MANY}" }}',
        f'env = {{ NCCL_IB_ADDR_RANGE = "10.0.0.0/{MANY}" }}',
        f'env = {{ NCCL_IB_ADDR_RANGE = "{MANY}.0.0.0/8" }}',
        f'env = {{ NCCL_IB_SUBNET_AWARE_ROUTING = "1", NCCL_IB_SUBNET_PREFIX_LEN = "{MANY}" }}',
    ],
    ids=lambda line: line[:30],
)
def test_a_number_of_any_length_is_no_bug(line: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f"{CUSTOM}{line}\n")
    for command in (["lint"], ["plan"], ["plan", "--show", "document"], ["fmt", "--check"]):
        ran = call_rcc(*command, "r.toml", cwd=tmp_path)

        assert ran.code in (0, 1), ran.text


def test_what_looks_like_a_long_integer_in_a_text_is_a_text(tmp_path: Path) -> None:
    assert linted(tmp_path, f'# 0x{"f" * 6000}\n{CUSTOM}description = "0x{"f" * 6000}"\n') == []


@pytest.mark.parametrize(("written", "mended"), [("90", '"90s"'), ('"90"', '"90s"'), ('"1500ms"', '"2s"')])
def test_the_fix_of_a_duration_is_one(written: str, mended: str, tmp_path: Path) -> None:
    assert linted(tmp_path, f"{CUSTOM}stop_grace = {written}\n", "--fix", "--unsafe-fixes") == []
    assert (tmp_path / "r.toml").read_text() == f"{CUSTOM}stop_grace = {mended}\n"


def test_docker_s_units_are_taken(tmp_path: Path) -> None:
    recipe = CUSTOM + 'stop_grace = "1m29s1000ms"\n[healthcheck]\ninterval = "90000ms"\ntimeout = "30000000us"\n'
    (tmp_path / "r.toml").write_text(recipe.replace("[health", "port = 1\n[health"))
    (rank,) = call_rcc("plan", "r.toml", "--json", cwd=tmp_path).json()["ranks"]

    assert rank["container"]["stop_grace"] == 90
    assert (rank["container"]["healthcheck"]["interval"], rank["container"]["healthcheck"]["timeout"]) == (90, 30)


WRONG = {
    **{
        key: f"{key} = {{}}\n"
        for key in ("model", "revision", "engine", "listen", "user", "ipc", "distributed_backend")
    },
    **{key: f"{key} = [{{}}]\n" for key in ("cap_add", "devices", "secrets")},
    "healthcheck.path": "[healthcheck]\npath = {}\n",
    "manifest": STAGING.format("manifest"),
    "tiling": STAGING.format("tiling"),
    "sha256": '[[extra_mounts]]\nhost = "/a"\ncontainer = "/a"\nsha256 = {}\n',
    "env": "[env]\n{} = '1'\n",
}
WRONG_IN_CLUSTER = {
    **{key: f"{key} = {{}}\n" for key in ("hf_cache", "ssh_user")},
    **{key: f"[[nodes]]\nname = 'a'\n{key} = {{}}\n" for key in ("host", "ssh", "install_dir", "arch", "gid_index")},
    "name": "[[nodes]]\nname = {}\n",
    **{key: f"[k8s]\n{key} = {{}}\n" for key in ("namespace", "rdma_resource")},
}


@pytest.mark.parametrize("key", WRONG)
def test_every_value_that_a_recipe_s_key_does_not_take_has_a_help(key: str, tmp_path: Path) -> None:
    """The help names one that the key takes, where it quotes any."""
    assert_helped(tmp_path, "recipe.toml", CUSTOM, WRONG[key])


@pytest.mark.parametrize("key", WRONG_IN_CLUSTER)
def test_every_value_that_a_cluster_s_key_does_not_take_has_a_help(key: str, tmp_path: Path) -> None:
    assert_helped(tmp_path, "cluster.toml", "", WRONG_IN_CLUSTER[key])


def assert_helped(folder: Path, name: str, text: str, lines: str) -> None:
    own = [line for line in text.splitlines() if not lines.startswith(line.partition(" ")[0] + " ")]

    def found(value: str) -> list[dict[str, Any]]:
        (folder / name).write_text("\n".join((*own, lines.format(value))))
        return list(call_rcc("lint", name, "--format", "json", cwd=folder).json()["findings"])

    for wrong in ('"a\\nb=c"', '"--=é"'):
        (one,) = [one for one in found(wrong) if one["code"] == "RCC205"]
        assert one["help"]
    right = re.search(r"(?:like|write) `([^`]*)`(?!,)", one["help"])
    if right:
        assert "RCC205" not in {one["code"] for one in found(f'"{right[1]}"')}


LONG = "x" * 5000


@pytest.mark.parametrize(
    "line", [f'requires_rcc = "{LONG}"', f'docker_image = "{LONG.upper()}"', f'engine = "{LONG}!"']
)
def test_a_long_value_is_not_shown_whole(line: str, tmp_path: Path) -> None:
    for form in ("full", "concise", "json"):
        (tmp_path / "r.toml").write_text(
            "\n".join(one for one in CUSTOM.splitlines() if one[:3] != line[:3]) + f"\n{line}\n"
        )
        text = call_rcc("lint", "r.toml", "--format", form, cwd=tmp_path).out

        assert "x" * 300 not in text.lower()


@pytest.mark.parametrize("key", ["hardware", "topology"])
def test_a_long_name_of_a_cluster_is_not_shown_whole(key: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(f'{key} = "{LONG}"\n[[nodes]]\nname = "a"\n')
    ran = call_rcc("lint", "cluster.toml", "--format", "concise", cwd=tmp_path)

    assert ran.code == 1
    assert "x" * 300 not in ran.out


def test_a_name_of_two_lines_is_told_on_one(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f'{CUSTOM}[env]\n"A\\nB" = "x"\n')
    ran = call_rcc("lint", "r.toml", cwd=tmp_path)

    assert "error[RCC205]: `env.A\\nB` must be of one line, not `A\\nB`\n" in ran.text
    assert "help: take the line break out" in ran.text


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ('image = "x"', "docker_image"),
        ('shm = "1g"', "shm_size"),
        ("nodes = 4", "required_nodes"),
        ("mounts = []", "extra_mounts"),
        ("tp = 4", "tensor_parallel_size"),
        ("environment = {}", "env"),
        ("tensor-parallel-size = 4", "tensor_parallel_size"),
        ("capAdd = []", "cap_add"),
        ("rendezvous = 1", "rendezvous_port"),
        ("prot = 1", "port"),
        ('args = ["{{ name }}"]', "recipe.name"),
        ('args = ["{{ fabric }}"]', "node.fabric"),
        ('args = ["{{ gid_index }}"]', "node.gid_index"),
        ('[[extra_mounts]]\nhost = "/a"\ncontainer = "/b"\nreadonly = true', "read_only"),
        ('[[extra_mounts]]\nhost = "/a"\ntarget = "/b"', "container"),
    ],
)
def test_the_known_name_that_is_meant_is_named(line: str, meant: str, tmp_path: Path) -> None:
    assert [one for one in linted(tmp_path, f"{CUSTOM}{line}\n") if one.endswith(f"| did you mean `{meant}`?")]


@pytest.mark.parametrize("line", ["size = 1", "zzz = 1", 'args = ["{{ zzz }}"]'])
def test_no_name_is_made_up(line: str, tmp_path: Path) -> None:
    (found,) = linted(tmp_path, f"{CUSTOM}{line}\n")

    assert "did you mean" not in found


def test_a_file_name_that_is_too_long_for_an_id_is_called_so(tmp_path: Path) -> None:
    name = f"{'a-' * 29}bc.recipe.toml"
    (tmp_path / name).write_text("\n".join(CUSTOM.splitlines()[1:]))
    ran = call_rcc("lint", name, cwd=tmp_path)

    assert "the recipe has no `id`, and the one that its file name gives has 60 characters, more than 40\n" in ran.text
