"""Nodes, topology, templates and the environment: what is decided for each rank, and what is refused."""

from hashlib import sha256
from pathlib import Path

import pytest

from rcc.pipeline import Options
from tests.support.cli import call_rcc
from tests.support.texts import CUSTOM, FOUR_NODES, FOUR_RANKS, ONE_NODE, load_texts, plan_texts, planned, refused

SHEBANG = sha256(b"#!/bin/sh\n").hexdigest()
UNKNOWN_COMMAND = "and something must happen in the container before it runs"
SPLIT_OVER_TOO_MUCH = """\
data_parallel_size = 4
args = ["--enable-dp-attention"]
[[staging]]
kind = "sparse-rows"
id = "e"
src = "/s"
dst = "/d"
"""
WITHOUT_RDMA = FOUR_NODES.replace("NCCL_IB_HCA", "OTHER")


def test_the_first_nodes_are_taken_in_the_order_of_the_file() -> None:
    plan = planned(FOUR_RANKS.replace("4", "2"), FOUR_NODES)

    assert [one["node"] for one in plan["ranks"]] == ["spark1", "spark2"]


def test_named_nodes_are_taken_in_the_order_of_the_command_line() -> None:
    plan = planned(FOUR_RANKS.replace("4", "2"), FOUR_NODES, Options(nodes=("spark3", "spark1")))

    assert [one["node"] for one in plan["ranks"]] == ["spark3", "spark1"]
    assert plan["ranks"][1]["container"]["command"][-6:-4] == ["--dist-init-addr", "192.168.200.13:25000"]


def test_an_ipv6_address_is_told_from_the_port_where_ranks_meet() -> None:
    cluster = FOUR_NODES.replace('"192.168.200.11"', '"fd00::11"\ngid_index = "nccl"')
    container = planned(FOUR_RANKS, cluster)["ranks"][0]["container"]

    assert container["command"][-6:-4] == ["--dist-init-addr", "[fd00::11]:25000"]
    assert container["env"]["SGLANG_HOST_IP"] == "fd00::11"


@pytest.mark.parametrize("address", ["::1", "fd00::", "fe80::5054:ff:fe12:3456", "::ffff:10.0.0.1", "a.b-c.example"])
def test_what_is_an_address(address: str) -> None:
    assert planned(CUSTOM, ONE_NODE.replace("10.0.0.21", address))["ranks"][0]["host"] == address


@pytest.mark.parametrize("address", ["10.0.0.11:22", "spark1:22", "[fd00::1]", "a::z", ":", "-a", "a-"])
def test_what_is_no_address(address: str) -> None:
    (line,) = refused(CUSTOM, ONE_NODE.replace("10.0.0.21", address))

    assert line.endswith(f"`nodes[0].host` must be a host name or an address, not `{address}`")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (("spark1",), "RCC902 5:18 `--nodes` names 1, and the recipe runs on 2"),
        (("spark1", "sprak2"), "RCC906 0:0 cluster `cluster` has no node `sprak2`"),
        (("spark1", "spark1"), "RCC906 0:0 `--nodes` names `spark1` twice"),
    ],
)
def test_named_nodes_must_be_there(nodes: tuple[str, ...], expected: str) -> None:
    assert refused(FOUR_RANKS.replace("4", "2"), FOUR_NODES, Options(nodes=nodes)) == [expected]


def test_too_few_nodes() -> None:
    assert refused(FOUR_RANKS, ONE_NODE) == ["RCC902 5:18 the recipe requires 4 nodes, and cluster `cluster` has 1"]


def test_two_nodes_with_one_address() -> None:
    lines = refused(FOUR_RANKS, FOUR_NODES.replace("10.0.0.12", "10.0.0.11"))

    assert lines == ["RCC901 13:8 two nodes have the address `10.0.0.11`"]


