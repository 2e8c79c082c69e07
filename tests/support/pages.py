"""The examples of the codes' pages, made into files that rcc can lint."""

import re
from dataclasses import dataclass
from pathlib import Path

from rcc.codes import CODES
from rcc.lint.pages import FOLDER, Block, blocks, page, section

# What every recipe needs and an example need not repeat; nothing here gives a finding.
NEEDED = {
    "engine": '"sglang"',
    "docker_image": f'"registry.example.com/engine:1@sha256:{"0" * 64}"',
    "model": '"example/model"',
    "revision": f'"{"0" * 40}"',
}


@dataclass(frozen=True)
class Example:
    """One example of a code's page: the blocks that stand for files."""

    code: str
    heading: str
    blocks: tuple[Block, ...]

    @property
    def has_cluster(self) -> bool:
        return any(block.name == "cluster.toml" for block in self.blocks)

    def write(self, folder: Path) -> Path:
        """Writes the files; the one to lint is the recipe, else the cluster file."""
        for block in self.blocks:
            assert block.name
            text = block.text if block.name == "cluster.toml" else completed(block.text)
            (folder / written(block.name)).write_text(text)
        recipes = [block.name for block in self.blocks if block.name and block.name != "cluster.toml"]
        return folder / (written(recipes[0]) if recipes else "cluster.toml")


def written(name: str) -> str:
    """`recipe.toml` gets a name that gives an id."""
    return "example.recipe.toml" if name == "recipe.toml" else name


def completed(text: str) -> str:
    """A recipe with what it needs above it, so far as it does not say it itself."""
    given = set(re.findall(r"^(\w+) *=", text, re.M)) | ({"revision"} if re.search(r"^model *=", text, re.M) else set())
    if "extends" in given:
        return text
    return "".join(f"{key} = {value}\n" for key, value in NEEDED.items() if key not in given) + text


def examples(heading: str) -> list[Example]:
    """The examples below a heading that can be linted, by code."""
    found = []
    for code in CODES:
        named = tuple(one for one in blocks(section(page(code) or "", heading)) if one.language == "toml" and one.name)
        if named:
            found.append(Example(code, heading, named))
    return found


PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
