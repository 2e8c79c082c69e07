"""Templates of a cluster file that is linted on its own."""

from pathlib import Path

import pytest

from tests.support.cli import call_rcc

NODES = '[[nodes]]\nname = "a"\nhost = "10.0.0.1"\nvars = { nvme = "/a" }\n'


def told(folder: Path, text: str, *more: str) -> list[tuple[str, str]]:
    """Code and underlined text of what lint finds."""
    (folder / "cluster.toml").write_text(text)
    found = call_rcc("lint", "--format", "json", *more, "cluster.toml", cwd=folder).json()["findings"]
    lines = text.splitlines()
    return [(one["code"], lines[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1]) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[nccl.t]\nA = "{{ node.hca }} <<node.ifname>> {{ vars.nvme }}/{{ vars.home }} {{ model.path }}"\n', []),
        ('[nccl.t]\nA = "{{ node.gid_index }}"\nB = "{{ staging.rows.dst }} {{ models.draft.path }}"\n', []),
        ('[nccl.t]\nA = "x {{ nod.hca }}"\n', [("RCC302", "{{ nod.hca }}")]),
        ('[nccl.t]\nA = """\\\n  <<vars.hoem>>"""\n', [("RCC302", "<<vars.hoem>>")]),
        ('[nccl.t]\nA = "{{ node.hca | uper }}"\n', [("RCC301", "uper")]),
        ('[nccl.t]\nA = "{{ node.hca"\n', [("RCC301", "{{")]),
        ('[nccl.t]\nA = "i{{ node.gid_index }}"\n', [("RCC303", "{{ node.gid_index }}")]),
        ('[nodes.env]\nA = "{{ node.gid }}"\nB = "$HOME"\n', [("RCC302", "{{ node.gid }}"), ("RCC308", "$HOME")]),
        ('ifname = "{{ vars.nvme }}"\n', [("RCC307", "{{ vars.nvme }}")]),
        ('[nodes.vars2]\nA = "{{ x }}"\n', [("RCC201", "vars2")]),
        ('[hardware.own.env]\nA = "{{ rank }}"\nB = "${X:-y}"\n', [("RCC307", "{{ rank }}"), ("RCC308", "${X:-y}")]),
        ('[k8s]\nnamespace = "{{ id }}"\n', [("RCC205", '"{{ id }}"')]),
    ],
)
def test_a_template_is_checked_where_it_is_filled_and_told_where_it_is_not(
    text: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    assert told(tmp_path, NODES + text + '[vars]\nhome = "/h"\n') == expected


def test_what_the_recipe_finds_in_it_too_is_told_once(tmp_path: Path) -> None:
    recipe = 'engine = "custom"\ndocker_image = "localhost/a:1"\nentrypoint = ["/a"]\nport = 80\n'
    (tmp_path / "x.recipe.toml").write_text(recipe)
    text = NODES + '[nccl.t]\nA = "{{ nod.hca }}"\n'
    found = told(tmp_path, text, "--select", "RCC3xx", "-c", "cluster.toml", "x.recipe.toml")
    assert found == [("RCC302", "{{ nod.hca }}")]