def test_an_unknown_topology() -> None:
    lines = refused(FOUR_RANKS + 'topology = "swich"\n', FOUR_NODES)

    assert lines == ["RCC904 7:12 cluster `cluster` has no NCCL profile `swich`"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(topology=""), "RCC904 0:0 cluster `cluster` has no NCCL profile ``"),
        (Options(hf_cache=""), "RCC306 0:0 `--hf-cache` needs an absolute path, not ``"),
    ],
)
def test_an_empty_option_is_not_no_option(options: Options, expected: str) -> None:
    recipe = FOUR_RANKS + '[env]\nHF = "{{ hf }}/hub"\n'

    assert refused(recipe, FOUR_NODES, options) == [expected], "and of what comes of it nothing is said"


def test_the_topology_is_the_command_line_s_else_the_recipe_s_else_the_cluster_s() -> None:
    cluster = FOUR_NODES + '[nccl.b]\nWHICH = "b"\n[nccl.c]\nWHICH = "c"\n'
    recipe = FOUR_RANKS + 'topology = "b"\n'

    def which(text: str, options: Options) -> str | None:
        env: dict[str, str] = planned(text, cluster, options)["ranks"][0]["container"]["env"]
        return env.get("WHICH")

    assert which(FOUR_RANKS, Options()) is None
    assert which(recipe, Options()) == "b"
    assert which(recipe, Options(topology="c")) == "c"


def test_ranks_meet_at_the_host_s_address_where_no_fabric_is_stated() -> None:
    cluster = FOUR_NODES.replace('fabric = "192.168.200.11"\n', "")

    ranks = planned(FOUR_RANKS, cluster)["ranks"]

    assert ranks[0]["fabric"] == "10.0.0.11"
    assert "10.0.0.11:25000" in ranks[3]["container"]["command"]


def test_several_topologies_and_none_chosen() -> None:
    lines = refused(FOUR_RANKS, FOUR_NODES.replace('topology = "switch"\n', "") + "[nccl.direct]\n")

    assert lines == ["RCC904 25:1 cluster `cluster` has several NCCL profiles and none is chosen: `direct`, `switch`"]


def test_the_only_topology_is_taken() -> None:
    plan = planned(FOUR_RANKS, FOUR_NODES.replace('topology = "switch"\n', ""))

    assert plan["ranks"][0]["container"]["env"]["NCCL_NET"] == "IB"


def test_without_a_cluster_file_one_node_without_a_hub_model_runs_here() -> None:
    rank = planned(CUSTOM)["ranks"][0]

    assert (rank["node"], rank["arch"], rank["container"]["gpus"]) == ("localhost", None, None)


def test_without_a_cluster_file_any_other_recipe_is_shown_one_to_start_from() -> None:
    _, (found,) = plan_texts(FOUR_RANKS)

    assert found.code == "RCC905"
    assert '[[nodes]]\nname = "spark1"' in str(found.help)


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [("tensor_parallel_size = 2\npipeline_parallel_size = 2", True), ("tensor_parallel_size = 2", False)],
)
def test_parallel_sizes_must_fill_the_gpus_of_several_nodes(sizes: str, fits: bool) -> None:
    plan, found = plan_texts(FOUR_RANKS.replace("tensor_parallel_size = 4", sizes), FOUR_NODES)

    assert (plan is not None) is fits
    assert [one.code for one in found] == ([] if fits else ["RCC903"])


def test_dp_attention_counts_no_data_parallelism() -> None:
    recipe = FOUR_RANKS + 'data_parallel_size = 4\nargs = ["--enable-dp-attention"]\n'

    assert planned(recipe, FOUR_NODES)["ranks"][0]["container"]["command"][5:7] == ["--dp-size", "4"]


def test_a_custom_engine_may_have_any_sizes() -> None:
    assert planned(CUSTOM + "required_nodes = 3\ntensor_parallel_size = 64\n", WITHOUT_RDMA)


@pytest.mark.parametrize("spelled", ["--port", "--port=1", "--tp", "--tp-size", "--tensor-parallel-size=8", "--nnode"])
def test_an_argument_that_a_key_decides_is_refused_in_every_spelling(spelled: str) -> None:
    (line,) = refused(f'{FOUR_RANKS}args = ["--x", "{spelled}", "1"]\n', FOUR_NODES)

    assert line.startswith("RCC501 7:17 `--")


