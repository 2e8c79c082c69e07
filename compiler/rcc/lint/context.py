"""What the rules look at."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from rcc.lint.variables import Variables
from rcc.nearest import meant_name, nearest_name
from rcc.recipe.model import RecipeFile
from rcc.source import Path, Place, Source

if TYPE_CHECKING:
    from rcc.cluster.model import ClusterFile
    from rcc.engines.flags import Occurrence
    from rcc.lock.model import Lock


_SEARCHES = 50
"""How many misspelt names are compared with all known ones: a recipe has room for ten thousand."""


class Context:
    """A recipe and, where they are known, the cluster and topology that it is for and the lock beside it.

    `is_file` says whether there is a file of that path, from the working folder.
    """

    def __init__(
        self,
        file: RecipeFile,
        lock: Lock | None = None,
        cluster: ClusterFile | None = None,
        topology: str | None = None,
        is_file: Callable[[str], bool] = lambda path: False,
    ) -> None:
        self.file = file
        self.recipe = file.recipe
        self.lock = lock
        self.cluster = cluster
        self.topology = topology
        self.is_file = is_file
        self._searches = _SEARCHES

    @cached_property
    def profile(self) -> Variables:
        """The cluster's profile; empty where none is known."""
        if self.cluster is None or self.cluster.document is None or self.topology is None:
            return Variables()
        document = self.cluster.document
        return Variables(self.cluster.cluster.nccl.get(self.topology, {}), lambda _: document)

    @cached_property
    def variables(self) -> Variables:
        """The recipe's environment over the profile: what each rank gets, the node's own apart."""
        return self.profile.under(Variables(self.recipe.env, self.file.layers.origin))

    @cached_property
    def flags(self) -> tuple[Occurrence, ...]:
        """The arguments as the engine reads them; none where rcc has no table of its flags."""
        from rcc.engines.flags import flag_table

        table = flag_table(self.recipe.engine)
        return table.parse([one.text for one in self.recipe.args]) if table else ()

    @cached_property
    def owned_flags(self) -> frozenset[int]:
        """The arguments that set what the compiler sets: that finding is the resolver's, and the only one."""
        owned = self.owned
        found = (one.index for one in self.flags if one.flag and not owned.keys().isdisjoint(one.flag.spellings))
        return frozenset(found)

    @cached_property
    def owned(self) -> Mapping[str, str]:
        """The flags that the compiler sets for the engine, each with the recipe key that decides it."""
        from rcc.engines.flags import engine_data

        owned: Mapping[str, str] = engine_data(self.recipe.engine).get("owned", {})
        return owned

    def holds(self, *marks: str) -> bool:
        """Whether any of the files that make the recipe holds one of these texts."""
        return any(mark in one.source.text for one in self.file.layers.documents for mark in marks)

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """The known name that a misspelt one is nearest to, for the first ones of a recipe."""
        self._searches -= 1
        return nearest_name(name, known) if self._searches >= 0 else None

    def meant(self, name: str, known: Collection[str]) -> str | None:
        """The same for a name that may also be shortened, or called so elsewhere."""
        self._searches -= 1
        return meant_name(name, known) if self._searches >= 0 else None

    @property
    def own(self) -> Source:
        """The recipe's own file, none of its bases."""
        return self.file.layers.top.source

    def place(self, *path: str | int) -> Place:
        """Where a value of the recipe stands."""
        return self.file.place(path)

    def inside(self, path: Path, start: int, end: int) -> Place:
        """Where a part of a string of the recipe stands."""
        return self.file.layers.origin(path).string_place(path, start, end)


def is_plain(text: str) -> bool:
    """Whether a string holds no template, so that its value is known."""
    return "{{" not in text and "<<" not in text
