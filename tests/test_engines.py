"""What each engine's ranks run, and what an engine refuses."""

import json
import os
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rcc.engines.flags import flag_table
from tests.support.cli import call_rcc
from tests.support.ports import free_port
from tests.support.skips import needs
from tests.support.texts import FOUR_NODES, planned, refused
from tests.support.wait import wait_for

TWO_NODES = """name = "pair"
hf_cache = "/mnt/nas/hf"
hardware = "dgx-spark"
[[nodes]]
name = "left"
host = "10.0.0.11"
fabric = "192.168.200.11"
env = { MINE = "1", OURS = "1" }
[[nodes]]
name = "right"
host = "10.0.0.12"
fabric = "192.168.200.12"
env = { MINE = "2", OURS = "1" }
"""
VLLM = """engine = "vllm"
id = "big"
docker_image = "localhost/vllm:1"
model = "org/big"
required_nodes = 2
tensor_parallel_size = 2
"""
LLAMA = """engine = "llama-cpp"
id = "big"
docker_image = "localhost/llama:1"
model = "/srv/models/big.gguf"
required_nodes = 2
"""
TRTLLM = """engine = "trtllm"
id = "big"
docker_image = "localhost/trt:1"
model = "org/big"
"""
RAY = VLLM + 'distributed_backend = "ray"\n'
# A word that a shell would act on, if one got to read it.
HOSTILE = "$(touch acted); `touch acted` '\" \\"


def words(plan: dict[str, Any], rank: int) -> list[str]:
    container = plan["ranks"][rank]["container"]
    return [*container["entrypoint"], *container["command"]]


def ports(plan: dict[str, Any]) -> list[list[int]]:
    return [rank["ports"] for rank in plan["ranks"]]


def test_vllm_serves_on_the_head_and_its_workers_have_no_api() -> None:
    plan = planned(VLLM + 'args = ["--max-model-len", "1024"]\n', TWO_NODES)
    same = ["vllm", "serve", "org/big", "--max-model-len", "1024", "--tensor-parallel-size", "2", "--nnodes", "2"]
    meeting = ["--master-addr", "192.168.200.11", "--master-port", "29501"]

    assert words(plan, 0) == [*same, "--node-rank", "0", *meeting, "--host", "0.0.0.0", "--port", "8000"]
    assert words(plan, 1) == [*same, "--node-rank", "1", *meeting, "--headless"]
    assert [one["container"]["env"]["VLLM_HOST_IP"] for one in plan["ranks"]] == ["192.168.200.11", "192.168.200.12"]
    assert ports(plan) == [[8000, 29501], []]


def test_vllm_has_every_flag_that_is_appended() -> None:
    sizes = "tensor_parallel_size = 1\npipeline_parallel_size = 2\ndata_parallel_size = 2\n"
    recipe = VLLM.replace("tensor_parallel_size = 2\n", sizes).replace("required_nodes = 2", "required_nodes = 4")
    table = flag_table("vllm")
    assert table is not None

    for text in (recipe, recipe + 'entrypoint = ["sh", "/x.sh"]\n'):
        for rank in planned(text, FOUR_NODES)["ranks"]:
            appended = rank["container"]["command"]
            parsed = table.parse(appended)
            assert all(one.flag and one.spelled in one.flag.spellings for one in parsed), appended
            assert sum(1 + len(one.values) for one in parsed) == len(appended)
            assert {"--pipeline-parallel-size", "--data-parallel-size", "--tensor-parallel-size"} <= {*appended}


def test_a_wrapper_of_vllm_gets_the_model_as_a_flag() -> None:
    (rank,) = planned(
        VLLM.replace("_nodes = 2", "_nodes = 1").replace("size = 2", "size = 1")
        + 'entrypoint = ["sh", "/x.sh"]\nargs = ["--seed", "1"]\n',
        TWO_NODES,
    )["ranks"]

    assert rank["container"]["entrypoint"] == ["sh", "/x.sh"]
    assert rank["container"]["command"] == [
        *("--seed", "1", "--model", "org/big", "--tensor-parallel-size", "1", "--host", "0.0.0.0", "--port", "8000")
    ]


