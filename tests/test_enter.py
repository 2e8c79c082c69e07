"""The scripts that run in an engine's container before the engine, under the shells that images have."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rcc.plan.model import Gid, Mount, Plan
from rcc_node.stamp import stamp_line
from rcc_targets.common.enter import asserts_script, enter_script, prepare_script
from rcc_targets.common.finding import refused
from tests.support.hardcases import hard_cases
from tests.support.plans import LAYOUT, container, four, plan_of, rank, single, with_asserts, with_container, with_rank
from tests.support.plans import with_secrets as secret_plan
from tests.support.shells import SHELLS, run_sh
from tests.support.skips import needs

pytestmark = [needs("dash", "busybox", "bash"), pytest.mark.parametrize("shell", sorted(SHELLS))]

GID_SCRIPT = Path(__file__).parents[1] / "targets/rcc_node/enter/gid.sh"
LINK_LOCAL = "fe80:0000:0000:0000:4ebb:47ff:fe12:3456"
NOTHING = "0000:0000:0000:0000:0000:0000:0000:0000"
FABRIC = "192.168.200.11"
REFUSED = 78
DUMP = """
import os, sys
words = [*sys.argv[1:], *map("=".join, os.environ.items())]
sys.stdout.buffer.write(b"\\0".join(map(os.fsencode, words)))
"""


def mapped(address: str) -> str:
    """An IPv4 address as sysfs writes its GID."""
    a, b, c, d = (int(part) for part in address.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


@dataclass
class Hca:
    """One port's table: index to (type, GID)."""

    entries: Mapping[int, tuple[str, str]]
    state: str = "4: ACTIVE"
    port: int = 1
    unreadable: tuple[int, ...] = field(default=(7,))


def usual(address: str, index: int) -> dict[int, tuple[str, str]]:
    """Link-local entries first, then the address as v1 and as v2."""
    return {
        0: ("IB/RoCE v1", LINK_LOCAL),
        1: ("RoCE v2", LINK_LOCAL),
        index - 1: ("IB/RoCE v1", mapped(address)),
        index: ("RoCE v2", mapped(address)),
    }


def sysfs(folder: Path, hcas: Mapping[str, Hca]) -> Path:
    """A made-up `/sys` with these HCAs."""
    (folder / "class/infiniband").mkdir(parents=True)
    for name, hca in hcas.items():
        port = folder / "class/infiniband" / name.partition(":")[0] / "ports" / str(hca.port)
        for below in ("gids", "gid_attrs/types"):
            (port / below).mkdir(parents=True)
        (port / "state").write_text(hca.state + "\n")
        for index in range(16):
            kind, gid = hca.entries.get(index, ("", NOTHING))
            (port / "gids" / str(index)).write_text(gid + "\n")
            types = port / "gid_attrs/types" / str(index)
            # Reading the type of an unused entry fails, as reading a folder does.
            types.write_text(kind + "\n") if kind and index not in hca.unreadable else types.mkdir()
    return folder


