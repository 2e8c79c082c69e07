"""Findings as people and programs see them."""

import json

import pytest

from rcc.cli.render import render
from rcc.diagnostic import Edit, Finding, Fix, Label, finding
from rcc.source import Place, Source, Span, whole

RECIPE = Source("recipe.toml", 'engine = "sglang"\n[env]\nA = "1"\nB = "2"\nport = 30000\n')
CLUSTER = Source("cluster.toml", "[nccl.x]\nA = 2\n")


def at(source: Source, text: str) -> Place:
    start = source.text.index(text)
    return Place(source, Span(start, start + len(text)))


def full(*findings: Finding) -> list[str]:
    return render(findings).splitlines()


def test_a_finding_shows_its_line_its_labels_by_line_and_by_file_its_notes_and_its_help() -> None:
    one = finding(
        "RCC101",
        "`port` is read as `env.port`",
        at(RECIPE, "port"),
        label="`port` is a top-level key",
        labels=[Label(at(CLUSTER, "A"), "and this"), Label(at(RECIPE, "[env]"), "this table has it")],
        notes=["first", "second\nin two lines"],
        help="move it up",
        fix=Fix((Edit(Span(0, 0), ""),)),
    )
    assert full(one) == [
        "error[RCC101]: `port` is read as `env.port`",
        " --> recipe.toml:5:1",
        "  |",
        "2 | [env]",
        "  | ----- this table has it",
        "...",
        "5 | port = 30000",
        "  | ^^^^ `port` is a top-level key",
        " ::: cluster.toml:2:1",
        "  |",
        "2 | A = 2",
        "  | - and this",
        "  |",
        "  = note: first",
        "  = note: second",
        "          in two lines",
        "  = help: move it up",
        "",
        "1 error (1 fixable with `rcc lint --fix`)",
    ]


def test_the_gutter_is_as_wide_as_the_largest_number() -> None:
    source = Source("a.toml", "x = 1\n" * 120)
    places = [Place(source, Span(6 * line, 6 * line + 1)) for line in (8, 109)]
    lines = full(finding("RCC004", "twice", places[1], labels=[Label(places[0], "first")]))

    assert lines[1:] == [
        "   --> a.toml:110:1",
        "    |",
        "  9 | x = 1",
        "    | - first",
        "...",
        "110 | x = 1",
        "    | ^",
        "",
        "1 error",
    ]


@pytest.mark.parametrize(
    ("line", "pointed_at", "columns"),
    [
        ("\tkey = 1", "key", (4, 3)),
        ('n = "日本"', "日本", (5, 4)),
        ("日本 = 1", "1", (7, 1)),
        ('e = "e\u0301" # x', "x", (10, 1)),
        ('z = "\u200b" # x', "x", (9, 1)),
        ("a\t\tb", "b", (9, 1)),
    ],
)
def test_the_caret_stands_below_what_it_means(line: str, pointed_at: str, columns: tuple[int, int]) -> None:
    source = Source("a.toml", line)
    underline = full(finding("RCC003", "here", at(source, pointed_at)))[4].removeprefix("  | ")

    assert (underline.index("^"), underline.count("^")) == columns


def test_a_span_over_lines_is_underlined_to_the_end_of_its_first() -> None:
    source = Source("a.toml", "args = [\n  1,\n]\n")

    assert full(finding("RCC202", "here", Place(source, Span(7, 15))))[4] == "  |        ^"


def test_an_empty_span_and_one_at_the_end_still_show_a_caret() -> None:
    source = Source("a.toml", "a = 1\nb =")

    assert full(finding("RCC003", "here", Place(source, Span(0, 0))))[4] == "  | ^"
    assert full(finding("RCC003", "here", Place(source, Span(9, 10))))[4] == "  |    ^"


def test_of_a_very_long_line_the_part_around_the_place_is_shown() -> None:
    source = Source("a.toml", "x" * 5000 + "HERE" + "y" * 5000)
    lines = full(finding("RCC003", "here", at(source, "HERE")))

    assert len(lines[3]) < 200
    start = lines[4].index("^")
    assert lines[3][start : start + 4] == "HERE"


def test_a_file_as_a_whole_has_a_name_and_no_line() -> None:
    assert full(finding("RCC007", "gone", whole("x.toml"))) == ["error[RCC007]: gone", " --> x.toml", "", "1 error"]


def test_nothing_that_a_terminal_obeys_is_left() -> None:
    evil = "a\x00\x07\x1b[2J\x7f\x85\x9b31m\u202e\u2066\u200f\ufeffb"
    source = Source(f"{evil}.toml", f"k = {evil}\n")
    one = finding("RCC003", evil, Place(source, Span(0, 1)), label=evil, notes=[evil], help=evil)
    for form in ("full", "concise"):
        shown = render([one], form)
        assert not [
            c for c in shown if c != "\n" and (ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066\u200f")
        ]
        assert "␛[2J" in shown


def test_concise_is_a_line_a_finding_in_the_order_of_files_and_places() -> None:
    later, sooner = finding("RCC202", "late", at(RECIPE, "B")), finding("RCC601", "soon", at(RECIPE, "A"))
    lines = render([later, finding("RCC007", "no place"), sooner, later], "concise").splitlines()

    assert lines == [
        "error[RCC007] no place",
        "recipe.toml:3:1: warning[RCC601] soon",
        "recipe.toml:4:1: error[RCC202] late",
        "2 errors, 1 warning",
    ]


FIELDS = {
    "code", "name", "severity", "message", "file", "line", "column", "end_line", "end_column", "labels", "help",
    "fixable",
}  # fmt: skip


def test_json_has_every_field_always_and_counts_code_points_from_one() -> None:
    source = Source("a.toml", '# 日\nk = "日本" # é\n')
    placed = finding("RCC202", "m", at(source, '"日本"'), labels=[Label(at(RECIPE, "[env]"), "l")], help="h")
    bare = finding("RCC601", "n")
    told = json.loads(render([placed, bare], "json"))

    assert told["version"] == 1
    assert [set(one) for one in told["findings"]] == [FIELDS, FIELDS]
    assert told["findings"][0]["file"] is None
    one = told["findings"][1]
    assert (one["name"], one["severity"], one["fixable"]) == ("wrong-type", "error", False)
    assert [one[name] for name in ("line", "column", "end_line", "end_column")] == [2, 5, 2, 9]
    assert one["labels"] == [
        {"text": "l", "file": "recipe.toml", "line": 2, "column": 1, "end_line": 2, "end_column": 6}
    ]


def test_nothing_to_say_is_nothing() -> None:
    assert render([]) == ""
    assert render([], "concise") == ""
    assert json.loads(render([], "json")) == {"version": 1, "findings": []}
