"""Every problem of a file is told in one run: no finding hides another, and none comes from what was not read."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call_rcc
from tests.support.pages import completed

OK = 'engine = "custom"\ndocker_image = "a/b@sha256:' + "a" * 64 + '"\nentrypoint = ["sh"]\n'
NODES = '[[nodes]]\nname = "a"\nhost = "10.0.0.11"\n[[nodes]]\nname = "b"\nhost = "10.0.0.12"\n'
STAGED = '[[staging]]\nkind = "snapshot"\nid = "s"\n'


def told(folder: Path, text: str, *options: str, name: str = "x.recipe.toml") -> list[dict[str, Any]]:
    (folder / name).write_text(text)
    ran = call_rcc("lint", "--format", "json", *options, name, cwd=folder)
    assert ran.code in (0, 1, 2), ran.text
    found: list[dict[str, Any]] = ran.json()["findings"]
    return found


def codes(found: list[dict[str, Any]]) -> list[str]:
    return sorted(one["code"] for one in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OK + '[[extra_mounts]]\nhost = "~/x"\ncontainer = "/x"\n', ["RCC710"]),
        (OK + 'extra_mounts = [{host = "~/x", container = "/x"}, {host = "{{ id }}", container = "/y"}]\n',
         ["RCC306", "RCC710"]),
        (OK + '[[extra_mounts]]\nhost = "$HOME/x"\ncontainer = "/x"\n', ["RCC701"]),
        (OK + STAGED + 'src = "/nas/x"\ndst = "data/x"\n', ["RCC306", "RCC805"]),
        (OK + STAGED + 'src = "nas/x"\ndst = "/data/x"\nserve = true\n', ["RCC306"]),
        (OK + '[[assert]]\npath = "../x"\ncontains = "y"\n', ["RCC306"]),
        (OK.replace("a/b@", "a/b:{{ x }}@"), ["RCC205"]),
        (OK + 'staging_image = "a/b:<<x>>"\n', ["RCC205"]),
        (OK + '[env]\nNCCL_IB_GID_INDEX = "auto"\n', ["RCC411"]),
    ],
)  # fmt: skip
def test_one_slip_is_told_once(tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "cluster.toml").write_text(NODES)
    found = [one for one in told(tmp_path, text, "-c", "cluster.toml") if one["severity"] != "info"]
    assert codes(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STAGED + 'src = "/nas/x"\ndst = "data/x"\n', ["RCC306"]),
        (STAGED + 'src = "../x"\ndst = "/data/x"\n', ["RCC306"]),
        ('[[assert]]\npath = "x"\ncontains = "y"\n', ["RCC306"]),
    ],
)
def test_a_path_that_holds_no_template_is_checked_without_a_cluster(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    found = [one for one in told(tmp_path, OK + text) if one["severity"] == "error"]

    assert codes(found) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("/var/run", ["RCC708"]),
        ("/run/", ["RCC708"]),
        ("/", ["RCC708"]),
        ("/run/podman", ["RCC708"]),
        ("/run/user", []),
        ("/hub/models--o--n/snapshots", ["RCC706", "RCC707"]),
        ("/hub/models--o--n/snapshots/", ["RCC706", "RCC707"]),
        ("/data/my-snapshots", []),
    ],
)
def test_a_folder_around_what_is_told_is_told(tmp_path: Path, host: str, expected: list[str]) -> None:
    mount = f'[[extra_mounts]]\nhost = "{host}"\ncontainer = "/x"\n'
    found = [one for one in told(tmp_path, OK + mount) if one["code"] != "RCC605"]

    assert codes(found) == expected


def test_every_missing_key_is_told(tmp_path: Path) -> None:
    def missing(text: str) -> list[str]:
        return [one["message"] for one in told(tmp_path, text) if one["code"] == "RCC204"]

    assert missing('name = "x"\n') == ["the file has no `docker_image`", "the file has no `engine`"]
    assert missing(OK + "[[extra_mounts]]\n") == [f"`extra_mounts[0]` has no `{key}`" for key in ("container", "host")]
    keys = ("dst", "id", "kind", "src")
    assert missing(OK + "[[staging]]\n") == [f"`staging[0]` has no `{key}`" for key in keys]
    assert missing(OK + "[[models]]\n[[models]]\n") == [
        f"`models[{index}]` has no `{key}`" for index in (0, 1) for key in ("id", "model")
    ]


def test_a_captured_key_is_not_missing_too(tmp_path: Path) -> None:
    found = told(tmp_path, '[[extra_mounts]]\nhost = "/dev/x"\ncontainer = "/x"\n' + OK)
    assert codes(found) == ["RCC101", "RCC101", "RCC101"]

    captured = '[[extra_mounts]]\nhost = "/dev/x"\n[[extra_mounts]]\n[healthcheck]\npath = "/"\n'
    found = told(tmp_path, OK + "port = 1\n" + captured + 'container = "/x"\nhost = "/dev/y"\n')
    assert codes(found) == ["RCC102", "RCC102", "RCC204"], "two lack one of it, and it is there once"
    assert found[0]["message"] == "`extra_mounts[1]` has no `container`"

    found = told(tmp_path, OK.replace("custom", "sglang") + '[env]\nmodel = "example/model"\n')
    assert codes(found) == ["RCC101"], "an engine that needs a model lacks it once"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OK + 'prot = 1\nipc = "host"\nshm_size = "1g"\n', ["RCC201", "RCC206"]),
        (OK + 'prot = 1\nrequires_rcc = ">=9000"\n', ["RCC201", "RCC209"]),
        (OK + 'port = "3"\nsecrets = ["A"]\n[env]\nA = "1"\n', ["RCC202", "RCC206"]),
        (OK + 'prot = 1\n[env]\nport = "1"\n', ["RCC101", "RCC201"]),
        (OK.replace("custom", "sglang") + "prot = 1\n", ["RCC201", "RCC204"]),
        (OK + "prot = 1\n" + '[[models]]\nid = "a"\nmodel = "/a"\n' * 2, ["RCC201", "RCC206"]),
        (OK + 'secrets = ["a b", "A", "A"]\n', ["RCC205", "RCC206"]),
        (OK + 'extra_mounts = [{ host = "~/x", container = "/x", prot = 1 }]\n', ["RCC201", "RCC710"]),
        *(
            (f'engine = "custom"\ndocker_image = "a/b"\nentrypoint = ["{{{{ hff }}}}"]\n{bad}\n', [code, *rest])
            for bad, code, *rest in (
                ('cap_add = ["sys admin"]', "RCC205", "RCC302", "RCC601"),
                ('devices = ["nothing", "/dev/x"]', "RCC205", "RCC302", "RCC601"),
                ('secrets = ["a b", 3]', "RCC202", "RCC205", "RCC302", "RCC601"),
                ("args = [1]", "RCC202", "RCC302", "RCC601"),
                ("staging = 3", "RCC202", "RCC302", "RCC601"),
                ("healthcheck = 3", "RCC202", "RCC302", "RCC601"),
                ("[ulimits]\nmemlock = { soft = 1 }", "RCC204", "RCC302", "RCC601"),
                ("[ulimits.nofile]\nsoft = -2\nhard = '1'", "RCC202", "RCC203", "RCC302", "RCC601"),
                ("[[staging]]\nid = 'B'\ninclude = [1]", "RCC202", *["RCC204"] * 3, "RCC207", "RCC302", "RCC601"),
            )
        ),
    ],
)
def test_a_refused_value_hides_no_other_finding(text: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(told(tmp_path, text)) == expected


MOUNTS = '[[extra_mounts]]\nhost = "/a/hub"\ncontainer = "/x"\n[[extra_mounts]]\nhost = "/dev/b"\ncontainer = "/b"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MOUNTS + 'sha256 = "0"\n', ["RCC205", "RCC605", "RCC706"]),
        (MOUNTS + 'read_only = "true"\n', ["RCC202", "RCC605", "RCC706"]),
        (f'{STAGED}src = "/a"\ndst = "/srv/a"\nmin_free = "10 gigs"\n', ["RCC205", "RCC804", "RCC805"]),
        ('model = "a/b"\n[[models]]\nid = "D"\nmodel = "a/c"\n', ["RCC207", "RCC603", "RCC603"]),
    ],
)
def test_a_refused_key_of_one_element_hides_nothing_of_the_others(
    text: str, expected: list[str], tmp_path: Path
) -> None:
    assert codes(told(tmp_path, OK + text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[[staging]]\nid = 3\n[env]\nA = "{{ staging.rows.layout }}"\n', ["RCC202", "RCC204", "RCC204", "RCC204"]),
        ('model = 3\nrevision = "main"\n', ["RCC202"]),
        ('[[extra_mounts]]\nhost = "/a/hub"\ncontainer = "/x"\nread_only = "true"\n', ["RCC202", "RCC605"]),
        ('[[extra_mounts]]\nhost = "/a/b"\ncontainer = "/x"\nsha256 = "0"\n', ["RCC205"]),
        (f'{STAGED}serve = 1\nsrc = "/a"\ndst = "/srv/a"\n', ["RCC202", "RCC805"]),
        (
            STAGED.replace("snapshot", "snapshots") + 'tiling = "floor"\nsrc = "/a"\ndst = "/a"\n',
            ["RCC205", "RCC803", "RCC805"],
        ),
        ('[[models]]\nid = "d"\nmodel = "a/b"\nrevision = 3\n', ["RCC202"]),
        ('entrypoint = [3]\n[env]\nA = "$HOME"\n', ["RCC202"]),
    ],
)
def test_nothing_is_told_that_comes_from_what_was_not_read(text: str, expected: list[str], tmp_path: Path) -> None:
    recipe = OK.replace('entrypoint = ["sh"]\n', "") if "entrypoint" in text else OK

    assert codes(told(tmp_path, recipe + text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("port = 1\nport = 2\nname = 'a'\nname = 'b'\nprot = 1\n", ["RCC004", "RCC004", "RCC201"]),
        ("port = 'x'\nport = 1\nport = 2\n", ["RCC004", "RCC004", "RCC202"]),
        ("port = 1\nport = 'x'\n[env]\nA = '{{ hff }}'\n", ["RCC004", "RCC302"]),
        ("[env]\nA = '1'\n[env]\nB = '{{ hff }}'\nA = '2'\n", ["RCC004", "RCC004", "RCC302"]),
        ("env.A = '1'\n[env]\nB = '{{ hff }}'\n", ["RCC107", "RCC302"]),
        ("prot = 1\n[extra_mounts]\nhost = '/a'\n[[extra_mounts]]\nhost = '/b'\n", ["RCC103", "RCC201"]),
        ("prot = 1\nenv = { A = '1', A = '2', B = { C = 1, C = 2 } }\n", ["RCC004", "RCC004", "RCC201", "RCC202"]),
        ("args = [{ a = 1, a = 2 }]\n", ["RCC004", "RCC202"]),
        ("port = 1\nport = 2\nname = \n", ["RCC003"]),
    ],
)
def test_a_key_that_stands_twice_hides_nothing(text: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(told(tmp_path, OK + text)) == expected


def test_a_base_with_a_key_twice_is_used_for_what_it_says_first(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(OK + "port = 1\nport = 2\n")
    assert codes(told(tmp_path, 'extends = "base.toml"\nprot = 1\n')) == ["RCC004", "RCC201"]

    ran = call_rcc("build", "x.recipe.toml", "-t", "shell", cwd=tmp_path)
    assert (ran.code, "RCC004" in ran.err) == (1, True), "a build takes neither of the two"


def test_a_key_that_stands_twice_in_a_cluster_hides_nothing(tmp_path: Path) -> None:
    text = 'topology = "x"\nname = "a"\nname = "b"\n' + NODES
    assert codes(told(tmp_path, text, name="cluster.toml")) == ["RCC004", "RCC904"]
    assert codes(told(tmp_path, completed("required_nodes = 5\n"), "-c", "cluster.toml")) == [
        "RCC004",
        "RCC902",
        "RCC904",
    ]


@pytest.mark.parametrize(
    ("base", "code"), [("a = [\n", "RCC003"), (None, "RCC007"), ('extends = "x.recipe.toml"\n', "RCC208")]
)
def test_a_broken_base_does_not_hide_its_child(base: str | None, code: str, tmp_path: Path) -> None:
    if base is not None:
        (tmp_path / "base.toml").write_text(base)
    found = told(tmp_path, 'extends = "base.toml"\nprot = 1\nport = "3"\n')
    assert codes(found) == sorted([code, "RCC201", "RCC202"])

    child = 'extends = "base.toml"\nrevision = "main"\n[[extra_mounts]]\nhost = "~/x"\n'
    child += '[env]\nA = "{{ staging.rows.dst }} $HOME"\nB = "{{ nod.host }}"\nNCCL_IB_DISABLE = "true"\n'
    found = told(tmp_path, child)
    assert codes(found) == sorted([code, "RCC204", "RCC302", "RCC411", "RCC710"]), (
        "what a base may have is not said to lack"
    )


def test_a_bad_extends_hides_nothing_and_makes_nothing_up(tmp_path: Path) -> None:
    assert codes(told(tmp_path, 'extends = 3\nport = "3"\n')) == ["RCC202", "RCC202"]


def test_a_cluster_file_hides_nothing(tmp_path: Path) -> None:
    def found(text: str) -> list[str]:
        return codes(told(tmp_path, text, name="cluster.toml"))

    twice = NODES.replace('"b"', '"a"')
    assert found('hardware = "dgx-sprak"\ntopology = "x"\n' + twice) == ["RCC901", "RCC904", "RCC907"]
    assert found("prot = 1\n" + twice) == ["RCC201", "RCC901"]
    assert found(NODES.replace("12", "11") + 'gpus = "8"\n') == ["RCC202", "RCC901"]
    assert found('topology = "x"\nnccl = 3\n' + NODES) == ["RCC202"]
    assert found("nodes = 3\nhardware = 3\n") == ["RCC202", "RCC202"]


@pytest.mark.parametrize(
    ("cluster", "code"),
    [(NODES.replace('"b"', '"a"'), "RCC901"), (NODES + "gpus = '8'\n", "RCC202"), ("prot = 1\n" + NODES, "RCC201")],
)
def test_a_recipe_is_held_against_a_cluster_that_is_refused(cluster: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(cluster)
    found = told(tmp_path, completed("required_nodes = 5\n"), "-c", "cluster.toml")
    assert codes(found) == sorted([code, "RCC902"])

    found = told(tmp_path, completed("required_nodes = 5\nport = '3'\n"), "-c", "cluster.toml")
    assert codes(found) == sorted([code, "RCC202", "RCC902"])


@pytest.mark.parametrize(
    ("body", "key", "help"),
    [
        ("env.port = 30\n", "port", "write `port` without `env.` before it"),
        ('healthcheck = { path = "/x", stop_grace = "9s" }\n', "stop_grace", "take it out of the braces"),
        ('extra_mounts = [{ host = "/dev/x", container = "/x", args = ["x"] }]\n', "args", "take it out of the braces"),
        ('[[extra_mounts]]\nhost = "/dev/x"\ncontainer = "/x"\n[extra_mounts.env]\nA = "1"\n', "env", "write `[env]`"),
        (
            '[[extra_mounts]]\nhost = "/dev/x"\ncontainer = "/x"\n[[extra_mounts.assert]]\npath = "/"\n',
            "assert",
            "write `[[assert]]`",
        ),
    ],
)
def test_the_help_fits_what_captured_the_key(body: str, key: str, help: str, tmp_path: Path) -> None:
    text = OK + ("port = 1\n" if "healthcheck" in body else "") + body
    (one,) = told(tmp_path, text)

    assert one["code"] == "RCC101"
    assert text.splitlines()[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1] == key
    assert one["help"].startswith(help)
    assert one["labels"] == [], "no header stands above the key"


def test_a_key_that_stands_in_its_own_place_too_is_not_to_be_moved_there(tmp_path: Path) -> None:
    (one,) = told(tmp_path, OK + 'port = 3\n[env]\nA = "1"\nport = 4\n')
    assert one["help"].startswith("remove one of the two")
    assert [label["text"] for label in one["labels"]][1:] == ["this one is read at the top level"]

    (tmp_path / "base.toml").write_text(OK + "port = 3\n")
    (one,) = told(tmp_path, 'extends = "base.toml"\n[env]\nA = "1"\nport = 4\n')
    assert one["help"].startswith("move it above"), "the base's is another one, which this one is to replace"


def test_an_absorbed_key_has_a_label_only_where_a_header_stands_above(tmp_path: Path) -> None:
    for body, labels in (("[measured]\nargs = ['x']\n", 1), ("measured.args = ['x']\n", 0)):
        (one,) = told(tmp_path, OK + body)
        assert (one["code"], len(one["labels"])) == ("RCC108", labels)
