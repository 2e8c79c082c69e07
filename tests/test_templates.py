"""Templates: what is one, what stands for itself, and what is wrong with a broken one."""

import json
import posixpath
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcc.syntax.template import (
    MAX_BYTES,
    Expression,
    Literal,
    Template,
    TooLongError,
    has_template,
    parse_template,
)
from tests.support.steps import steps_of

NAMES = {
    "hf": "/hf",
    "staging.engram-x.rows": "1:0:9",
    "models.a-1.path": "/m",
    "model.repo": "Org/Name",
    "t": "{{hf}}",
}


def template(text: str) -> Template:
    parsed, errors = parse_template(text)
    assert errors == ()
    assert parsed is not None
    return parsed


def render(text: str) -> str:
    return template(text).render(NAMES.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{hf}}/hub", "/hf/hub"),
        ("{{  hf\t}}", "/hf"),
        ("<<hf>>/hub", "/hf/hub"),
        ("{{ staging.engram-x.rows }},{{models.a-1.path}}", "1:0:9,/m"),
        ("<<staging.engram-x.rows>>", "1:0:9"),
        ("{{ '{{' }}hf}}", "{{hf}}"),
        ('{{ "}}" }}', "}}"),
        ("{{ '<<hf>>' }}", "<<hf>>"),
        ("{{ '' }}", ""),
        ("{{ 'it\\'s \\\\ \\n' }}", "it's \\ \n"),
        ("{{ model.repo|lower }}", "org/name"),
        ("{{ model.repo | upper }}", "ORG/NAME"),
        ("{{ model.repo|basename|lower }}", "name"),
        ("{{ model.repo|replace('/', \"--\") }}", "Org--Name"),
        ("{{ model.repo|replace('', '-') }}", "-O-r-g-/-N-a-m-e-"),
        ("{{ '<é>\"'|json }}", '"<é>\\""'),
        ("{{ model.repo\n | lower }}", "org/name"),
        ("{{t}}", "{{hf}}"),
        ("{{ t|lower }}", "{{hf}}"),
        ('{"path": "{{hf}}", "a": {"b": 1}}', '{"path": "/hf", "a": {"b": 1}}'),
    ],
)
def test_templates_are_filled_once(text: str, expected: str) -> None:
    assert has_template(text)
    assert render(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "a\n",
        '{"a":{"b":1}}',
        "{% if x %}{# no #}",
        "cat <<EOF >>out",
        "1 << 2 >> 3",
        "<<a b>>",
        "<< hf >>",
        "<<1a>>",
        "<<>>",
        "${HOME} $$ %h {x} { { hf } }",
        "}}",
        "line\r\n\n",
    ],
)
def test_all_other_text_stands_for_itself(text: str) -> None:
    assert not has_template(text)
    assert render(text) == text


def test_parts_tell_where_they_stand() -> None:
    parsed = template("a{{ hf }}b<<hf>>{{ 'x' }}")
    assert parsed.parts == (
        Literal("a"),
        Expression("{{ hf }}", 1, 9, "hf"),
        Literal("b"),
        Expression("<<hf>>", 10, 16, "hf"),
        Expression("{{ 'x' }}", 16, 25, None, "x"),
    )
    (filtered,) = template("{{ hf|replace('a','b')|upper }}").expressions
    assert filtered.name == "hf"
    assert [(one.name, one.arguments) for one in filtered.filters] == [("replace", ("a", "b")), ("upper", ())]


@pytest.mark.parametrize(
    ("text", "message", "source", "help_part"),
    [
        ("a{{hf", "`{{` is never closed", "{{", "end it with `}}`"),
        ("{{hf}} {{", "`{{` is never closed", "{{", "{{ '{{' }}"),
        ("{{ }}", "a template is empty", "{{ }}", "{{ '{{' }}"),
        ('{"a":{{"b":1}}}', "the braces of this JSON are doubled", "{{", "write `{` and `}`"),
        ('{{"a": {{"b": [{{}}]}}}}', "the braces of this JSON are doubled", "{{", "write `{` and `}`"),
        ('--a={{"b": 1}}', "the braces of this JSON are doubled", "{{", "write `{` and `}`"),
        ("'{{\"b\": 1}}'", "the braces of this JSON are doubled", "{{", "write `{` and `}`"),
        ('{"a": "{{ hf }}", "b": {{"c": 1}}}', '`"c": 1` is no template expression', ":", "write `{` and `}`"),
        ('{{"a": x}}', '`"a": x` is no template expression', ":", "write `{` and `}`"),
        ('{{ "a" ~ b }}', '`"a" ~ b` is no template expression', "~", "{{ '{{' }}"),
        ("{{{hf}}}", "`{hf` is no template expression", "{", "{{ '{{' }}"),
        ("{{- hf -}}", "`- hf -` is no template expression", "-", "{{ '{{' }}"),
        ("{{ 1 + 1 }}", "`1 + 1` is no template expression", "1", "model.repo|lower"),
        ("{{ hf.x() }}", "`hf.x()` is no template expression", "(", "model.repo|lower"),
        ("{{ hf['x'] }}", "`hf['x']` is no template expression", "[", "model.repo|lower"),
        ("{{ it's }}", "`it's` is no template expression", "'", "model.repo|lower"),
        ("{{ 'a\\x41' }}", "`'a\\x41'` is no template expression", "'", "model.repo|lower"),
        ("{{ hf|lowre }}", "there is no filter `lowre`", "lowre", "did you mean `lower`?"),
        ("{{ hf|attr('x') }}", "there is no filter `attr`", "attr", "`basename`"),
        ("{{ hf|replace('a') }}", "filter `replace` takes two quoted strings", "replace", "replace('a', 'b')"),
        ("{{ hf|lower('a') }}", "filter `lower` takes no arguments", "lower", "`|lower`"),
        ("{{ hf| }}", "`hf|` ends too early", "{{ hf| }}", "{{ '{{' }}"),
        (
            "{{ hf" + "|json" * 17 + " }}",
            "more than 16 filters stand in a row",
            "{{ hf" + "|json" * 17 + " }}",
            "write",
        ),
    ],
)
def test_a_broken_template_says_what_is_wrong_and_where(text: str, message: str, source: str, help_part: str) -> None:
    parsed, errors = parse_template(text)
    assert parsed is None
    error = errors[-1]
    assert (error.message, text[error.start : error.end]) == (message, source)
    assert help_part in error.help


