"""What a target cannot carry is shown where it is written: in the recipe, a base of it, or the cluster file."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call_rcc

RECIPE = """\
id = "r"
engine = "custom"
docker_image = "localhost/serve:1"
required_nodes = 2
"""
CLUSTER = """\
hardware = "cpu"
[[nodes]]
name = "spark1"
host = "10.0.0.11"
[[nodes]]
name = "spark2"
host = "10.0.0.12"
"""
OWN_PROFILE = CLUSTER.replace('hardware = "cpu"\n', "") + "[hardware.own]\n"
FIRST, SECOND = (f'name = "spark{number}"\n' for number in (1, 2))
VARIABLES = '[env]\nA = "1"\n"a-b" = "2"\n'


def of(folder: Path, recipe: str, cluster: str, *options: str, **more: str) -> list[dict[str, Any]]:
    """The findings of a build of all targets."""
    for name, text in {"r.toml": RECIPE + recipe, "cluster.toml": cluster, **more}.items():
        (folder / name).write_text(text)
    done = call_rcc("build", "r.toml", "--json", *options, cwd=folder)
    found = done.json()["builds"][0]["findings"]
    assert done.code in (0, 1)
    return list(found)


@pytest.mark.parametrize(
    ("recipe", "cluster", "expected"),
    [
        ('entrypoint = ["[run]"]\n', CLUSTER, "RCC1004 r.toml:5:15-22"),
        ('entrypoint = ["sh"]\nsecrets = ["A", "IFS"]\n', CLUSTER, "RCC1006 r.toml:6:17-22"),
        (f'entrypoint = ["sh"]\nsecrets = ["T"]\n{VARIABLES}', CLUSTER, "RCC1006 r.toml:9:1-6"),
        ("", CLUSTER.replace(SECOND, f'{SECOND}env = {{ "A B" = "1" }}\n'), "RCC1021 cluster.toml:7:9-14"),
        ("", CLUSTER.replace(FIRST, f'{FIRST}install_dir = "/a "\n'), "RCC1005 cluster.toml:4:15-20"),
        ("", CLUSTER.replace("spark2", "spark_2"), "RCC1022 cluster.toml:6:8-17"),
        ("", f'{CLUSTER}[k8s.node_names]\nspark2 = "{"a" * 64}"\n', "RCC1022 cluster.toml:9:10-76"),
        ("[ulimits]\nnofile = 5\n", CLUSTER, "RCC1023 r.toml:6:10-11"),
        ("", OWN_PROFILE + "ulimits = { nofile = 5 }\n", "RCC1023 cluster.toml:8:22-23"),
        ("", CLUSTER.replace(SECOND, f"{SECOND}gpus = 2\n"), "RCC1030 cluster.toml:7:8-9"),
        ('[[extra_mounts]]\nhost = "/x"\ncontainer = "/a//b"\n', CLUSTER, "RCC1005 r.toml:7:13-20"),
        ('[[extra_mounts]]\nhost = "/x"\ncontainer = "/a:b"\n', CLUSTER, "RCC1025 r.toml:7:13-19"),
        ('[[extra_mounts]]\nhost = "x.sh"\ncontainer = "/x"\n', CLUSTER, "RCC1032 r.toml:5:1-17"),
        ('[[models]]\nid = "m"\nmodel = "/srv/a /b "\n', CLUSTER, "RCC1005 r.toml:7:9-21"),
    ],
)
def test_a_value_is_shown_where_it_stands(recipe: str, cluster: str, expected: str, tmp_path: Path) -> None:
    found = of(tmp_path, recipe, cluster, **{"x.sh": ""})
    places = [f"{one['code']} {one['file']}:{one['line']}:{one['column']}-{one['end_column']}" for one in found]
    assert set(places) == {expected}


def test_a_base_is_a_file_too(tmp_path: Path) -> None:
    base = 'entrypoint = ["sh"]\n[ulimits]\nstack = 5\n'
    (one,) = of(tmp_path, 'extends = "base.toml"\n', CLUSTER, **{"base.toml": base})
    assert (one["code"], one["file"], one["line"]) == ("RCC1023", "base.toml", 3)


def test_the_place_is_underlined(tmp_path: Path) -> None:
    of(tmp_path, 'entrypoint = ["[run]"]\n', CLUSTER)
    done = call_rcc("build", "r.toml", "-t", "shell", cwd=tmp_path)
    assert done.err.endswith("""\
error[RCC1004]: the program `[run]` begins with `[`
 --> r.toml:5:15
  |
5 | entrypoint = ["[run]"]
  |               ^^^^^^^
  |
  = help: call it by a path: podman reads such an entrypoint as a list, docker does not

1 error
""")


def test_each_place_of_one_mistake_is_told_and_once_for_all_ranks(tmp_path: Path) -> None:
    cluster = CLUSTER.replace(SECOND, f'{SECOND}env = {{ "a-b" = "3" }}\n')
    found = of(tmp_path, f'entrypoint = ["sh"]\nsecrets = ["T"]\n{VARIABLES}', cluster, "-t", "shell")
    assert [(one["code"], one["file"], one["line"]) for one in found if one["code"] != "RCC402"] == [
        ("RCC1006", "cluster.toml", 7),
        ("RCC1006", "r.toml", 9),
    ]


def test_a_value_that_nobody_wrote_has_no_place(tmp_path: Path) -> None:
    """The cache folder is what the engine needs and the compiler chooses."""
    recipe = 'id = "r"\nengine = "sglang"\ndocker_image = "localhost/serve:1"\nmodel = "/m"\n'
    (tmp_path / "r.toml").write_text(recipe)
    done = call_rcc("build", "r.toml", "-t", "k8s", "--json", cwd=tmp_path)
    found = done.json()["builds"][0]["findings"]
    assert [(one["code"], one["file"], one["line"]) for one in found] == [("RCC1026", None, None)]