PAIR = {"rocep1s0f0": Hca(usual(FABRIC, 3)), "roceP2p1s0f0": Hca(usual("192.168.201.11", 3))}
FOUND = {
    "one": (PAIR, "rocep1s0f0", "3"),
    "two": (PAIR, "rocep1s0f0,roceP2p1s0f0", "3"),
    "exact": (PAIR, "=rocep1s0f0,roceP2p1s0f0", "3"),
    "prefixes": (PAIR, "rocep,roceP", "3"),
    "all but one": (PAIR, "^roceP2", "3"),
    "all but one, exactly": (PAIR, "^=roceP2p1s0f0,rocep1s0", "3"),
    "with port": (PAIR, "rocep1s0f0:1,roceP2p1s0f0:1", "3"),
    "empty entries": (PAIR, ",rocep1s0f0,,", "3"),
    "another index": ({"rocep1s0f0": Hca(usual(FABRIC, 4))}, "rocep1s0f0", "4"),
    "index 15": ({"rocep1s0f0": Hca(usual(FABRIC, 15))}, "rocep1s0f0", "15"),
    "inactive ports do not count": (
        {"rocep1s0f1": Hca({}, "1: DOWN"), **PAIR},
        "rocep1s0f1,rocep1s0f0,roceP2p1s0f0",
        "3",
    ),
    "only the index that all have": (
        {
            "rocep1s0f0": Hca({3: ("RoCE v2", mapped(FABRIC)), 5: ("RoCE v2", mapped(FABRIC))}),
            "roceP2p1s0f0": Hca({5: ("RoCE v2", mapped("192.168.201.11"))}),
        },
        "rocep1s0f0,roceP2p1s0f0",
        "5",
    ),
    "the first HCA's second port": (
        {"mlx5_0:1": Hca(usual("10.1.0.1", 3)), "mlx5_0:2": Hca(usual(FABRIC, 3), port=2)},
        "mlx5_0",
        "3",
    ),
    "the second port alone": (
        {"mlx5_0:1": Hca(usual("10.1.0.1", 5)), "mlx5_0:2": Hca(usual(FABRIC, 3), port=2)},
        "mlx5_0:2",
        "3",
    ),
}
APART = {"rocep1s0f0": Hca(usual(FABRIC, 3)), "roceP2p1s0f0": Hca(usual("192.168.201.11", 4))}
NOT_FOUND = {
    "no HCA": ({}, "rocep1s0f0", 1, "holds no HCA"),
    "none selected": (PAIR, "mlx5", 1, "roceP2p1s0f0/ports/1: 4: ACTIVE"),
    "a prefix is no exact name": (PAIR, "=roce", 1, "selects no active port"),
    "the other port": (PAIR, "rocep1s0f0:2", 1, "selects no active port"),
    "down": ({"rocep1s0f0": Hca(usual(FABRIC, 3), "1: DOWN")}, "rocep1s0f0", 1, "rocep1s0f0/ports/1: 1: DOWN"),
    "only link-local": (
        {"rocep1s0f0": Hca({1: ("RoCE v2", LINK_LOCAL)})},
        "rocep1s0f0",
        1,
        f"1  {LINK_LOCAL}  RoCE v2",
    ),
    "only version 1": (
        {"rocep1s0f0": Hca({3: ("IB/RoCE v1", mapped(FABRIC))})},
        "rocep1s0f0",
        1,
        "IB/RoCE v1  " + FABRIC,
    ),
    "past the table": ({"rocep1s0f0": Hca({1: ("RoCE v2", LINK_LOCAL)}, unreadable=())}, "rocep1s0f0", 1, "no RoCE v2"),
    "another address": ({"rocep1s0f0": Hca(usual("10.9.8.7", 3))}, "rocep1s0f0", 1, "RoCE v2  10.9.8.7"),
    "unreadable": ({"rocep1s0f0": Hca(usual(FABRIC, 3), unreadable=(3,))}, "rocep1s0f0", 1, "no type"),
    "the second HCA has none": (
        {**PAIR, "roceP2p1s0f0": Hca({})},
        "rocep1s0f0,roceP2p1s0f0",
        1,
        "roceP2p1s0f0/ports/1 has no",
    ),
    "the first must have the address": (PAIR, "roceP2p1s0f0,rocep1s0f0", 1, "roceP2p1s0f0, the first HCA"),
    "they differ": (APART, "rocep1s0f0,roceP2p1s0f0", 2, "no GID index in common"),
}


@pytest.mark.parametrize("case", FOUND)
def test_gid_found(shell: str, case: str, tmp_path: Path) -> None:
    hcas, listed, index = FOUND[case]
    done = run_sh(shell, GID_SCRIPT, listed, FABRIC, sysfs(tmp_path / "sys", hcas) / "class/infiniband")

    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, f"{index}\n", "")