TEMPLATES = """
port = 8000
required_nodes = 2
args = [
    "{{ rank }}/{{nnodes}}",
    "<<node.fabric>>",
    "{{ head.host }}:{{ port }}",
    "{{ hf }}",
    "{{ vars.a }}{{ vars.b }}",
]
"""


def test_templates_are_filled_for_each_rank() -> None:
    cluster = WITHOUT_RDMA.replace(
        'fabric = "192.168.200.12"', 'fabric = "192.168.200.12"\nvars = { b = "node" }\nhf_cache = "/own/hf"'
    )
    ranks = planned(CUSTOM + TEMPLATES, cluster + '[vars]\na = "A"\nb = "B"\n')["ranks"]

    assert ranks[0]["container"]["command"] == ["0/2", "192.168.200.11", "10.0.0.11:8000", "/mnt/nas/hf", "AB"]
    assert ranks[1]["container"]["command"] == ["1/2", "192.168.200.12", "10.0.0.11:8000", "/own/hf", "Anode"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('args = ["a{{hff}}"]', "RCC302 4:11 template name `hff` is not defined"),
        ('args = ["{{ node.hca }}"]', "RCC305 4:10 template name `node.hca` has no value: node `desk` has no `hca`"),
        ('args = ["{{ model.path }}"]', "RCC302 4:10 template name `model.path` is not defined"),
        ('env.A = "{{ staging.x.rows }}"', "RCC302 4:10 template name `staging.x.rows` is not defined"),
        (
            'model = "a/b"\nargs = ["{{ model.host_path }}"]',
            "RCC304 5:10 `model.host_path` needs the commit that is served, and nothing pins it",
        ),
    ],
)
def test_a_template_that_cannot_be_filled_is_said_at_its_place(line: str, expected: str) -> None:
    assert refused(f"{CUSTOM}{line}\n", ONE_NODE) == [expected]


def test_a_model_s_path_on_the_host_needs_the_cache() -> None:
    recipe = f'{CUSTOM}model = "a/b"\nrevision = "{"0" * 40}"\nargs = ["{{{{ model.host_path }}}}"]\n'

    lines = refused(recipe, ONE_NODE.replace("hf_cache", "# hf_cache"))

    message = "template name `model.host_path` has no value: the cluster file has no `hf_cache`"
    assert f"RCC305 6:10 {message}" in lines


def test_a_node_s_architecture_is_its_profile_s_unless_it_states_its_own() -> None:
    recipe = FOUR_RANKS + 'args = ["{{ node.arch }}"]\n'

    ranks = planned(recipe, FOUR_NODES.replace('name = "spark2"', 'name = "spark2"\narch = "amd64"'))["ranks"]

    assert [rank["container"]["command"][0] for rank in ranks] == ["arm64", "amd64", "arm64", "arm64"]


def test_a_late_bound_name_is_the_whole_value_of_a_variable() -> None:
    bound = planned(FOUR_RANKS + '[env]\nGID = "{{ node.gid_index }}"\n', FOUR_NODES)["ranks"][0]["container"]
    in_args = refused(FOUR_RANKS + 'args = ["{{ node.gid_index }}"]\n', FOUR_NODES)
    in_part = refused(FOUR_RANKS + '[env]\nGID = "x{{ node.gid_index }}"\n', FOUR_NODES)

    assert bound["late_env"] == {"GID": "node.gid_index"}
    assert "GID" not in bound["env"]
    assert in_args == ["RCC303 7:10 `node.gid_index` is known only on the node, at start"]
    assert in_part == ["RCC303 8:9 `node.gid_index` is known only on the node, at start"]