@pytest.mark.parametrize("written", ["'--api-server-count', '4'", "'--api_server_count=4'", "'-asc', '4'"])
def test_a_worker_of_vllm_has_no_process_for_the_api(written: str) -> None:
    """vLLM refuses `--headless` with a count over 0, and of two counts takes the last."""
    plan = planned(f"{VLLM}args = [{written}]\n", TWO_NODES)
    table = flag_table("vllm")
    assert table is not None

    counts = [
        [value.text for one in table.parse(words(plan, rank)) if one.flag and one.flag.name == "--api-server-count"
         for value in one.values]
        for rank in (0, 1)
    ]  # fmt: skip
    assert counts == [["4"], ["4", "0"]]


def start(argv: list[str], folder: Path, ray: int = 0) -> tuple[int, list[list[str]]]:
    """Runs a rank in a shell that finds programs `ray`, which ends with a status, and `vllm`; what they were given."""
    programs, calls = folder / "programs", folder / "calls"
    programs.mkdir()
    for name, status in (("ray", ray), ("vllm", 0)):
        program = programs / name
        program.write_text(f'#!/bin/sh\nprintf "%s\\0" {name} "$@" "" >>{calls}\nexit {status}\n')
        program.chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "VLLM_CONFIG_ROOT": str(folder / "config root")}
    ran = subprocess.run(argv, cwd=folder, env=env, check=False)
    return ran.returncode, [one.split("\0") for one in calls.read_text().removesuffix("\0\0").split("\0\0")]


def test_over_ray_the_head_starts_a_cluster_and_then_the_server(tmp_path: Path) -> None:
    plan = planned(f"{RAY}args = ['--seed', '''{HOSTILE}''']\n", TWO_NODES)

    status, (ray, vllm) = start(words(plan, 0), tmp_path)

    assert status == 0
    assert ray == [
        *("ray", "start", "--head", "--port=29501", "--node-ip-address=192.168.200.11"),
        *("--include-dashboard=false", "--disable-usage-stats"),
    ]
    assert vllm == [
        *("vllm", "serve", "org/big", "--seed", HOSTILE, "--tensor-parallel-size", "2"),
        *("--distributed-executor-backend", "ray", "--host", "0.0.0.0", "--port", "8000"),
    ]
    assert words(plan, 1) == [
        *("ray", "start", "--block", "--address", "192.168.200.11:29501"),
        *("--node-ip-address", "192.168.200.12", "--disable-usage-stats"),
    ]
    assert ports(plan) == [[8000, 29501], []]
    assert not (tmp_path / "acted").exists()


def test_over_ray_no_worker_gets_what_the_head_has_of_its_own(tmp_path: Path) -> None:
    profile = '[nccl.x]\nNCCL_IB_HCA = "mlx5_0"\nNCCL_NET = "IB"\n'
    recipe = RAY + '[env]\nLATE = "{{ node.gid_index }}"\nNAME = "{{ node.name }}"\nSAME = "{{ head.host }}"\n'

    start(words(planned(recipe, TWO_NODES + profile), 0), tmp_path)

    left_alone = json.loads((tmp_path / "config root" / "ray_non_carry_over_env_vars.json").read_text())
    assert left_alone == ["LATE", "MINE", "NAME", "NCCL_IB_GID_INDEX", "NODE_RANK", "VLLM_HOST_IP"]


def test_over_ray_no_server_starts_without_a_cluster(tmp_path: Path) -> None:
    status, calls = start(words(planned(RAY, TWO_NODES), 0), tmp_path, ray=3)

    assert status == 3
    assert [name for name, *_ in calls] == ["ray"]


def test_llama_cpp_serves_from_the_head_on_the_workers_gpus() -> None:
    plan = planned(LLAMA + 'args = ["--ctx-size", "4096"]\n', TWO_NODES)

    assert words(plan, 0)[:2] == ["sh", "-c"]
    assert words(plan, 0)[3:] == [
        *("wait", "192.168.200.12:50052", "llama-server", "--ctx-size", "4096", "--model", "/rcc/models/model"),
        *("--rpc", "192.168.200.12:50052", "--host", "0.0.0.0", "--port", "8080"),
    ]
    assert words(plan, 1) == ["rpc-server", "--host", "192.168.200.12", "--port", "50052"]
    assert ports(plan) == [[8080], [50052]]
    assert planned(LLAMA + "port = 50052\n", TWO_NODES)