@pytest.mark.parametrize("case", NOT_FOUND)
def test_gid_not_found(shell: str, case: str, tmp_path: Path) -> None:
    hcas, listed, status, said = NOT_FOUND[case]
    done = run_sh(shell, GID_SCRIPT, listed, FABRIC, sysfs(tmp_path / "sys", hcas) / "class/infiniband")

    assert (done.returncode, done.stdout) == (status, b"")
    assert said in done.stderr.decode()


@pytest.mark.parametrize(
    "address", ["", "spark1", "192.168.200", "192.168.200.256", "192.168.200.011", "fe80::1", "1.2.3.4.5"]
)
def test_gid_wants_an_ipv4_address(shell: str, address: str, tmp_path: Path) -> None:
    done = run_sh(shell, GID_SCRIPT, "rocep1s0f0", address, sysfs(tmp_path / "sys", PAIR) / "class/infiniband")

    assert done.returncode == 1
    assert b"is no IPv4 address" in done.stderr


def entered(shell: str, plan: Plan, tmp_path: Path, env: Mapping[str, str], *argv: str) -> tuple[int, bytes, str]:
    """Status, stdout and stderr of `enter` before `argv`; its fixed folders lie below `tmp_path`."""
    script = enter_script(plan.ranks[0], plan)
    assert script is not None
    script = script.replace(" /sys/", f" {tmp_path}/sys/").replace("/rcc/secrets", f"{tmp_path}/secrets")
    (tmp_path / "enter").write_text(script)
    done = run_sh(shell, tmp_path / "enter", *argv, env=env)
    return done.returncode, done.stdout, done.stderr.decode()


def with_gid(*late: str) -> Plan:
    made = container(enter=("sh", "/rcc/enter"), late_env=dict.fromkeys(late, "node.gid_index"))
    return plan_of(rank(made=made, gid=Gid("rocep1s0f0,roceP2p1s0f0", FABRIC)))


SAY = ("sh", "-c", 'echo "${NCCL_IB_GID_INDEX-unset} ${B12X_ROCE_GID_INDEX-unset}"')


def test_enter_exports_the_gid_index(shell: str, tmp_path: Path) -> None:
    sysfs(tmp_path / "sys", PAIR)
    code, out, err = entered(shell, with_gid("B12X_ROCE_GID_INDEX"), tmp_path, {}, *SAY)

    assert (code, out, err) == (0, b"3 3\n", "")


def test_differing_hcas_leave_it_to_nccl(shell: str, tmp_path: Path) -> None:
    sysfs(tmp_path / "sys", APART)
    code, out, err = entered(shell, with_gid(), tmp_path, {"NCCL_IB_GID_INDEX": "3"}, *SAY)

    assert (code, out) == (0, b"unset unset\n")
    assert "no GID index in common" in err


def test_differing_hcas_refuse_a_recipe_that_needs_the_index(shell: str, tmp_path: Path) -> None:
    sysfs(tmp_path / "sys", APART)
    code, out, err = entered(shell, with_gid("B12X_ROCE_GID_INDEX"), tmp_path, {}, *SAY)

    assert (code, out) == (REFUSED, b"")
    assert "rank 0 on spark1" in err
    assert "RoCE v2  192.168.201.11" in err


def test_no_gid_is_refused_with_node_and_table(shell: str, tmp_path: Path) -> None:
    sysfs(tmp_path / "sys", {**PAIR, "rocep1s0f0": Hca({1: ("RoCE v2", LINK_LOCAL)})})
    code, out, err = entered(shell, with_gid(), tmp_path, {}, *SAY)

    assert (code, out) == (REFUSED, b"")
    assert "spark1" in err
    assert LINK_LOCAL in err