@pytest.mark.parametrize(
    ("gid_index", "search", "variable"),
    [
        ("", True, None),
        ('gid_index = "auto"', True, None),
        ("gid_index = 5", False, "5"),
        ('gid_index = "nccl"', False, None),
    ],
)
def test_how_the_gid_index_is_had(gid_index: str, search: bool, variable: str | None) -> None:
    rank = planned(FOUR_RANKS, FOUR_NODES.replace('name = "spark1"', f'name = "spark1"\n{gid_index}'))["ranks"][0]

    assert (rank["gid"] is not None) is search
    assert rank["container"]["env"].get("NCCL_IB_GID_INDEX") == variable
    assert (rank["container"]["enter"] is not None) is search


def test_a_gid_index_cannot_be_found_without_a_list_of_adapters() -> None:
    cluster = FOUR_NODES.replace('name = "spark2"', 'name = "spark2"\ngid_index = "auto"').replace("NCCL_IB_HCA", "X")

    assert refused(FOUR_RANKS, cluster) == [
        "RCC909 13:13 node `spark2` is to find its GID index, and `NCCL_IB_HCA` does not say on which adapters"
    ]


@pytest.mark.parametrize("address", ["spark1.example.com", "fd00::11", "192.168.200.256", "192.168.200.011"])
def test_the_gid_of_what_is_no_ipv4_address_cannot_be_found(address: str) -> None:
    assert refused(FOUR_RANKS, FOUR_NODES.replace("192.168.200.11", address)) == [
        f"RCC917 9:10 node `spark1` is to find the GID of `{address}`, which is no IPv4 address"
    ]


def test_what_the_cluster_file_sets_in_vain_is_said() -> None:
    node = FOUR_NODES.replace('name = "spark2"', 'name = "spark2"\nenv = { NCCL_IB_GID_INDEX = "3" }')
    profile = FOUR_NODES + 'NNODES = "4"\nNCCL_IB_GID_INDEX = "3"\n'
    left_to_nccl = profile.replace('name = "spark2"', 'name = "spark2"\ngid_index = "nccl"')
    lines = [_warnings(cluster) for cluster in (node, profile, left_to_nccl)]

    assert lines == [
        ["RCC401 13:9 `NCCL_IB_GID_INDEX` has no effect here"],
        ["RCC401 29:1 `NNODES` has no effect here", "RCC401 30:1 `NCCL_IB_GID_INDEX` has no effect here"],
        ["RCC401 30:1 `NNODES` has no effect here"],
    ]


def _warnings(cluster: str) -> list[str]:
    plan, found = plan_texts(FOUR_RANKS, cluster)
    assert plan is not None
    places = [one.place.line_column if one.place else (0, 0) for one in found]
    return [f"{one.code} {line}:{column} {one.message}" for one, (line, column) in zip(found, places, strict=True)]


def test_without_adapters_nobody_looks_for_a_gid_index() -> None:
    assert planned(FOUR_RANKS, FOUR_NODES.replace("NCCL_IB_HCA", "X"))["ranks"][0]["gid"] is None


def test_the_environment_is_laid_from_profile_to_node() -> None:
    cluster = FOUR_NODES.replace('name = "spark2"', 'name = "spark2"\nenv = { C = "node" }')
    recipe = FOUR_RANKS + '[env]\nNCCL_NET = "Socket"\nC = "recipe"\nEMPTY = ""\nHF_HOME = "/own"\n'
    plan, found = plan_texts(recipe, cluster)
    assert plan is not None
    first, second = (dict(rank.container.env) for rank in plan.ranks[:2])

    assert first["NCCL_NET"] == "Socket"
    assert (first["C"], second["C"]) == ("recipe", "node")
    assert first["EMPTY"] == ""
    assert first["HF_HOME"] == "/own"
    assert (second["NODE_RANK"], second["NNODES"], second["SGLANG_HOST_IP"]) == ("1", "4", "192.168.200.12")
    assert [(one.code, str(one.place), [str(label.place) for label in one.labels]) for one in found] == [
        ("RCC402", "cluster.toml:13:9", ["recipe.toml:9:1"])
    ]


