"""One block of a plan on its way to being staged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rcc_node.console import Console
from rcc_node.goal import Goal
from rcc_node.install import Seal
from rcc_node.ledger import Ledger
from rcc_node.place import Place
from rcc_node.plan import SPARSE_ROWS, Block
from rcc_node.progress import Progress
from rcc_node.quick import as_dict, dataclass
from rcc_node.stamp import manifest, stamp
from rcc_node.terms import rows_text
from rcc_node.units import size

if TYPE_CHECKING:
    from rcc_node.source import Source


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    full: bool = False
    repair: bool = False
    adopt: bool = False
    wait: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """A block that is staged. `state` is packed, adopted, repaired or verified; `checked` counts chunks of `chunks`."""

    id: str
    dst: str
    state: str
    layout: str
    locked: bool
    world: int
    rank: int
    rows: str
    staged: int
    packed: int
    checked: int
    chunks: int

    def document(self) -> dict[str, Any]:
        return as_dict(self)

    def sentence(self) -> str:
        """The result as a line for people."""
        done = {
            "packed": f"{size(self.packed)} packed",
            "adopted": "adopted, equal to the source",
            "repaired": f"{size(self.packed)} packed again",
            "verified": f"{self.checked} of {self.chunks} chunks checked",
        }[self.state]
        own = "" if self.locked else "; there is no lock, so this layout is the node's own"
        where = f"`{self.dst}` holds {size(self.staged)} for rank {self.rank} of {self.world}"
        return f"{self.id}: {done}; {where} ({self.layout[:19]}){own}"


@dataclass(frozen=True, slots=True)
class Job:
    """A block, the rank that it is for, and where it goes."""

    block: Block
    world: int
    rank: int
    options: Options
    console: Console
    place: Place

    @property
    def asked(self) -> dict[str, Any]:
        """What decides what is staged; a ledger that was asked the same is for this block."""
        block = self.block
        asked: dict[str, Any] = {"kind": block.kind, "source": block.source or block.src}
        if block.kind == SPARSE_ROWS:
            asked.update(format=block.format, tensors=block.tensors, tiling=block.tiling, manifest=block.manifest)
            return asked | {"world": self.world, "rank": self.rank}
        return asked | {"include": list(block.include), "exclude": list(block.exclude)}  # all ranks stage the same

    def is_for(self, goal: Goal) -> bool:
        """Whether a goal is this block's, as far as the plan knows."""
        block = self.block
        return goal.asked == self.asked and block.layout in (None, goal.layout) and block.rows in (None, goal.rows)

    def goal(self, source: Source) -> Goal:
        """The goal, from the source."""
        # A check of what is there needs none of this, and should not wait for it to be loaded.
        if self.block.kind == SPARSE_ROWS:
            from rcc_node import sparse

            return sparse.goal(self.block, self.asked, source)
        from rcc_node import snapshot

        return snapshot.goal(self.block, self.asked, source)

    def source(self) -> Source:
        from rcc_node.limit import Limiter
        from rcc_node.source import Source

        return Source(self.block.src, Limiter(self.block.rate_limit))

    def seal(self, goal: Goal) -> Seal:
        return Seal(stamp(goal, self.world, self.rank), manifest(goal))

    def note(self, text: str) -> None:
        self.console.note(f"{self.block.id}: {text}")

    def progress(self, verb: str, total: int) -> Progress:
        return self.console.progress(f"{self.block.id}: {verb}", total)

    def result(self, state: str, ledger: Ledger, packed: int = 0, checked: int = 0) -> Result:
        goal = ledger.goal
        return Result(
            id=self.block.id,
            dst=self.block.dst,
            state=state,
            layout=goal.layout,
            locked=self.block.layout is not None,
            world=self.world,
            rank=self.rank,
            rows=rows_text(goal.rows or {}),
            staged=goal.staged,
            packed=packed,
            checked=checked,
            chunks=len(ledger.chunks),
        )


def length_of(ledger: Ledger, indices: Iterable[int]) -> int:
    """Bytes of some chunks."""
    return sum(ledger.chunks[index].length for index in indices)