def test_secrets_come_from_the_environment_then_from_files(shell: str, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    for name in ("HF_TOKEN", "OTHER"):
        (tmp_path / "secrets" / name).write_text(f"file's {name} $x\n")
    plan = secret_plan(single(), "HF_TOKEN", "OTHER")
    code, out, err = entered(
        shell, plan, tmp_path, {"HF_TOKEN": "from $outside"}, "sh", "-c", 'echo "$HF_TOKEN|$OTHER"'
    )

    assert (code, out, err) == (0, b"from $outside|file's OTHER $x\n", "")


def test_missing_secrets_are_named_and_nothing_starts(shell: str, tmp_path: Path) -> None:
    plan = secret_plan(single(), "HF_TOKEN", "HERE", "OTHER")
    code, out, err = entered(shell, plan, tmp_path, {"HERE": "yes", "OTHER": ""}, "echo", "started")

    assert (code, out) == (REFUSED, b"")
    assert err.rstrip().endswith("HF_TOKEN OTHER")


HELD = {
    "plain": ("b\nneedle in it\n", "needle"),
    "quotes": ("""say "it's" now""", """"it's\""""),
    "pattern": ("a*b[c]?", "*b[c]?"),
    "lines": ("one\ntwo\n\nthree", "two\n\nthree"),
    "the last line end": ("one\n", "one\n"),
    "dollars": ("a $HOME `id` b", "$HOME `id`"),
    "bytes": ("caf\xe9 \udcff grüße", "grüße"),
    "the end": ("ends so.", "so."),
}


@pytest.mark.parametrize("case", HELD)
def test_asserts_that_hold(shell: str, case: str, tmp_path: Path) -> None:
    content, wanted = HELD[case]
    (tmp_path / "file").write_bytes(content.encode("utf-8", "surrogateescape"))
    plan = with_asserts(single(), {str(tmp_path / "file"): wanted})

    assert entered(shell, plan, tmp_path, {}, "echo", "started") == (0, b"started\n", "")


@pytest.mark.parametrize(
    ("content", "wanted"), [("needl", "needle"), ("abc", "a*c"), ("a.", "a.."), ("one", "one\n"), ("", "x")]
)
def test_asserts_that_do_not_hold(shell: str, content: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(content)
    plan = with_asserts(single(), {str(tmp_path / "file"): wanted})
    code, out, err = entered(shell, plan, tmp_path, {}, "echo", "started")

    assert (code, out) == (REFUSED, b"")
    assert f"{tmp_path}/file does not contain: {wanted}" in err


def test_asserts_see_text_between_bytes_that_are_none(shell: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x7fELF\0\0\xff\xfe needle \0\xc3")
    plan = with_asserts(single(), {str(tmp_path / "file"): " needle "})

    assert entered(shell, plan, tmp_path, {}, "true") == (0, b"", "")


def test_a_file_that_is_not_there_is_another_image(shell: str, tmp_path: Path) -> None:
    plan = with_asserts(single(), {f"{tmp_path}/none": "x"})
    script = asserts_script(plan.ranks[0], plan)
    assert script is not None
    done = run_sh(shell, "-c", script)

    assert done.returncode == REFUSED
    assert b"none cannot be read" in done.stderr


def staged(folder: Path, layout: str | None = LAYOUT, number: int = 0) -> Plan:
    """A rank of four whose container has its rows in `folder`."""
    plan = four()
    one = plan.ranks[number]
    made = replace(one.container, mounts=(Mount("/home/spark/rows", str(folder), True, "staged"),))
    block = replace(one.staging[0], layout=layout, rows=one.staging[0].rows if layout else None)
    ranks = (replace(one, container=made, gid=None, staging=(block,)),)
    return replace(plan, ranks=ranks)


def stamped(folder: Path, line: str) -> None:
    (folder / ".rcc").mkdir(parents=True, exist_ok=True)
    (folder / ".rcc/stamp").write_text(line)


ROWS = "1:0:96001542,14:0:96004171"


def test_the_stamp_of_the_node_part_is_what_enter_wants(shell: str, tmp_path: Path) -> None:
    stamped(tmp_path / "rows", stamp_line(LAYOUT, 4, 0, ROWS))

    assert entered(shell, staged(tmp_path / "rows"), tmp_path, {}, "echo", "up") == (0, b"up\n", "")


@pytest.mark.parametrize(
    "line",
    [
        None,
        "",
        stamp_line("sha256:" + "3" * 64, 4, 0, ROWS),
        stamp_line(LAYOUT, 2, 0, ROWS),
        stamp_line(LAYOUT, 4, 1, "1:96001542:192003084,14:96004171:192008342"),
        stamp_line(LAYOUT, 4, 0, "1:0:96001542"),
        stamp_line(LAYOUT, 4, 0, ROWS) + "more\n",
    ],
)
def test_any_other_stamp_is_refused(shell: str, line: str | None, tmp_path: Path) -> None:
    if line is not None:
        stamped(tmp_path / "rows", line)
    code, out, err = entered(shell, staged(tmp_path / "rows"), tmp_path, {}, "echo", "up")

    assert (code, out) == (REFUSED, b"")
    assert "stage it again" in err


def test_without_a_lock_world_and_rank_must_be_right(shell: str, tmp_path: Path) -> None:
    plan = staged(tmp_path / "rows", layout=None)
    stamped(tmp_path / "rows", stamp_line(LAYOUT, 4, 0, ROWS))
    assert entered(shell, plan, tmp_path, {}, "true")[0] == 0

    stamped(tmp_path / "rows", stamp_line(LAYOUT, 4, 1, ROWS))
    assert entered(shell, plan, tmp_path, {}, "true")[0] == REFUSED


def test_a_stamp_below_a_mounted_folder_is_found(shell: str, tmp_path: Path) -> None:
    plan = with_container(staged(tmp_path / "rows"), mounts=(Mount("/home/spark", str(tmp_path), True, "bind"),))
    stamped(tmp_path / "rows", stamp_line(LAYOUT, 4, 0, ROWS))

    assert entered(shell, plan, tmp_path, {}, "true")[0] == 0


def everything(tmp_path: Path) -> Plan:
    """All parts of `enter` at once."""
    sysfs(tmp_path / "sys", PAIR)
    (tmp_path / "file").write_text("needle")
    plan = secret_plan(with_asserts(staged(tmp_path / "rows"), {f"{tmp_path}/file": "needle"}), "HF_TOKEN")
    stamped(tmp_path / "rows", stamp_line(LAYOUT, 4, 0, ROWS))
    return with_rank(plan, 0, gid=Gid("rocep1s0f0", FABRIC))


def test_argv_and_environment_arrive_byte_for_byte(shell: str, tmp_path: Path) -> None:
    arguments = [case.text for case in hard_cases("arg") if not case.argv0 and not case.refused_by("docker_run")]
    values = [case.text for case in hard_cases("env") if not case.refused_by("docker_run") and len(case.value) < 9999]
    env = {f"V{number}": value for number, value in enumerate(values)}
    code, out, err = entered(
        shell, everything(tmp_path), tmp_path, {**env, "HF_TOKEN": "t"}, sys.executable, "-IS", "-c", DUMP, *arguments
    )

    assert (code, err) == (0, "")
    words = out.decode("utf-8", "surrogateescape").split("\0")
    assert words[: len(arguments)] == arguments
    arrived = dict(word.split("=", 1) for word in words[len(arguments) :])
    assert {name: arrived[name] for name in env} == env
    assert arrived["HF_TOKEN"] == "t"
    assert not [name for name in arrived if name.startswith("rcc")]


def test_needs_nothing_but_sh_and_cat(shell: str, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "cat").symlink_to("/bin/cat")
    code, out, err = entered(
        shell, everything(tmp_path), tmp_path, {"PATH": str(programs), "HF_TOKEN": "t"}, "/bin/echo", "up"
    )

    assert (code, out, err) == (0, b"up\n", "")


@pytest.mark.parametrize(
    "name",
    ["A", "a_1", "HOME", "LANG", "TZ", "ENV", "HISTFILE", "CDPATH", "MAIL", "TERM", "LD_X", "HOSTNAME", "COLUMNS"],
)
def test_variables_that_are_not_refused_survive_the_shell(shell: str, name: str, tmp_path: Path) -> None:
    assert not refused(single(enter=("sh", "/rcc/enter"), env={name: "q7"}))
    plan = secret_plan(single(), "S")
    _, out, _ = entered(shell, plan, tmp_path, {name: "q7", "S": "s"}, sys.executable, "-IS", "-c", DUMP)

    assert f"{name}=q7" in out.decode().split("\0")


OF_THE_SHELL = (
    "PWD", "OLDPWD", "SHLVL", "_", "IFS", "PPID", "OPTIND", "UID", "RANDOM", "BASH_X", "PS1", "rcc_gid", "A.B", "1A",
    "a b",
)  # fmt: skip


@pytest.mark.parametrize("name", OF_THE_SHELL)
def test_variables_that_a_shell_would_change_are_refused(shell: str, name: str) -> None:
    del shell
    assert {one.code for one in refused(single(enter=("sh", "/rcc/enter"), env={name: "x"}))} == {"RCC1006"}
    assert not refused(single(env={name: "x"}))


# --- prepare -------------------------------------------------------------------------------------------------------


def prepared(shell: str, plan: Plan, tmp_path: Path) -> tuple[int, str]:
    script = prepare_script(plan.ranks[0], plan, f"{tmp_path}/running")
    done = run_sh(shell, "-c", script.replace("/proc/net/", f"{tmp_path}/net/"))
    return done.returncode, done.stderr.decode()


def listening(folder: Path, *ports: int, v6: bool = False) -> None:
    """Tables of a network namespace where these ports are listened on, and one is only connected to."""
    (folder / "net").mkdir(exist_ok=True)
    anywhere = "0" * (32 if v6 else 8)
    lines = [f"   0: {anywhere}:{port:04X} {anywhere}:0000 0A 00000000:00000000 00:0 0\n" for port in ports]
    lines.append(f"   9: {anywhere}:1F91 {anywhere}:1F90 01 00000000:00000000 00:0 0\n")
    (folder / "net" / ("tcp6" if v6 else "tcp")).write_text("  sl  local_address rem_address   st\n" + "".join(lines))


def prepared_plan(tmp_path: Path) -> Plan:
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    return with_container(single(), mounts=(Mount("~/.cache/x", str(cache), False, "cache"),))


@pytest.mark.parametrize("v6", [False, True])
def test_a_taken_port_is_refused_unless_the_engine_runs(shell: str, v6: bool, tmp_path: Path) -> None:
    plan = prepared_plan(tmp_path)
    listening(tmp_path, 8080, v6=v6)
    code, err = prepared(shell, plan, tmp_path)
    assert (code, "port 8080 already" in err) == (REFUSED, True)

    listening(tmp_path, 8081, v6=v6)
    assert prepared(shell, plan, tmp_path) == (0, "")

    listening(tmp_path, 8080, v6=v6)
    assert prepared(shell, plan, tmp_path)[0] == REFUSED

    (tmp_path / "running").touch()
    assert prepared(shell, plan, tmp_path) == (0, "")


def test_pinned_files_are_compared(shell: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("content")
    digest = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
    listening(tmp_path)
    for pinned, code in ((digest, 0), ("sha256:" + digest, 0), ("0" * 64, REFUSED)):
        mount = Mount("/srv/file", str(tmp_path / "file"), True, "bind", pinned)
        assert prepared(shell, single(mounts=(mount,)), tmp_path)[0] == code


def test_memory_is_asked_for(shell: str, tmp_path: Path) -> None:
    listening(tmp_path)
    assert prepared(shell, single(mounts=(), memory=1 << 20), tmp_path)[0] == 0
    code, err = prepared(shell, single(mounts=(), memory=1 << 50), tmp_path)

    assert (code, "memory" in err) == (REFUSED, True)


def test_the_cache_is_handed_to_the_containers_user(shell: str, tmp_path: Path) -> None:
    listening(tmp_path)
    plan = with_container(prepared_plan(tmp_path), user="1234:99")
    assert prepared(shell, plan, tmp_path) == (0, "")

    found = (tmp_path / "cache").stat()
    assert (found.st_uid, found.st_gid) == (1234, 99)