@pytest.mark.parametrize("name", ["NODE_RANK", "NNODES", "SGLANG_HOST_IP", "NCCL_IB_GID_INDEX"])
def test_a_recipe_cannot_set_what_the_compiler_sets(name: str) -> None:
    assert refused(f'{FOUR_RANKS}[env]\n{name} = "1"\n', FOUR_NODES) == [
        f"RCC401 8:1 `{name}` is not the recipe's to set"
    ]


def test_a_recipe_may_set_the_gid_index_where_it_is_left_to_nccl() -> None:
    cluster = FOUR_NODES.replace("fabric =", 'gid_index = "nccl"\nfabric =')

    plan = planned(FOUR_RANKS + '[env]\nNCCL_IB_GID_INDEX = "3"\n', cluster)

    assert plan["ranks"][3]["container"]["env"]["NCCL_IB_GID_INDEX"] == "3"


def test_relative_mounts_are_carried_and_lead_nowhere_else() -> None:
    mount = '[[extra_mounts]]\nhost = "{}"\ncontainer = "/x.sh"\nread_only = true\n'
    plan = planned(CUSTOM + mount.format("run.sh"), run_sh="#!/bin/sh\n")
    lines = refused(CUSTOM + mount.format("../../.ssh/id_rsa"))

    assert plan["files"] == [
        {
            "executable": True,
            "file": "run.sh",
            "sha256": SHEBANG,
        }
    ]
    assert plan["ranks"][0]["container"]["mounts"][0]["source"]["file"] == "run.sh"
    assert lines == ["RCC701 5:8 `../../.ssh/id_rsa` cannot be carried: there is no such file"]


@pytest.mark.parametrize("container", ["x", "~/x", "/a/../b"])
def test_a_path_in_the_container_is_absolute(container: str) -> None:
    (line,) = refused(f'{CUSTOM}[[extra_mounts]]\nhost = "/x"\ncontainer = "{container}"\n')

    assert line.startswith("RCC702 6:13")


def test_a_path_has_one_line(tmp_path: Path) -> None:
    mount = '[[extra_mounts]]\nhost = "/a\\nb"\ncontainer = "/x{{ vars.end }}"\n'
    assert refused(f"{CUSTOM}{mount}", '[[nodes]]\nname = "a"\n[vars]\nend = "\\n"\n') == [
        "RCC306 5:8 `extra_mounts` needs a path of one line",
        "RCC702 6:13 `extra_mounts` needs a path of one line, once its templates are filled: `/x\\n`",
    ]

    (tmp_path / "r.toml").write_text(f'{CUSTOM}[[extra_mounts]]\nhost = "/a"\ncontainer = "/a\\nb"\n')
    ran = call_rcc("lint", "r.toml", "--select", "RCC702", "--format", "concise", cwd=tmp_path)
    assert ran.out.startswith("r.toml:6:13: error[RCC702] `extra_mounts` needs a path of one line")


FOLDER = "an absolute path, or one that starts with `~/`, without `..`"
MOUNT = '[[extra_mounts]]\nhost = "/data"\ncontainer = "{}"\n'
STAGE = '[[staging]]\nkind = "snapshot"\nid = "{}"\nsrc = "/src"\ndst = "{}"\n'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (MOUNT.format("/a") + MOUNT.format("/{{ vars.a }}/"), "RCC703 10:13 two mounts have the target `/a`"),
        (MOUNT.format("/"), "RCC709 7:13 `/` is where rcc mounts its own"),
        (MOUNT.format("/rcc/enter"), "RCC709 7:13 `/rcc/enter` is where rcc mounts its own"),
        (
            STAGE.format("a", "/d/a") + STAGE.format("b", "/d/{{ vars.a }}"),
            "RCC809 14:7 two blocks are staged to `/d/a`",
        ),
        ('secrets = ["NODE_RANK"]', "RCC401 5:12 `NODE_RANK` is not the recipe's to set"),
        ('secrets = ["A", "A"]', "RCC206 5:17 `A` is a secret already"),
    ],
)
def test_what_would_lie_in_one_place_is_refused(lines: str, expected: str) -> None:
    recipe = f'{CUSTOM}entrypoint = ["x"]\n{lines}\n'

    assert refused(recipe, f'{ONE_NODE}[vars]\na = "a"\n') == [expected]


