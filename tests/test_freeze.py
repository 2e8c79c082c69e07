"""Reports: frozen with all that they were built from, listed, and built again elsewhere."""

import json
import shutil
import tomllib
from pathlib import Path

import jsonschema
import pytest

from rcc_schema import load
from tests.support.cli import Ran, call_rcc, run_rcc
from tests.support.paths import RECIPES

AT = ("--at", "2026-01-31T13:00:00+01:00")
STEM = "2026-01-31_120000_first"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with a locked recipe for four nodes and a benchmark's figures."""
    shutil.copytree(RECIPES / "tables-by-lock", tmp_path / "tables")
    (tmp_path / "bench.json").write_text('{"decode_tok_s": 107.5, "model": "tables", "runs": [1, 2]}')
    return tmp_path


def freeze(folder: Path, recipe: str = "tables", *arguments: str) -> Ran:
    return call_rcc("freeze", recipe, "--label", "first", *AT, "-t", "shell", *arguments, cwd=folder)


def frozen(folder: Path, recipe: str = "tables", *arguments: str) -> Path:
    ran = freeze(folder, recipe, *arguments)
    assert ran.code == 0, ran.text
    return folder / "reports" / STEM


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_report_holds_everything_under_names_with_time_and_label(lab: Path) -> None:
    report = frozen(lab, "tables", "--bench", "bench.json", "--nodes", "spark4,spark3,spark2,spark1")

    names = {f"{STEM}.recipe.toml", f"{STEM}.recipe.lock", "cluster.toml", "manifest.json", "report.json"}
    assert listing(report) == names
    for name, origin in ((f"{STEM}.recipe.toml", "recipe.toml"), (f"{STEM}.recipe.lock", "recipe.lock")):
        assert (report / name).read_bytes() == (lab / "tables" / origin).read_bytes()
    told = json.loads((report / "report.json").read_text())
    assert (told["id"], told["time"], told["label"]) == ("tables-by-lock", "2026-01-31T12:00:00Z", "first")
    assert told["bench"] == {"decode_tok_s": 107.5, "model": "tables", "runs": [1, 2]}
    assert told["options"]["nodes"] == ["spark4", "spark3", "spark2", "spark1"]
    manifest = json.loads((report / "manifest.json").read_text())
    jsonschema.validate(manifest, load("manifest"))
    assert manifest["build"] == told["build"]


