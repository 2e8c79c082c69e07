"""No output of any command shows what looks like a secret, whatever the finding is about."""

from pathlib import Path

import pytest

from tests.support.cli import call_rcc
from tests.support.pages import completed

HF = "hf_aB3dE6gH9jaB3dE6gH9jaB3dE6gH9jaB3dE6"
API = "sk-proj-abc123def456ghi789jkl0"
BY_NAME = "q7Zr5tXw2LbM7vKd0sHy"
PASSWORD = "Tr0ub4dor&3-horse"
FORMS = ("full", "concise", "json", "github", "sarif")
KEY_BODY = "MIIEpAIBAAKCAQEA7bq"
FILES = [
    (f'secrets = ["{API}"]', "RCC205", API),
    (f'user = "{HF}"', "RCC205", HF),
    (f'shm_size = "{HF}"', "RCC205", HF),
    (f'args = ["--max-total-tokens", "1", "{HF}"]', "RCC515", HF),
    (f'args = ["--{HF}"]', "RCC503", HF),
    (f'args = ["--max-total-tokens", "{HF}"]', "RCC506", HF),
    (f'args = ["--log-requests-level", "{HF}"]', "RCC507", HF),
    (f'args = ["--log-requests-level", "{"x" * 30} {HF}"]', "RCC507", HF),
    (f'args = ["{{{{{HF}}}}}"]', "RCC302", HF),
    (f'[env]\nNCCL_DEBUG = "{HF}"', "RCC418", HF),
    (f'[env]\nNCCL_DEBUG = "http://me:{PASSWORD}@proxy:3128"', "RCC418", PASSWORD),
    (f'[env]\nAPI_TOKEN = "{BY_NAME}"\nNCCL_DEBUG = "{BY_NAME}"', "RCC418", BY_NAME),
    (f'port = "x" # API_TOKEN = "{BY_NAME}"', "RCC202", BY_NAME),
    (f"[env]\nAPI_TOKEN = {BY_NAME}", "RCC003", BY_NAME),
    (f'[env]\nA = "-----BEGIN PRIVATE KEY-----\\n{KEY_BODY}"\nA.b = 1', "RCC004", KEY_BODY),
    (f'user = "-----BEGIN PRIVATE KEY-----\\n{KEY_BODY}"', "RCC205", KEY_BODY),
    (f'[[extra_mounts]]\nhost = "/a"\ncontainer = "/b"\nport = 1 # {HF}', "RCC101", HF),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("text", "code", "secret"), FILES, ids=lambda one: str(one)[:24])
def test_lint(tmp_path: Path, text: str, code: str, secret: str, form: str) -> None:
    (tmp_path / "x.recipe.toml").write_text(completed(text + "\n"))
    for options in ([], ["--ignore", "RCC412"]):
        ran = call_rcc("lint", "--format", form, *options, "x.recipe.toml", cwd=tmp_path)

        assert code in ran.out
        assert secret[:12] not in ran.text


@pytest.mark.parametrize("command", [["build"], ["plan"], ["plan", "--json"], ["explain"], ["lock", "--check"]])
@pytest.mark.parametrize(("text", "secret"), [(FILES[0][0], API), (FILES[1][0], HF), (FILES[12][0], BY_NAME)])
def test_other_commands(tmp_path: Path, command: list[str], text: str, secret: str) -> None:
    (tmp_path / "x.recipe.toml").write_text(completed(text + "\n"))
    ran = call_rcc(command[0], "x.recipe.toml", *command[1:], cwd=tmp_path)

    assert ran.code != 0
    assert "RCC" in ran.text
    assert secret[:12] not in ran.text


def test_what_is_masked_keeps_its_place_and_what_is_no_secret_is_shown(tmp_path: Path) -> None:
    (tmp_path / "x.recipe.toml").write_text(completed(f'user = "{HF}"\nshm_size = "hf_short"\n'))
    ran = call_rcc("lint", "x.recipe.toml", cwd=tmp_path)

    assert f'user = "{"*" * len(HF)}"' in ran.out
    assert f"not `{'*' * len(HF)}`" in ran.out
    assert "`hf_short`" in ran.out


def test_a_fix_that_would_write_a_secret_is_made_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.recipe.toml"
    path.write_text(completed(FILES[-1][0] + "\n"))
    assert '"fixes"' not in call_rcc("lint", "--format", "sarif", "--select", "RCC101", path, cwd=tmp_path).out
    call_rcc("lint", "--fix", path, cwd=tmp_path)

    assert f"port = 1 # {HF}\n[[extra" in path.read_text().replace("\n\n", "\n")
