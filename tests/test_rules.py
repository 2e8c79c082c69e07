"""Every code has a page, and what the page shows is what rcc finds."""

from pathlib import Path

import pytest

from rcc.codes import CODES
from rcc.lint.pages import page, section
from tests.support.cli import call_rcc
from tests.support.pages import PAGES, Example, examples

BAD, GOOD = examples("Example"), examples("Use instead")
SECTIONS = ("What it does", "Why is this bad?", "Example", "Use instead", "Fix safety")
LINTED = [code for code in CODES if len(code) == 6]
# Codes whose example is no file, with the test that shows them.
SHOWN_ELSEWHERE = {
    "RCC001": "test_syntax_document",
    "RCC002": "test_syntax_document",
    "RCC005": "test_syntax_document",
    "RCC006": "test_syntax_document",
    "RCC007": "test_lint",
    "RCC011": "test_lint_bad_input",
    "RCC304": "test_resolve",
    "RCC608": "test_resolve",
    "RCC610": "test_lint_lock",
    "RCC611": "test_lint_lock",
    "RCC612": "test_lock_format",
    "RCC613": "test_lock_format",
    "RCC614": "test_lock_format",
    "RCC615": "test_lock_format",
    "RCC616": "test_lock_format",
    "RCC617": "test_lock_command",
    "RCC618": "test_build",
    "RCC801": "test_lint_lock",
    "RCC802": "test_lint_lock",
    "RCC905": "test_build",
    "RCC906": "test_resolve",
    "RCC918": "test_resolve",
}
assert BAD
assert len(GOOD) >= len(BAD)


def found(example: Example, folder: Path) -> dict[str, str]:
    """The codes that linting an example gives, with their severities."""
    path = example.write(folder)
    cluster = ["-c", "cluster.toml"] if example.has_cluster and path.name != "cluster.toml" else []
    ran = call_rcc("lint", "--format", "json", *cluster, path.name, cwd=folder)
    assert ran.code in (0, 1), ran.text
    return {one["code"]: one["severity"] for one in ran.json()["findings"]}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(CODES) == PAGES


@pytest.mark.parametrize("code", PAGES)
def test_pages_have_all_sections(code: str) -> None:
    text = page(code)

    assert text is not None
    assert text.startswith(f"# {code} {CODES[code].name}\n")
    assert all(section(text, title).strip() for title in SECTIONS)


@pytest.mark.parametrize("example", BAD, ids=lambda one: one.code)
def test_bad_examples_give_the_code(example: Example, tmp_path: Path) -> None:
    assert example.code in found(example, tmp_path)


@pytest.mark.parametrize("example", GOOD, ids=lambda one: one.code)
def test_good_examples_do_not_and_have_no_other_error(example: Example, tmp_path: Path) -> None:
    codes = found(example, tmp_path)

    assert example.code not in codes
    assert "error" not in codes.values()


def test_every_code_of_lint_is_shown_by_an_example() -> None:
    shown = {example.code for example in BAD} & {example.code for example in GOOD}

    assert set(LINTED) - shown == set(SHOWN_ELSEWHERE) - shown