def test_every_error_of_a_string_is_told() -> None:
    _, errors = parse_template("{{ 1 }} {{ hf }} {{ hf|x }} {{")
    assert [error.start for error in errors] == [3, 23, 28]


def test_a_value_has_at_most_64_kib_before_and_after() -> None:
    assert len(render("{{hf}}" + "x" * (MAX_BYTES - 6))) == MAX_BYTES - 3
    parsed, (error,) = parse_template("{{hf}}" + "é" * (MAX_BYTES // 2))
    assert parsed is None
    assert "longer than 65536 bytes" in error.message
    with pytest.raises(TooLongError):
        template("{{hf}}").render(lambda _: "x" * (MAX_BYTES + 1))


@pytest.mark.parametrize(
    "growth", ["|replace('a', 'aaaaaaaaaa')" * 16, "|replace('', '" + "a" * 9_000 + "')" * 1, "|json" * 16]
)
def test_filters_cannot_blow_a_value_up(growth: str) -> None:
    with pytest.raises(TooLongError):
        template("{{ '" + "a" * 50 + '"' * 50 + "'" + growth + " }}").render(NAMES.__getitem__)


def test_names_need_neither_lark_nor_jinja2() -> None:
    program = (
        "import sys; from rcc.syntax.template import parse_template;"
        "template, _ = parse_template(\"{{ a.b-c }}<<x>>{{ '{{' }}\"); assert template.render(str.upper) == 'A.B-CX{{';"
        "print([name for name in ('lark', 'jinja2') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TRICKY = st.lists(st.sampled_from(["{", "}", "<", ">", "hf", "'", '"', "%", "#", "\\", "|", " ", "\n"])).map("".join)


@given(ANY | TRICKY)
def test_a_text_without_openings_is_literal_and_any_text_can_be_escaped(text: str) -> None:
    if not has_template(text):
        assert render(text) == text
    escaped = text.replace("{{", "{{ '{{' }}").replace("<<", "<{{ '<' }}")  # a brace may stand before it
    assert render(escaped) == text


@given(ANY | TRICKY)
def test_any_value_is_put_in_as_it_is(value: str) -> None:
    assert template("a{{ x }}b").render(lambda _: value) == f"a{value}b"
    assert template("{{ x|json }}").render(lambda _: value) == json.dumps(value, ensure_ascii=False)
    assert template("{{ x|basename }}").render(lambda _: value) == posixpath.basename(value)
    assert template("{{ x|replace('{', '|') }}").render(lambda _: value) == value.replace("{", "|")


@given(TRICKY)
def test_any_text_is_a_template_or_has_errors_inside_it(text: str) -> None:
    parsed, errors = parse_template(text)
    assert (parsed is None) == bool(errors)
    assert all(0 <= error.start < error.end <= len(text) for error in errors)


@pytest.mark.parametrize("unit", ["{{ ", "{{'", "{{}}", '}}"{{"', "{{ '\\'", "{{ a|x }}", "<<a", "{{ a }}", '{{ "}}'])
@pytest.mark.parametrize("end", ["", "}}", "'}}"])
def test_work_grows_no_faster_than_the_text(unit: str, end: str) -> None:
    steps_of(parse_template, unit * 100 + end)  # the lexer's regular expressions are made when first asked for
    small, large = (steps_of(parse_template, unit * count + end) for count in (200, 400))
    assert large < 2.2 * small + 500
    assert len(parse_template(unit * 1_000 + end)[1]) <= 20