def test_a_report_is_reproduced_from_its_folder_alone(lab: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    report = frozen(lab, "tables", "--nodes", "spark4,spark3,spark2,spark1", "--hf-cache", "/mnt/other", "--id", "mine")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "r"
    shutil.move(report, elsewhere)
    shutil.rmtree(lab)
    ran = run_rcc("reproduce", str(elsewhere), cwd=elsewhere.parent)

    assert ran.code == 0, ran.text
    assert ran.out == f"{elsewhere}: the same artifacts\n"


def test_what_was_changed_in_a_report_is_told(lab: Path) -> None:
    report = frozen(lab)
    cluster = report / "cluster.toml"
    cluster.write_text(cluster.read_text().replace("10.0.0.13", "10.0.0.33"))
    ran = call_rcc("reproduce", report, cwd=lab)

    assert ran.code == 1
    assert "RCC1113" in ran.err
    assert "`shell/cluster.sh`" in ran.err
    assert call_rcc("reproduce", report, "--json", cwd=lab).json()["reproduced"] is False


def test_another_rcc_compares_plans_and_says_so(lab: Path) -> None:
    report = frozen(lab)
    record = json.loads((report / "report.json").read_text())
    (report / "report.json").write_text(json.dumps({**record, "rcc": "0.0.9", "build": "sha256:" + "0" * 64}))
    ran = call_rcc("reproduce", report, cwd=lab)

    assert ran.code == 0, ran.text
    assert "the report is from rcc 0.0.9" in ran.err
    assert ran.out == f"{report}: the same plan\n"
    other = {**record, "rcc": "0.0.9", "build": "sha256:" + "0" * 64, "plan": "sha256:" + "0" * 64}
    (report / "report.json").write_text(json.dumps(other))
    assert "the plan comes out differently" in call_rcc("reproduce", report, cwd=lab).err


def test_bases_from_elsewhere_and_what_they_carry_come_along(lab: Path) -> None:
    for path in ("common/deep", "mine"):
        (lab / path).mkdir(parents=True)
    shutil.copy(RECIPES / "hello/recipe.toml", lab / "common/deep/base.toml")
    shutil.copy(RECIPES / "hello/serve.sh", lab / "common/deep/serve.sh")
    (lab / "common/middle.toml").write_text('extends = ["deep/base.toml"]  # the lowest\n[env]\nMIDDLE = "1"\n')
    (lab / "mine/own.toml").write_text('[env]\nOWN = "é"\n')
    text = 'extends = [\n  "../common/middle.toml", # first\n  "own.toml",\n]\nid = "mine"\n'
    (lab / "mine/recipe.toml").write_text(text)
    report = frozen(lab, "mine")

    assert listing(report) == {
        f"{STEM}.recipe.toml", "own.toml", "bases/1/base.toml", "bases/1/serve.sh", "bases/2/middle.toml",
        "manifest.json", "report.json",
    }  # fmt: skip
    recipe = (report / f"{STEM}.recipe.toml").read_text()
    assert recipe == text.replace("../common/middle.toml", "bases/2/middle.toml")
    assert tomllib.loads((report / "bases/2/middle.toml").read_text())["extends"] == ["../1/base.toml"]
    assert "# the lowest" in (report / "bases/2/middle.toml").read_text()
    assert (report / "bases/1/serve.sh").stat().st_mode & 0o100
    shutil.rmtree(lab / "common")
    shutil.rmtree(lab / "mine")
    assert call_rcc("reproduce", report, cwd=lab).code == 0


def test_a_base_of_any_name_comes_along(lab: Path) -> None:
    name = 'we"ird\\x\n\x7fé.toml'
    (lab / name).write_text('engine = "custom"\ndocker_image = "localhost/x:1"\nentrypoint = ["/x"]\n')
    (lab / "mine").mkdir()
    stated = json.dumps(f"../{name}").replace("\x7f", "\\u007f")
    (lab / "mine/recipe.toml").write_text(f'id = "mine"\nextends = {stated}\n')
    report = frozen(lab, "mine")

    assert call_rcc("reproduce", report, cwd=lab).code == 0


def test_the_time_of_a_report_is_now_unless_it_is_stated(lab: Path) -> None:
    ran = call_rcc("freeze", "tables", "--label", "second", "-t", "shell", cwd=lab)

    assert ran.code == 0, ran.text
    assert len(list((lab / "reports").glob("20??-??-??_??????_second/20??-??-??_??????_second.recipe.toml"))) == 1


@pytest.mark.parametrize(
    ("at", "stem"), [("0001-01-01T00:00:00Z", "0001-01-01_000000"), ("9999-12-31T23:59:59-23:59", None)]
)
def test_a_time_at_the_edge_of_the_calendar_is_a_time_or_none(lab: Path, at: str, stem: str | None) -> None:
    ran = call_rcc("freeze", "tables", "--label", "edge", "--at", at, "-t", "shell", cwd=lab)

    assert ran.code == (2 if stem is None else 0), ran.text
    assert [path.name for path in lab.glob("reports/*")] == ([] if stem is None else [f"{stem}_edge"])


def test_a_report_is_never_overwritten_and_a_failing_one_leaves_nothing(lab: Path) -> None:
    frozen(lab)
    before = listing(lab)
    assert freeze(lab).code == 1
    recipe = lab / "tables/recipe.toml"
    recipe.write_text(recipe.read_text().replace("sglang-rows:1", "sglang-rows:2"))
    ran = freeze(lab)

    assert ran.code == 1
    assert "RCC610" in ran.err
    assert listing(lab) - before <= {one for one in listing(lab) if ".cache" in one}


@pytest.mark.parametrize("text", ["{", "[1]", "NaN", '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_figures_that_are_no_json_object_are_refused(lab: Path, text: str) -> None:
    (lab / "bench.json").write_text(text)

    assert freeze(lab, "tables", "--bench", "bench.json").code == 2


def test_a_file_of_the_recipe_that_takes_a_report_s_name_is_refused(lab: Path) -> None:
    recipe = lab / "tables/recipe.toml"
    mount = '[[extra_mounts]]\nhost = "report.json"\ncontainer = "/r"\n\n[[staging]]'
    recipe.write_text(recipe.read_text().replace("[[staging]]", mount, 1))
    (lab / "tables/report.json").write_text("{}")
    ran = freeze(lab, "tables", "--frozen")

    assert ran.code == 1, ran.text
    assert "`report.json`" in ran.err


def test_reports_are_listed_oldest_first_with_their_figures(lab: Path) -> None:
    frozen(lab, "tables", "--bench", "bench.json")
    at = ("--at", "2026-01-30_080000")
    assert call_rcc("freeze", "tables", "--label", "zero", *at, "-t", "shell", cwd=lab).code == 0
    lines = call_rcc("reports", cwd=lab).out.splitlines()

    assert [line.split()[0] for line in lines] == ["reports/2026-01-30_080000_zero", f"reports/{STEM}"]
    assert "decode_tok_s=107.5" in lines[1]
    assert len(call_rcc("reports", "--json", cwd=lab).json()["reports"]) == 2


def test_a_report_that_cannot_be_read_does_not_hide_the_others(lab: Path) -> None:
    frozen(lab)
    (lab / "reports/bad").mkdir()
    (lab / "reports/bad/report.json").write_text("<<<<<<< HEAD\n")
    ran = call_rcc("reports", cwd=lab)

    assert ran.code == 1
    assert "RCC1116" in ran.err
    assert STEM in ran.out


def test_no_reports_at_all_is_2(tmp_path: Path) -> None:
    assert call_rcc("reports", cwd=tmp_path).code == 2
    assert call_rcc("reproduce", "nothing", cwd=tmp_path).code == 2
