"""No template renders a value that has not been through an encoder of its format."""

from pathlib import Path

import pytest
from jinja2 import Environment, nodes
from jinja2.filters import FILTERS

from rcc_targets.common.encode import sh
from rcc_targets.common.render import BareValueError, environment
from tests.support.paths import ROOT

TEMPLATES = sorted((ROOT / "targets/rcc_targets").glob("*/**/*.j2"))
assert len(TEMPLATES) > 5


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_value_is_encoded(path: Path) -> None:
    tree = Environment(autoescape=True).parse(path.read_text())
    rendered = [part for output in tree.find_all(nodes.Output) for part in output.nodes]

    for part in rendered:
        encoded = isinstance(part, nodes.Filter) and part.name not in FILTERS
        assert encoded or isinstance(part, nodes.TemplateData), f"{path.name}:{part.lineno} {part}"


@pytest.mark.parametrize(
    "bare", ["{{ text }}", "{{ text | upper }}", "{{ 'a' ~ text }}", "{{ 7 }}", "{{ text | sh | upper }}"]
)
def test_a_bare_value_is_a_bug_that_cannot_pass(bare: str, tmp_path: Path) -> None:
    (tmp_path / "t.j2").write_text(f"echo {bare}\n")
    template = environment(tmp_path, {"sh": sh})

    with pytest.raises(BareValueError):
        template.get_template("t.j2").render(text="x")


def test_an_unknown_name_is_a_bug_too(tmp_path: Path) -> None:
    from jinja2 import UndefinedError

    (tmp_path / "t.j2").write_text("echo {{ missing | sh }}\n")
    with pytest.raises((UndefinedError, BareValueError)):
        environment(tmp_path, {"sh": sh}).get_template("t.j2").render()


def test_literals_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "t.j2").write_text("{% raw %}{{.Name}}{% endraw %} $x {{ text | sh }}\n")

    assert environment(tmp_path, {"sh": sh}).get_template("t.j2").render(text="it's") == "{{.Name}} $x 'it'\\''s'\n"
