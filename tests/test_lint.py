"""`rcc lint` as a user meets it: which files, which findings, how it ends."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import Ran, call_rcc, run_rcc
from tests.support.pages import completed
from tests.support.paths import CASES

CLEAN = completed("port = 8000\n")
WARNS = completed('docker_image = "registry.example.com/engine:latest"\n')
FAILS = completed('port = "8000"\n')


def lint(cwd: Path, *args: str, stdin: bytes = b"") -> Ran:
    return call_rcc("lint", *args, cwd=cwd, stdin=stdin)


def codes(cwd: Path, *args: str, stdin: bytes = b"") -> list[str]:
    return [one["code"] for one in lint(cwd, "--format", "json", *args, stdin=stdin).json()["findings"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"clean": CLEAN, "warns": WARNS, "fails": FAILS}.items():
        (tmp_path / f"{name}.recipe.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["clean.recipe.toml"], 0),
        (["warns.recipe.toml"], 0),
        (["--strict", "warns.recipe.toml"], 1),
        (["--strict", "clean.recipe.toml"], 0),
        (["fails.recipe.toml"], 1),
        (["fails.recipe.toml", "clean.recipe.toml"], 1),
        (["missing.recipe.toml"], 2),
        (["--no-such-option"], 2),
        (["--select", "RCC000"], 2),
        (["--format", "yaml"], 2),
        (["-c", "missing.toml", "clean.recipe.toml"], 2),
    ],
)
def test_exit_status(folder: Path, args: list[str], code: int) -> None:
    assert lint(folder, *args).code == code


def test_a_file_that_cannot_be_read_is_a_finding(folder: Path) -> None:
    ran = lint(folder, "missing.recipe.toml", "fails.recipe.toml")

    assert "RCC007" in ran.out
    assert "RCC202" in ran.out, "the other file's findings are there too"


def test_folders_are_searched_in_order_and_globs_matched(folder: Path) -> None:
    (folder / "below" / "deeper").mkdir(parents=True)
    (folder / "below" / "recipe.toml").write_text(FAILS)
    (folder / "below" / "deeper" / "x.recipe.toml").write_text(FAILS)
    (folder / "below" / "other.toml").write_text("not = a recipe")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "recipe.toml").write_text(FAILS)

    def files(*args: str) -> list[str]:
        return [one["file"] for one in lint(folder, "--format", "json", *args).json()["findings"]]

    inside = ["below/deeper/x.recipe.toml", "below/recipe.toml"]
    assert sorted({*files("below")}) == inside
    assert sorted({*files()}) == [*inside, "fails.recipe.toml", "warns.recipe.toml"]
    assert set(files("below/**/*.recipe.toml")) == {inside[0]}
    assert set(files("below", "below/recipe.toml", "./below")) == set(inside), "each file once"


def test_the_kind_of_a_file_is_told_by_its_name_then_by_what_is_in_it(tmp_path: Path) -> None:
    cluster = '[[nodes]]\nname = "a"\nhots = "b"\n'
    for name in ("cluster.toml", "lab.cluster.toml", "lab.toml"):
        (tmp_path / name).write_text(cluster)
        assert codes(tmp_path, name) == ["RCC201"]
    (tmp_path / "odd.toml").write_text(completed('id = "odd"\nprot = 1\n'))
    assert codes(tmp_path, "odd.toml") == ["RCC201"]
    (tmp_path / "some.lock").write_text("{}\n")
    assert set(codes(tmp_path, "some.lock")) == {"RCC614"}


def test_what_git_ignores_is_left_out(folder: Path) -> None:
    """Held against git itself."""
    names = ["a.recipe.toml", "b/recipe.toml", "b/c/x.recipe.toml", "b/c/y.recipe.toml", "out/recipe.toml"]
    names += ["deep/out/recipe.toml", "keep/x.recipe.toml", "keep/y.recipe.toml", "sp ace/recipe.toml"]
    names += ["q/a1/recipe.toml", "d#/recipe.toml"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(FAILS)
    rules = "# comment\n/out/\nb/**/x.*\n*.lock\nkeep/*\n!keep/y.recipe.toml\nd\\#/\nsp\\ ace\nq/a[0-9]/\n\nwarns.*  \n"
    (folder / ".gitignore").write_text(rules)
    (folder / "b" / "c" / ".gitignore").write_text("y.recipe.toml\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / ".git" / "info" / "exclude").write_text("a.recipe.toml\n")

    told = {one["file"] for one in lint(folder, "--format", "json").json()["findings"]}
    everything = [str(path.relative_to(folder)) for path in folder.rglob("*recipe.toml")]
    ignored = subprocess.run(
        ["git", "check-ignore", *everything], cwd=folder, capture_output=True, text=True, check=True
    )
    assert len(ignored.stdout.splitlines()) == 9
    assert told == {*everything} - {*ignored.stdout.splitlines()} - {"clean.recipe.toml"}
    assert "a.recipe.toml" in lint(folder, "--format", "concise", "a.recipe.toml").out, "what is named is looked at"


@pytest.mark.parametrize(
    "rules",
    [
        b"\xef\xbb\xbffails.*\r\n",
        b"[[:lower:]]ails.*\n",
        b"?.recipe.toml\nb[!a]\n",
        b"b/***/x.*\nsub//\n",
        b"sub/[]b-z]/\n!recipe.toml\n",
        b"b/[a-]c\n[z-a]*\n*.tom[\n",
    ],
)
def test_ignore_files_are_read_as_git_reads_them(rules: bytes, folder: Path) -> None:
    for name in ("b/recipe.toml", "b/c/x.recipe.toml", "b/-c/recipe.toml", "sub/b/recipe.toml", "\u00e9.recipe.toml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(FAILS)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / ".gitignore").write_bytes(rules)

    command = ["git", "ls-files", "-z", "-o", "--exclude-standard", "*recipe.toml"]
    listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split("\0")
    told = {one["file"] for one in lint(folder, "--format", "json").json()["findings"]}
    assert told == {*listed} - {"", "clean.recipe.toml"}


def test_a_worktree_and_a_glob_leave_out_what_git_ignores(folder: Path) -> None:
    main, tree = folder / "main", folder / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q", main], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=main, check=True)
    subprocess.run([*git, "worktree", "add", "-q", tree], cwd=main, check=True)
    (main / ".git" / "info" / "exclude").write_text("c.recipe.toml\n")
    for name in ("in/a.recipe.toml", "in/b.recipe.toml", "in/c.recipe.toml", "in/out/d.recipe.toml"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(FAILS)
    (tree / ".gitignore").write_text("b.recipe.toml\n")
    (tree / "in" / ".gitignore").write_text("/out/\n")

    def files(name: str) -> set[str]:
        return {one["file"] for one in lint(tree, "--format", "json", name).json()["findings"]}

    assert files("in") == files("in/*.toml") == files("**/*.recipe.toml") == files("[i]n") == {"in/a.recipe.toml"}
    assert files("in/out/*.toml") == {"in/out/d.recipe.toml"}, "a folder that is named is looked into"


def test_standard_input_has_the_name_that_it_is_given(folder: Path) -> None:
    ran = lint(folder, "--format", "concise", "-", stdin=FAILS.encode())
    assert ran.out.startswith("stdin.recipe.toml:5:8: error[RCC202]")

    (folder / "other.toml").write_text(WARNS)
    extending = b'extends = "other.toml"\nport = "1"\n'
    ran = lint(folder, "--format", "concise", "--stdin-filename", "below.recipe.toml", "-", stdin=extending)
    assert "below.recipe.toml:2:8: error[RCC202]" in ran.out
    assert "other.toml:" in ran.out


def test_select_and_ignore_take_codes_names_and_families(folder: Path) -> None:
    both = ("warns.recipe.toml", "fails.recipe.toml")

    assert codes(folder, *both) == ["RCC202", "RCC601"]
    assert codes(folder, "--select", "RCC601", *both) == ["RCC601"]
    assert codes(folder, "--select", "floating-tag,RCC2xx", *both) == ["RCC202", "RCC601"]
    assert codes(folder, "--ignore", "RCC2xx", "--ignore", "RCC601", *both) == []
    assert lint(folder, "--ignore", "RCC202", "fails.recipe.toml").code == 0
    (folder / "bad.recipe.toml").write_text("= 1\n")
    assert codes(folder, "--select", "RCC601", "bad.recipe.toml") == ["RCC003"], "what hides all others is never hidden"


def test_settings_come_from_the_nearest_file_above(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "recipe.toml").write_text(WARNS.replace("engine =", 'id = "x"\nengine ='))
    (folder / "rcc.toml").write_text('ignore = ["RCC202"]\n[per-file-ignores]\n"below/*" = ["floating-tag"]\n')
    assert codes(folder) == ["RCC601"]

    (folder / "below" / "pyproject.toml").write_text('[tool.rcc]\nselect = ["RCC202"]\n')
    assert codes(folder, "below") == []
    (folder / "below" / "pyproject.toml").write_text('[tool.other]\nselect = ["RCC202"]\n')
    assert codes(folder, "below") == [], "another tool's table is none of ours"


@pytest.mark.parametrize(
    ("glob", "silent"),
    [
        ("a/b/*", {"a/b/x.recipe.toml"}),
        ("./a/*", {"a/b/x.recipe.toml"}),
        ("**/x.recipe.toml", {"x.recipe.toml", "a/b/x.recipe.toml", "c/a/b/x.recipe.toml"}),
        ("c/**/*.toml", {"c/y.recipe.toml", "c/a/b/x.recipe.toml"}),
        ("y.*", {"c/y.recipe.toml"}),
        ("b/*", set()),
    ],
)
@pytest.mark.parametrize("start", [".", "a", "a/b", "c"])
def test_a_glob_of_the_settings_starts_at_their_folder(glob: str, silent: set[str], start: str, tmp_path: Path) -> None:
    names = {"x.recipe.toml", "a/b/x.recipe.toml", "c/a/b/x.recipe.toml", "c/y.recipe.toml"}
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(FAILS)
    (tmp_path / "rcc.toml").write_text(f'[per-file-ignores]\n"{glob}" = ["RCC202"]\n')

    for path in ([os.path.relpath(tmp_path / name, tmp_path / start) for name in names], [str(tmp_path)]):
        told = lint(tmp_path / start, "--format", "json", *path).json()["findings"]
        files = {os.path.relpath(tmp_path / start / one["file"], tmp_path) for one in told}
        assert files == names - silent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('select = ["RCC999"]\n', "rcc.toml:1:11: error[RCC010] rcc has no code `RCC999`"),
        ('[per-file-ignores]\n"*" = ["nothing"]\n', "rcc.toml:2:8: error[RCC010] rcc has no code `nothing`"),
        ('ignroe = ["RCC601"]\n', "rcc.toml:1:1: error[RCC201] unknown key `ignroe`"),
        ('ignore = "RCC601"\n', "rcc.toml:1:10: error[RCC202]"),
        ("ignore = [\n", "rcc.toml:"),
    ],
)
def test_wrong_settings_are_told(folder: Path, text: str, expected: str) -> None:
    (folder / "rcc.toml").write_text(text)
    ran = lint(folder, "--format", "concise", "clean.recipe.toml")

    assert ran.code == 1
    assert expected in ran.out


def test_a_comment_silences_its_line_or_the_next(folder: Path) -> None:
    def told(text: str) -> list[str]:
        (folder / "x.recipe.toml").write_text(completed(text))
        return codes(folder, "x.recipe.toml")

    slip = 'NCCL_IB_DISABLE = "true"'
    assert told(f"[env]\n{slip} # rcc: ignore[RCC411] kept as it came\n") == []
    assert told(f"[env]\n# rcc: ignore[RCC411, RCC406] kept as it came\n{slip}\n") == ["RCC008"]
    assert told(f"[env]\n# rcc: ignore[RCC411] too far\n\n{slip}\n") == ["RCC008", "RCC411"]
    assert told(f"[env]\n{slip} # rcc: ignore[RCC411]\n") == ["RCC009"]
    patched = '"--max-total-tokens", "9", "--x", # rcc: ignore[RCC503] a patched engine has it'
    assert told(f"args = [\n{patched}\n]\n") == []
    assert told('name = "# rcc: ignore[RCC411] no comment"\n') == []
    assert told("port = 1 # rcc: ignore[RCC99] what is this\n") == ["RCC010"]
    assert told("port = 1 # rcc: ignore[RCC912] needs a cluster\n") == [], "not looked for, so not unused"


@pytest.mark.parametrize(
    "comment",
    [
        "# rcc: ignore RCC411 kept as it came",
        "# rcc: ignore(RCC411) kept as it came",
        "# rcc: ignore[RCC411 kept as it came",
        "# rcc:ignore",
        "# RCC: ignore[RCC411] kept as it came",
        "# rcc ignore[RCC411] kept as it came",
        "# rcc: disable=RCC411",
        "# noqa: RCC411",
    ],
)
def test_a_comment_that_is_meant_to_silence_and_does_not_is_told(comment: str, folder: Path) -> None:
    (folder / "x.recipe.toml").write_text(completed(f'[env]\n{comment}\nNCCL_IB_DISABLE = "true"\n'))

    assert codes(folder, "x.recipe.toml") == ["RCC008", "RCC411"]


@pytest.mark.parametrize("comment", ["# rcc: see rcc ignore in the manual", "# rcc ignores this", "# rcc makes this"])
def test_a_comment_that_speaks_of_rcc_is_a_comment(comment: str, folder: Path) -> None:
    (folder / "x.recipe.toml").write_text(completed(f"{comment}\nport = 8000\n"))

    assert codes(folder, "x.recipe.toml") == []


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_the_comments_around_a_long_string_count_for_all_of_its_lines(quotes: str, folder: Path) -> None:
    text = f"{quotes}\na {{{{hff}}}}\nb{quotes}"
    comment = "# rcc: ignore[RCC302] another tool fills it"

    def told(text: str) -> list[str]:
        (folder / "x.recipe.toml").write_text(completed(text))
        return codes(folder, "x.recipe.toml")

    assert told(f"[env]\nA = {text}\n") == ["RCC302"]
    assert told(f"[env]\nA = {text} {comment}\n") == []
    assert told(f"[env]\n{comment}\nA = {text}\n") == []
    assert told(f'entrypoint = [\n"echo",\n{text}, {comment}\n]\n') == []
    assert told(f"[env]\n{comment}\n\nA = {text}\n") == ["RCC008", "RCC302"]
    assert told(f"[env]\nA = {text}\n{comment}\n") == ["RCC302", "RCC008"]


def test_a_base_is_silenced_by_its_own_comments(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(completed('[env]\nNCCL_IB_DISABLE = "true" # rcc: ignore[RCC411] known\n'))
    (tmp_path / "x.recipe.toml").write_text('extends = "base.toml"\n')

    assert codes(tmp_path, "x.recipe.toml") == []


def test_secrets_are_found_and_never_shown(tmp_path: Path) -> None:
    secret = "hf_" + "aB3dE6gH9j" * 4
    text = completed(f'args = ["--max-total-tokens", "9"]\n[env]\nHF_TOKEN = "{secret}"\n# old one: {secret[::-1]}\n')
    (tmp_path / "x.recipe.toml").write_text(text.replace(secret[::-1], "ghp_" + "x1Y2z3" * 7))
    for form in ("full", "concise", "json", "github", "sarif"):
        ran = lint(tmp_path, "--format", form, "x.recipe.toml")

        assert ran.out.count("RCC412") >= 2
        assert secret not in ran.text
        assert "x1Y2z3x1Y2z3" not in ran.text


@pytest.mark.parametrize(
    "text",
    [
        'API_TOKEN = "EMPTY"',
        'API_KEY = "none-needed-for-local-use"',
        'TOKENIZER = "some-tokenizer-2026-v1-long-name"',
        'MODEL_KEY = "/rcc/cache/model/key/2026"',
        'SECRET = "{{ vars.secret_name_2026_x }}"',
        'SORT_KEY = "aaaaaaaaaaaaaaaa1111"',
        'HTTP_PROXY = "http://proxy:3128"',
        'HTTP_PROXY = "http://user:password@proxy:3128"',
        'HTTP_PROXY = "http://user:<password>@proxy:3128"',
        'HTTP_PROXY = "http://user:$PASSWORD@proxy:3128"',
        'HTTP_PROXY = "http://user:{{ vars.password }}@proxy:3128"',
        'HTTP_PROXY = "http://user@proxy:3128/a:b@c"',
        'ENDPOINT = "http://10.0.0.11:8000/v1?user=a@b"',
    ],
)
def test_what_only_looks_like_a_secret_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.recipe.toml").write_text(completed(f"[env]\n{text}\n"))

    assert "RCC412" not in codes(tmp_path, "x.recipe.toml")


CUSTOM = 'engine = "custom"\ndocker_image = "a/b@sha256:' + "a" * 64 + '"\nentrypoint = ["sh"]\n'


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ('engine = "custom"\ndocker_image = ""\nentrypoint = ["sh"]\n', "RCC205", '""'),
        (CUSTOM + 'staging_image = ""\n', "RCC205", '""'),
        (CUSTOM + 'args = ["{{ model.path }}"]\n', "RCC302", "{{ model.path }}"),
        (CUSTOM + '[env]\nA = "<<model.commit>>"\n', "RCC302", "<<model.commit>>"),
        (CUSTOM + '[healthcheck]\npath = "/"\n', "RCC204", "[healthcheck]"),
        (completed('required_nodes = 2\ndistributed_backend = "ray"\n'), "RCC205", '"ray"'),
    ],
)
def test_what_no_cluster_is_needed_for_is_told_without_one(
    text: str, code: str, underlined: str, tmp_path: Path
) -> None:
    """A build refuses each of these."""
    (tmp_path / "x.recipe.toml").write_text(text)
    (one,) = lint(tmp_path, "--format", "json", "x.recipe.toml").json()["findings"]

    assert (one["code"], one["severity"]) == (code, "error")
    assert text.splitlines()[one["line"] - 1][one["column"] - 1 : one["end_column"] - 1] == underlined
    nodes = "".join(f'[[nodes]]\nname = "n{n}"\nhost = "10.0.0.1{n}"\n' for n in range(2))
    (tmp_path / "cluster.toml").write_text(f'hf_cache = "/mnt/hf"\n{nodes}')
    built = call_rcc("build", "x.recipe.toml", "-t", "shell", cwd=tmp_path)
    assert code in built.text


def test_a_hash_is_compared_with_the_file_beside_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text("true\n")
    mount = f'[[extra_mounts]]\nhost = "serve.sh"\ncontainer = "/serve.sh"\nsha256 = "{"0" * 64}"\n'
    (tmp_path / "x.recipe.toml").write_text(completed(mount))

    assert codes(tmp_path, "x.recipe.toml") == ["RCC701"]


def test_explain_prints_a_page_or_the_list(tmp_path: Path) -> None:
    assert lint(tmp_path, "--explain", "RCC101").out.startswith("# RCC101 captured-key\n")
    assert lint(tmp_path, "--explain", "rcc101").code == 0
    assert "| RCC1201 |" in lint(tmp_path, "--explain", "all").out.replace("[", "").replace("](RCC1201.md)", "")
    assert lint(tmp_path, "--explain", "RCC999").code == 2


def test_output_has_no_colour_and_is_the_same_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text((CASES / "err-thirty-slips.toml").read_text())
    here = lint(tmp_path, "x.toml")
    there = run_rcc("lint", "x.toml", cwd=tmp_path, env={"LC_ALL": "C", "COLUMNS": "20", "PYTHONHASHSEED": "3"})

    assert (here.code, here.out) == (there.code, there.out)
    assert "\x1b" not in here.out
    assert here.out.count("\n\n") >= 30


def test_json_has_every_field_always(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text((CASES / "err-thirty-slips.toml").read_text())
    told = lint(tmp_path, "--format", "json", "x.toml").json()
    fields = {"code", "name", "severity", "message", "file", "line", "column", "end_line", "end_column", "labels"}
    fields |= {"help", "fixable"}

    assert told["version"] == 1
    assert all(set(one) == fields for one in told["findings"])
    clean = os.fspath(CASES / "ok-cluster.toml")
    assert lint(tmp_path, "--format", "json", clean).json() == {"version": 1, "findings": []}
    places = [(one["file"], one["line"], one["column"]) for one in told["findings"]]
    assert places == sorted(places)


def test_findings_do_not_depend_on_what_was_linted_before(folder: Path) -> None:
    many = completed("[env]\n" + "".join(f'NCCL_UNKNOWN_{n} = "1"\n' for n in range(60)) + 'NCCL_DEBG = "INFO"\n')
    (folder / "many.recipe.toml").write_text(many)
    alone = lint(folder, "--format", "json", "many.recipe.toml").out
    after = json.loads(lint(folder, "--format", "json", "fails.recipe.toml", "many.recipe.toml").out)

    assert [one for one in after["findings"] if one["file"] == "many.recipe.toml"] == json.loads(alone)["findings"]


def test_of_an_open_mount_lint_says_whether_a_file_of_that_name_lies_beside_the_recipe(tmp_path: Path) -> None:
    mounts = "".join(f'[[extra_mounts]]\nhost = "/srv/{name}"\ncontainer = "/{name}"\n' for name in ("a.sh", "b.sh"))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/x.recipe.toml").write_text(completed(f"port = 8000\n{mounts}"))
    (tmp_path / "sub/a.sh").write_text("")
    (tmp_path / "b.sh").write_text("")
    found = lint(tmp_path, "--format", "json", "--select", "RCC605", "sub/x.recipe.toml").json()["findings"]

    assert ['mount the `a.sh` that lies beside the recipe: `host = "a.sh"`' in one["help"] for one in found] == [
        True,
        False,
    ]


def test_of_an_unknown_key_a_few_of_the_known_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text(completed("zzzzzz = 1\n"))
    (found,) = lint(tmp_path, "--format", "json", "--select", "RCC201", "x.recipe.toml").json()["findings"]

    assert found["help"].startswith("known keys here: `args`, ")
    assert re.search(r" and [0-9]+ more$", found["help"])
    assert len(found["help"]) < 300


def test_what_a_cluster_file_names_is_told_once_and_with_its_fix(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(completed(""))
    (tmp_path / "cluster.toml").write_text(
        'name = "c"\nhardware = "cudaa"\ntopology = "2node"\nhf_cache = "/srv/hf"\n'
        '[nccl.2nodes]\n[nccl.4nodes]\n[[nodes]]\nname = "a"\nhost = "10.0.0.1"\n'
    )
    both = ["recipe.toml", "cluster.toml"]

    for files in (both, both[::-1]):
        found = lint(tmp_path, "--format", "json", "-c", "cluster.toml", *files).json()["findings"]
        told = [(one["code"], one["fixable"]) for one in found if one["file"] == "cluster.toml"]
        assert told == [("RCC907", True), ("RCC904", True)]


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        *(("latest-arm64", "RCC601"), ("v1-nightly-cu130-x86_64", "RCC601"), ("dev-cuda12.9", "RCC601")),
        *(("main", "RCC601"), ("nightly-20260901", "RCC602"), ("dev-dsv41", "RCC602"), ("1.6-arm64", "RCC602")),
    ],
)
def test_a_tag_moves_whatever_machines_it_is_for(tag: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text(completed(f'docker_image = "registry.example.com/engine:{tag}"\n'))
    assert codes(tmp_path, "x.recipe.toml") == [code]