def test_an_unknown_engine_and_hardware_are_named_together() -> None:
    lines = refused(FOUR_RANKS.replace("sglang", "sgland"), FOUR_NODES.replace("dgx-spark", "dgx-spork"))

    assert [line.split()[0] for line in lines] == ["RCC907", "RCC502"]


def test_own_hardware_is_a_table() -> None:
    cluster = FOUR_NODES.replace('hardware = "dgx-spark"\n', "") + "[hardware.mine]\narch = 'arm64'\ngpus = 2\n"
    rank = planned(FOUR_RANKS.replace("tensor_parallel_size = 4", "tensor_parallel_size = 8"), cluster)["ranks"][0]

    assert (rank["arch"], rank["gpus"], rank["container"]["devices"]) == ("arm64", 2, [])


def test_a_built_in_profile_can_be_the_default_beside_one_s_own(tmp_path: Path) -> None:
    own = '[hardware]\ndefault = "dgx-spark"\n[hardware.mine]\ngpus = 2\n'
    cluster = FOUR_NODES.replace('hardware = "dgx-spark"\n', "")

    assert planned(FOUR_RANKS, cluster + own)["ranks"] == planned(FOUR_RANKS, FOUR_NODES)["ranks"]
    assert refused(FOUR_RANKS, cluster + own.replace("dgx-spark", "mime")) == [
        f"RCC907 {len(cluster.splitlines()) + 2}:11 no hardware profile is called `mime`"
    ]

    path = tmp_path / "cluster.toml"
    path.write_text(cluster + own)
    assert call_rcc("lint", path, "--select", "RCC907", cwd=tmp_path).code == 0
    path.write_text(cluster + own.replace("dgx-spark", "mime"))
    assert call_rcc("lint", path, "--select", "RCC907", "--unsafe-fixes", cwd=tmp_path).code == 0
    assert 'default = "mine"\n' in path.read_text()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("[hardware]\n", "RCC204 6:2 `hardware` holds no profile"),
        ("[hardware.a]\n[hardware.b]\n", "RCC204 6:2 `hardware` has no `default`"),
        (
            '[hardware.a]\ndevices = ["x"]\n',
            "RCC205 7:12 `hardware.a.devices[0]` must be a device such as `/dev/fuse`, not `x`",
        ),
        (
            '[hardware.a.ulimits]\n"$(x)" = 1\n',
            "RCC201 7:1 unknown key `$(x)` in `hardware.a.ulimits`",
        ),
        ('[nccl."a\\u0000"]\n', "RCC205 6:7 `nccl.a\0` holds a NUL, which no process can be given"),
        ('[vars]\n"a\\u0000" = "b"\n', "RCC205 7:1 `vars.a\0` holds a NUL, which no process can be given"),
    ],
)
def test_names_and_profiles_of_a_cluster_are_checked(lines: str, expected: str) -> None:
    assert refused(CUSTOM, ONE_NODE + lines) == [expected]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ssh = "-Fx@h"', "RCC205 6:7 `nodes[0].ssh` must be an ssh alias or `user@host:port`, not `-Fx@h`"),
        ('install_dir = "~spark/x"', f"RCC205 6:15 `nodes[0].install_dir` must be {FOLDER}, not `~spark/x`"),
        ('cache_dir = "//x"', f"RCC205 6:13 `nodes[0].cache_dir` must be {FOLDER}, not `//x`"),
    ],
)
def test_what_a_node_s_programs_would_read_as_something_else_is_refused(line: str, expected: str) -> None:
    assert refused(CUSTOM, f"{ONE_NODE}{line}\n") == [expected]


def test_folders_on_a_node_may_end_in_a_slash() -> None:
    (rank,) = planned(CUSTOM, ONE_NODE + 'install_dir = "/srv/rcc/"\ncache_dir = "~/cache/"\n')["ranks"]

    assert (rank["install_dir"], rank["cache_dir"]) == ("/srv/rcc", "~/cache")