def test_a_wrapper_of_llama_cpp_gets_the_flags_of_its_rank() -> None:
    plan = planned(LLAMA + 'entrypoint = ["sh", "/x.sh"]\n', TWO_NODES)

    assert words(plan, 1) == ["sh", "/x.sh", "--host", "192.168.200.12", "--port", "50052"]
    assert words(plan, 0)[5:9] == ["sh", "/x.sh", "--model", "/rcc/models/model"]


@needs("bash")
def test_the_head_of_llama_cpp_waits_until_its_workers_listen(tmp_path: Path) -> None:
    port = free_port()
    args = f'args = ["--alias", {json.dumps(HOSTILE)}]\n'
    recipe = LLAMA.replace("required_nodes = 2", "required_nodes = 4") + f"rendezvous_port = {port}\n" + args
    cluster = FOUR_NODES.replace("192.168.200.1", "127.0.0.1")
    argv = words(planned(recipe, cluster), 0)
    programs, asked, calls = tmp_path / "programs", tmp_path / "asked", tmp_path / "calls"
    programs.mkdir()
    stubs = {"sleep": f"echo x >>{asked}; exec /bin/sleep 0.1", "llama-server": f'printf "%s\\0" "$@" >{calls}'}
    for name, line in stubs.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    with ExitStack() as stack, subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True) as head:
        for number in (2, 3, 4):
            asked.unlink(missing_ok=True)
            wait_for(asked.exists, "the head to ask a worker in vain")
            assert not calls.exists()
            worker = stack.enter_context(socket.socket())
            worker.bind((f"127.0.0.1{number}", port))
            worker.listen()
        _, said = head.communicate(timeout=60)

    assert head.returncode == 0
    assert calls.read_text().split("\0")[:2] == ["--alias", HOSTILE]
    assert f"waiting for the worker at 127.0.0.12:{port}\n" in said


@pytest.mark.parametrize("written", ["'-m', '{{ model.path }}/b.gguf'", "'--models_dir', '{{ model.path }}'"])
def test_llama_cpp_loads_the_file_that_the_recipe_names(written: str) -> None:
    plan = planned(LLAMA.replace("required_nodes = 2\n", "") + f"args = [{written}]\n", TWO_NODES)

    assert words(plan, 0)[1:] == [
        *written.replace("{{ model.path }}", "/rcc/models/model").replace("'", "").split(", "),
        *("--host", "0.0.0.0", "--port", "8080"),
    ]


