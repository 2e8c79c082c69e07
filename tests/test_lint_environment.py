"""Environment variables: what NCCL makes of them, and what disagrees with what."""

import ctypes
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcc.lint.nccl_table import is_number, nccl_variables, read_number
from tests.support.cli import call_rcc
from tests.support.pages import completed

LIBC = ctypes.CDLL(None)
LIBC.strtoll.restype = ctypes.c_longlong
LIBC.strtoll.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]


def strtoll(text: str) -> int:
    return int(LIBC.strtoll(text.encode(), None, 0))


TEXTS = [
    "auto",
    "true",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "9" * 5000,
    "-0x" + "0" * 5000 + "f" * 5000,
    "0" * 5000 + "7",
    "3,4",
    "08",
    "010",
    "0x5",
    "0X1f",
    "-1",
    "+7",
    " 12",
    "1 2",
    "",
    "0",
    "00",
    "1e3",
    "0x",
    "--1",
    "९",
    "9223372036854775808",
    "-9223372036854775809",
    "0x8000000000000000",
    "0" * 99 + "7",
    "1" * 5000,
    "-0x" + "f" * 5000,
]


@pytest.mark.parametrize("text", TEXTS)
def test_numbers_are_read_as_the_c_library_reads_them(text: str) -> None:
    assert read_number(text) == strtoll(text)


@given(st.text(alphabet="0123456789xXabf+- \t,.", max_size=12))
def test_numbers_are_read_so_whatever_they_are(text: str) -> None:
    assert read_number(text) == strtoll(text)
    if is_number(text):
        assert strtoll(text) == int(text.strip(), 0)