def test_the_api_and_the_rendezvous_need_two_ports() -> None:
    assert refused(FOUR_RANKS + "rendezvous_port = 30000\n", FOUR_NODES) == [
        "RCC908 7:19 the API and the rendezvous of the ranks both use port 30000 of the head"
    ]


@pytest.mark.parametrize("folder", ["/mnt/nas/hf", "/mnt/nas/hf/rcc/"])
def test_compile_caches_have_no_place_in_the_model_cache(folder: str) -> None:
    lines = refused(CUSTOM, f'{ONE_NODE}cache_dir = "{folder}"\n')

    assert lines == ["RCC706 6:13 `cache_dir` of node `desk` lies in the model cache `/mnt/nas/hf`"]
    assert planned(CUSTOM, f'{ONE_NODE}cache_dir = "/mnt/nas/hf2"\n')


def test_a_hub_model_needs_the_cache() -> None:
    assert refused(FOUR_RANKS, FOUR_NODES.replace('hf_cache = "/mnt/nas/hf"\n', "")) == [
        "RCC911 4:9 node `spark1` has no `hf_cache`, and the recipe serves a model of the Hub"
    ]


def test_every_file_that_was_read_is_remembered_by_its_hash() -> None:
    loaded, _ = load_texts('extends = "base.toml"\nid = "x"\n', ONE_NODE, base_toml=CUSTOM)

    assert loaded is not None
    assert sorted(loaded.read) == ["base.toml", "cluster.toml", "recipe.toml"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('[healthcheck]\npath = "/"', "RCC204 4:1 `[healthcheck]` asks a port, and the recipe has none"),
        (
            'secrets = ["TOKEN"]',
            f"RCC204 3:16 the image's own entrypoint is not known, {UNKNOWN_COMMAND}",
        ),
        (
            '[[extra_mounts]]\nhost = "run.sh"\ncontainer = "/x"\nsha256 = "' + "0" * 64 + '"',
            f"RCC701 7:10 `run.sh` is not the file that `sha256` pins: its hash is `{SHEBANG}`",
        ),
    ],
)
def test_keys_that_need_each_other(lines: str, expected: str) -> None:
    assert refused(f"{CUSTOM}{lines}\n", run_sh="#!/bin/sh\n") == [expected]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('distributed_backend = "ray"', "RCC205 7:23 engine `sglang` does not span nodes by `ray`"),
        (
            SPLIT_OVER_TOO_MUCH,
            "RCC807 10:8 `e` splits tables over all ranks, which pipeline and data parallelism do not",
        ),
    ],
)
def test_keys_that_the_engine_does_not_have(lines: str, expected: str) -> None:
    assert refused(f"{FOUR_RANKS}{lines}\n", FOUR_NODES) == [expected]


def test_the_values_of_all_ranks_have_a_bound() -> None:
    nodes = "".join(f'[[nodes]]\nname = "n{n}"\nhost = "h{n}"\n' for n in range(1_500))
    variables = "".join(f'A{n} = "{n}"\n' for n in range(4_000))
    (line,) = refused(f"{CUSTOM}required_nodes = 1_500\n[env]\n{variables}", f'hf_cache = "/mnt/nas/hf"\n{nodes}')

    expected = "1,500 ranks with some 174 KiB of values each are more than the 8 MiB that rcc fills"
    assert line == f"RCC918 4:18 {expected}"


def test_sixty_four_nodes_may_have_the_largest_recipe() -> None:
    nodes = "".join(f'[[nodes]]\nname = "n{n}"\nhost = "h{n}"\n' for n in range(64))
    arguments = ", ".join(f'"--flag-{n}"' for n in range(64))
    text = f'{CUSTOM}required_nodes = 64\nargs = [{arguments}]\n[env]\nA = "{"x" * 100_000}"\n'
    ranks = planned(text, f'hf_cache = "/mnt/nas/hf"\n{nodes}')["ranks"]

    assert {len(one["container"]["env"]["A"]) for one in ranks} == {100_000}
    assert len(ranks) == 64
