"""How far somebody else can run what was measured: a grade over what a plan leaves open."""

from __future__ import annotations

import shlex
from html import escape

from rcc.plan.model import Plan, Unpinned
from rcc.quick import dataclass
from rcc.recipe.reference import Reference, parse_reference

_FLOATING = ("latest", "nightly", "main", "master", "dev", "edge")

MEANINGS = {
    "A": "everything is pinned: whoever has the lock runs the same bytes",
    "B": "image and models are pinned; files on the nodes are not",
    "C": "the image is pinned; a model or its staged rows are not",
    "D": "the image is not pinned",
    "F": "the image's tag floats: it is another one every few days",
}
_COLORS = {"A": "#2e7d32", "B": "#7c8a1c", "C": "#b07d00", "D": "#c2571a", "F": "#b3261e"}


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is not pinned, what makes it so, and what to do."""

    kind: str
    id: str
    why: str
    help: str


@dataclass(frozen=True, slots=True)
class Grade:
    """A letter, what it means, what is pinned (as lines) and the steps to a better one."""

    letter: str
    pinned: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def meaning(self) -> str:
        """What the letter stands for, in a line."""
        return MEANINGS[self.letter]


def grade(plan: Plan, recipe: str) -> Grade:
    """The grade of a plan; `recipe` is the file's name in the commands that it proposes."""
    worst = max((_letter(plan, one) for one in plan.unpinned), default="A")
    return Grade(worst, _pinned(plan), tuple(step(plan, one, recipe) for one in plan.unpinned))


def _letter(plan: Plan, one: Unpinned) -> str:
    if one.kind != "image":
        return "B" if one.kind == "mount" else "C"
    image = plan.staging_image if one.id == "staging" and plan.staging_image else plan.image
    reference = parse_reference(image.reference)
    tag = reference.tag if isinstance(reference, Reference) else None
    return "F" if tag is None or tag.startswith(_FLOATING) else "D"


def _pinned(plan: Plan) -> tuple[str, ...]:
    images = [one for one in (plan.image, plan.staging_image) if one and one.digest]
    lines = [f"image {one.reference} at {one.digest}" for one in images]
    lines += [f"{model.id} {model.repo} at {model.commit}" for model in plan.models if model.commit]
    blocks = plan.ranks[0].staging
    lines += [f"staged rows {one.id}, layout {one.layout}" for one in blocks if one.layout]
    lines += [f"file {one.file} at sha256 {one.sha256}" for one in plan.files]
    return tuple(lines)


def step(plan: Plan, one: Unpinned, recipe: str) -> Step:
    """What to do about something that is not pinned; `recipe` is the file's name in the command that it proposes."""
    lock = f"run `rcc lock {shlex.quote(recipe)}`"
    folders = {model.id for model in plan.models if model.repo.startswith("/")}
    unnamed = {block.id for block in plan.ranks[0].staging if block.source is None}
    helps = {
        "image": lock,
        "model": "name it as a Hugging Face repository, `org/name`" if one.id in folders else lock,
        "staging": "name a snapshot of the Hugging Face cache as its `src`" if one.id in unnamed else lock,
        "mount": "put the file beside the recipe and mount it from there, or state its `sha256`",
    }
    return Step(one.kind, one.id, one.why, helps[one.kind])


def badge(letter: str) -> str:
    """An SVG that says the grade: no font, script or address of anybody's server is needed to show it."""
    left, right, height = "reproducible", letter, 20
    widths = (84, 24)
    total = sum(widths)
    title = escape(f"{left}: {right}, {MEANINGS[letter]}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" role="img">
<title>{title}</title>
<rect width="{total}" height="{height}" rx="3" fill="#454545"/>
<path d="M{widths[0]} 0h{widths[1] - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{widths[0]}z" fill="{_COLORS[letter]}"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">
<text x="{widths[0] / 2:g}" y="14" textLength="{widths[0] - 12}">{left}</text>
<text x="{widths[0] + widths[1] / 2:g}" y="14" font-weight="bold">{right}</text>
</g>
</svg>
"""