def test_trtllm_gets_the_model_before_its_flags() -> None:
    sizes = "tensor_parallel_size = 2\npipeline_parallel_size = 2\n"
    cluster = TWO_NODES.replace('name = "left"', 'name = "left"\ngpus = 4')
    plan = planned(f"{TRTLLM}{sizes}args = ['--backend', 'pytorch']\n", cluster)

    flags = ["--tp_size", "2", "--pp_size", "2", "--host", "0.0.0.0", "--port", "8000"]
    assert words(plan, 0) == ["trtllm-serve", "org/big", "--backend", "pytorch", *flags]
    wrapped = planned(f"{TRTLLM}{sizes}entrypoint = ['x']\n", cluster)
    assert words(wrapped, 0) == ["x", "org/big", *flags]


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (
            RAY + 'entrypoint = ["x"]\n',
            "RCC517 8:14 with `ray` the ranks begin with `ray start`, which an entrypoint would replace",
        ),
        (
            RAY.replace("tensor", "data"),
            "RCC517 6:22 with `ray` data parallelism does not span nodes here",
        ),
        (
            VLLM + 'args = ["--seed", "1", "--data_parallel_hybrid_lb"]\n',
            "RCC517 7:24 `--data-parallel-hybrid-lb` wants an API on each node, and the head alone has one here",
        ),
        (
            VLLM + 'args = ["-dpb", "mp", "--data_parallel_backend=ray"]\n',
            "RCC517 7:23 vLLM starts replicas by Ray from one node alone, and the ranks are started on each here",
        ),
        (VLLM + 'args = ["-dpl", "1"]\n', "RCC501 7:10 `-dpl` is set by the compiler, from `data_parallel_size`"),
        (
            VLLM + 'args = ["--data-parallel-start-rank=1"]\n',
            "RCC501 7:10 `--data-parallel-start-rank` is set by the compiler, from `data_parallel_size`",
        ),
        (VLLM + 'args = ["--uds", "/x"]\n', "RCC501 7:10 `--uds` is set by the compiler, from `listen`"),
        (VLLM + 'args = ["-tp=2"]\n', "RCC501 7:10 `-tp` is set by the compiler, from `tensor_parallel_size`"),
        (VLLM + 'args = ["--headless"]\n', "RCC501 7:10 `--headless` is set by the compiler, from `required_nodes`"),
        (
            LLAMA.replace("/srv/models/big.gguf", "org/big"),
            "RCC517 4:9 `org/big` is a repository, and `llama-server` loads one file",
        ),
        (
            LLAMA + "tensor_parallel_size = 2\n",
            "RCC517 6:24 engine `llama-cpp` has no use for `tensor_parallel_size`",
        ),
        (LLAMA + 'args = ["--rpc=x"]\n', "RCC501 6:10 `--rpc` is set by the compiler, from `required_nodes`"),
        (
            LLAMA + 'distributed_backend = "ray"\n',
            "RCC205 6:23 engine `llama-cpp` does not span nodes by `ray`",
        ),
        (
            TRTLLM + "required_nodes = 2\ntensor_parallel_size = 2\n",
            "RCC517 5:18 engine `trtllm` runs on one node here",
        ),
        (
            TRTLLM + 'args = ["--pipeline_parallel_size=1"]\n',
            "RCC501 5:10 `--pipeline_parallel_size` is set by the compiler, from `pipeline_parallel_size`",
        ),
        (
            TRTLLM + 'args = ["--tp-size=1"]\n',
            "RCC501 5:10 `--tp-size` is set by the compiler, from `tensor_parallel_size`",
        ),
        (LLAMA + 'args = ["-hf", "org/x"]\n', "RCC501 6:10 `-hf` is set by the compiler, from `model`"),
        (LLAMA + 'args = ["--hf_repo", "a/b"]\n', "RCC501 6:10 `--hf_repo` is set by the compiler, from `model`"),
        (
            TRTLLM + 'args = ["--tp_size", "1"]\n',
            "RCC501 5:10 `--tp_size` is set by the compiler, from `tensor_parallel_size`",
        ),
    ],
)
def test_what_an_engine_cannot_do_is_refused_by_build_and_lint(recipe: str, expected: str, tmp_path: Path) -> None:
    assert refused(recipe, TWO_NODES) == [expected]

    (tmp_path / "x.recipe.toml").write_text(recipe)
    linted = call_rcc("lint", "--format", "concise", "--select", expected[:6], "x.recipe.toml", cwd=tmp_path)
    code, place, message = expected.split(" ", 2)
    assert linted.out.splitlines()[0] == f"x.recipe.toml:{place}: error[{code}] {message}"
    assert linted.code == 1


def test_llama_cpp_takes_no_ipv6_address() -> None:
    assert refused(LLAMA, TWO_NODES.replace("192.168.200.12", "fd00::12")) == [
        "RCC910 12:10 `llama-cpp` reaches no node by `fd00::12`, an IPv6 address"
    ]
    assert planned(VLLM, TWO_NODES.replace("192.168.200.1", "fd00::1"))


def test_a_way_over_nodes_is_told_where_there_is_one_node(tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text(TRTLLM + 'distributed_backend = "ray"\n')
    (tmp_path / "cluster.toml").write_text(TWO_NODES)

    for command in (["lint", "--format", "concise", "--select", "RCC517"], ["build", "-c", "cluster.toml"]):
        ran = call_rcc(command[0], "x.recipe.toml", *command[1:], cwd=tmp_path)
        assert "RCC517" in ran.text
        assert "`distributed_backend` has no effect on one node" in ran.text
        assert ran.code == 0


def test_engines_with_gpus_want_all_of_them() -> None:
    assert [line.split()[0] for line in refused(VLLM.replace("size = 2", "size = 1"), TWO_NODES)] == ["RCC903"]
    assert planned(LLAMA, TWO_NODES)