def told(folder: Path, env: str, *options: str, codes: str = "") -> list[tuple[str, str]]:
    """Code and underlined text of what lint finds in `[env]`."""
    text = completed(f"[env]\n{env}\n")
    (folder / "x.recipe.toml").write_text(text)
    select = ["--select", codes] if codes else []
    found = call_rcc("lint", "--format", "json", *select, *options, "x.recipe.toml", cwd=folder).json()["findings"]
    lines = text.splitlines()
    own = [one for one in found if one["file"] == "x.recipe.toml"]
    return [(one["code"], lines[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1]) for one in own]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ('NCCL_IB_DISABLE = "1"', []),
        ('NCCL_BUFFSIZE = "0x100000"', []),
        ('NCCL_BUFFSIZE = "010"', [("RCC411", '"010"')]),
        ('NCCL_IB_GID_INDEX = "auto"', [("RCC411", '"auto"')]),
        ('NCCL_IB_GID_INDEX = "-1"', []),
        ('NCCL_IB_GID_INDEX = "{{ vars.gid }}"', []),
        ('NVSHMEM_IB_GID_INDEX = "3"', [("RCC407", '"3"')]),
        ('NCCL_PROTO = "^LL128"', []),
        ('NCCL_PROTO = "LL,LL128,simple"', []),
        ('NCCL_PROTO = "LL,LL64"', [("RCC418", "LL64")]),
        ('NCCL_ALGO = "allreduce:tree,ring;broadcast:ring"', []),
        ('NCCL_IB_ADDR_FAMILY = "IPV4"', [("RCC418", "IPV4")]),
        ('NCCL_P2P_LEVEL = "SYS"\nNCCL_NET_GDR_LEVEL = "5"', []),
        ('NCCL_P2P_LEVEL = "sys"', [("RCC418", '"sys"')]),
        ('NCCL_NET_GDR_LEVEL = "auto"', [("RCC418", '"auto"')]),
        ('NCCL_IB_HCA = "=mlx5_0:1,mlx5_1:1"', []),
        ('NCCL_IB_HCA = "^=mlx5_0"', []),
        ('NCCL_IB_HCA = "mlx5_0,=mlx5_1"', [("RCC414", "=mlx5_1")]),
        ('NCCL_IB_HCA = "mlx5_0,"', [("RCC414", ",")]),
        ("NCCL_IB_HCA = \"" + ",".join(f"h{n}" for n in range(33)) + '"', [("RCC414", "h32")]),
        ('NCCL_IB_ADDR_RANGE = "192.168.200.0/33"', [("RCC416", '"192.168.200.0/33"')]),
        ('NCCL_IB_ADDR_RANGE = "fd00::/64"', []),
        ('GLOO_SOCKET_IFNAME = "=eth0"', [("RCC415", "=")]),
        ('NCCL_SOCKET_IFNAME = "eth"\nGLOO_SOCKET_IFNAME = "eth0"', []),
        ('NCCL_SOCKET_IFNAME = "eth0,ib0"\nGLOO_SOCKET_IFNAME = "eth0"', []),
        ('NCCL_SOCKET_IFNAME = "^docker0"\nGLOO_SOCKET_IFNAME = "eth0"', []),
        ('GLOO_SOCKET_IFNAME = "eth1"\nNCCL_SOCKET_IFNAME = "eth0"', [("RCC410", '"eth1"')]),
        ('NCCL_IB_HCA = "mlx5"\nUCX_NET_DEVICES = "mlx5_0:1"', []),
        ('NCCL_IB_HCA = "a,b"\nB12X_ROCE_HCA = "b,a"', []),
        ('NCCL_IB_HCA = "a,b"\nB12X_ROCE_HCA = "a"', [("RCC409", '"a"')]),
        ('NCCL_IB_HCA = "{{ node.hca }}"\nB12X_ROCE_HCA = "a"', []),
        ('SGLANG_FOO_OF_OUR_OWN = "1"', []),
        ('SGLANG_CACHE_DIRR = "/x"', [("RCC406", "SGLANG_CACHE_DIRR")]),
        ('SGLANG_HOSTIP = "x"', [("RCC406", "SGLANG_HOSTIP")]),
        ('VLLM_ATENTION_BACKENDS = "x"', []),
        ('"A.B" = "x"', [("RCC405", '"A.B"')]),
        ('HF_HUB_CACHE = "/elsewhere"', [("RCC420", "HF_HUB_CACHE")]),
        ('HOME_DIR = "${HOME}/x"', [("RCC308", "${HOME}")]),
        ('NCCL_IB_TC = "${CLASS}"', [("RCC411", '"${CLASS}"')]),
        ('NCCL_DEBUG = "${LEVEL}"', [("RCC308", "${LEVEL}")]),
        ('PRICE = "costs $5 or US$"', []),
    ],
)  # fmt: skip
def test_findings(env: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert told(tmp_path, env) == expected


@pytest.mark.parametrize(
    ("env", "dead"),
    [
        ('NCCL_IB_GID_INDEX = "3"\nNCCL_IB_ADDR_FAMILY = "AF_INET"\nNCCL_IB_ROCE_VERSION_NUM = "2"',
         ["NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM"]),
        ('NCCL_IB_GID_INDEX = "-1"\nNCCL_IB_ADDR_FAMILY = "AF_INET"', []),
        ('NCCL_NET = "Socket"\nNCCL_IB_HCA = "a"\nNCCL_IB_TC = "1"', ["NCCL_IB_HCA", "NCCL_IB_TC"]),
        ('NCCL_IB_DISABLE = "1"\nNCCL_IB_HCA = "a"', ["NCCL_IB_HCA"]),
        ('NCCL_IB_SUBNET_PREFIX_LEN = "24"\nNCCL_IB_SUBNET_AWARE_ROUTING = "0"', ["NCCL_IB_SUBNET_PREFIX_LEN"]),
        ('NCCL_IB_SUBNET_PREFIX_LEN = "24"\nNCCL_IB_SUBNET_AWARE_ROUTING = "{{ vars.x }}"', []),
    ],
)  # fmt: skip
def test_dead_variables(env: str, dead: list[str], tmp_path: Path) -> None:
    assert told(tmp_path, env, codes="RCC408") == [("RCC408", name) for name in dead]


@pytest.mark.parametrize(
    "env",
    [
        'NCCL_IB_SUBNET_PREFIX_LEN = "33"',
        'NCCL_IB_DISABLE = "1"\nNCCL_IB_TIMEOUT = "long"',
        'NCCL_NET = "Socket"\nNCCL_IB_HCA = "a,"',
        'NCCL_IB_GID_INDEX = "3"\nNCCL_IB_ADDR_RANGE = "192.168.200.0"',
        'NCCL_IB_GID_INDEX = "3"\nNCCL_IB_ADDR_FAMILY = "IPV4"',
    ],
)
def test_of_a_dead_variable_nothing_else_is_said(env: str, tmp_path: Path) -> None:
    dead = env.splitlines()[-1].split(" ")[0]
    assert told(tmp_path, env, "--ignore", "RCC407") == [("RCC408", dead)]


@pytest.mark.parametrize(
    ("indexes", "env", "expected"),
    [
        ((3, 4), "", "RCC408"),
        (("auto", "auto"), 'B12X_ROCE_GID_INDEX = "{{ node.gid_index }}"\n', "RCC408"),
        # Where the adapters of a node have none in common, NCCL searches, and reads the range.
        (("auto", "auto"), "", "RCC416"),
        ((3, "auto"), "", "RCC416"),
        ((3, "nccl"), "", "RCC416"),
    ],
)
def test_no_range_is_read_where_every_rank_has_a_gid_index(
    indexes: tuple[int | str, int | str], env: str, expected: str, tmp_path: Path
) -> None:
    first, second = map(json.dumps, indexes)
    nodes = f'gid_index = {first}\n\n[[nodes]]\nname = "b"\nhost = "10.0.0.12"\ngid_index = {second}\n\n[nccl.switch]'
    (tmp_path / "cluster.toml").write_text(
        CLUSTER.replace('NCCL_IB_DISABLE = "yes"\n', "").replace("\n[nccl.switch]", nodes)
    )
    text = f'required_nodes = 2\ntensor_parallel_size = 2\n[env]\n{env}NCCL_IB_ADDR_RANGE = "192.168.200.0"\n'
    (tmp_path / "x.recipe.toml").write_text(completed(text))
    ran = call_rcc(
        "lint", "--format", "concise", "--ignore", "RCC511", "-c", "cluster.toml", "x.recipe.toml", cwd=tmp_path
    )

    assert [line.split("[")[1][:6] for line in ran.out.splitlines()[:-1]] == [expected]


CLUSTER = """\
hardware = "dgx-spark"
hf_cache = "/mnt/nas/huggingface"
topology = "switch"

[[nodes]]
name = "spark1"
host = "10.0.0.11"
fabric = "192.168.200.11"

[nccl.switch]
NCCL_IB_HCA = "rocep1s0f0"
NCCL_IB_DISABLE = "yes"
"""


def test_recipe_and_profile_are_looked_at_together(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    found = told(tmp_path, 'B12X_ROCE_HCA = "other"\nNCCL_DEBUG = "INFO"', "-c", "cluster.toml")
    assert ("RCC409", '"other"') in found

    ran = call_rcc("lint", "-c", "cluster.toml", "x.recipe.toml", cwd=tmp_path)
    assert "cluster.toml:12:19" in ran.out, "the profile's own slip is shown where it stands"
    assert ran.out.count("RCC411") == 1


@pytest.mark.parametrize(("engine", "variable"), [("sglang", "SGLANG_HOST_IP"), ("vllm", "VLLM_HOST_IP")])
@pytest.mark.parametrize("form", ["[env]\n{} = '1'\n", "secrets = ['{}']\n"])
def test_what_the_compiler_sets_for_each_rank(engine: str, variable: str, form: str, tmp_path: Path) -> None:
    for name in (variable, "NODE_RANK", "NNODES"):
        text = f'engine = "{engine}"\nrequired_nodes = 2\n' + form.format(name)
        (tmp_path / "x.recipe.toml").write_text(completed(text))
        found = call_rcc("lint", "--format", "json", "--select", "RCC401", "x.recipe.toml", cwd=tmp_path).json()
        assert len(found["findings"]) == 1


def test_each_problem_is_said_once_however_often_it_is_met(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    (tmp_path / "x.recipe.toml").write_text(completed('[env]\nNODE_RANK = "1"\nNCCL_DEBUG = "LOUD"\n'))
    (tmp_path / "y.recipe.toml").write_text(completed("port = 8000\n"))
    ran = call_rcc("lint", "--format", "json", "-c", "cluster.toml", ".", cwd=tmp_path)

    found = [(one["file"], one["code"], one["line"], one["column"]) for one in ran.json()["findings"]]
    assert len(found) == len(set(found))
    assert [one[1] for one in found].count("RCC411") == 1
    assert [one[1] for one in found].count("RCC401") == 1


def test_the_table_of_nccls_variables_is_sound() -> None:
    table = nccl_variables()

    assert len(table) > 150
    assert list(table) == sorted(table)
    assert {kind[0] for kind in table.values()} == {"number", "text", "of", "level"}
    assert all((kind[0] in ("of", "level")) == (len(kind) > 1) for kind in table.values())
