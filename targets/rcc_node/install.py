"""Puts a complete stage in the place of what was there: each step may be the last one before a crash."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rcc_node.errors import NodeError
from rcc_node.ledger import HERE
from rcc_node.place import Place
from rcc_node.quick import dataclass
from rcc_node.stamp import STAMP

NEW = f"{HERE}/new"
"""Where new files and their ledger are made: `new/files/<name>`."""

ADOPTED = f"{HERE}/adopted"
"""The ledger of files that are compared where they are."""

_MARK = "replacing"


@dataclass(frozen=True, slots=True)
class Seal:
    """What is written last: the stamp, and the manifest where there is one."""

    stamp: bytes
    manifest: tuple[str, bytes] | None

    def missing(self, place: Place) -> list[str]:
        """Names of those that are not there as they should be."""
        wanted = [(STAMP, self.stamp), *([self.manifest] if self.manifest else [])]
        return [name for name, data in wanted if place.read(name) != data]

    def break_(self, place: Place) -> None:
        """Takes both away, before the first byte that they speak of changes."""
        names = [STAMP, *([self.manifest[0]] if self.manifest else [])]
        for name in names:
            place.remove(name)
        place.sync(names)

    def write(self, place: Place) -> None:
        """Puts them there, when all that they speak of is on the disk: the stamp last."""
        if self.manifest:
            place.write(*self.manifest)
            place.sync([self.manifest[0]])
        place.write(STAMP, self.stamp)
        place.sync([STAMP])


def install(place: Place, area: str, seal: Seal, obsolete: Iterable[str]) -> None:
    """Replaces what is staged by what `area` holds, which is complete. `obsolete` files are removed."""
    mark = {
        "stamp": seal.stamp.decode(),
        "manifest": seal.manifest and [seal.manifest[0], seal.manifest[1].decode()],
        "obsolete": sorted(obsolete),
    }
    place.write(f"{area}/{_MARK}", json.dumps(mark).encode())
    place.sync([f"{area}/{_MARK}"])
    finish(place, area)


def finish(place: Place, area: str) -> bool:
    """Goes on with a replacement that was begun; False where none was."""
    data = place.read(f"{area}/{_MARK}")
    if data is None:
        return False
    try:
        mark = json.loads(data)
        name_and_text = mark["manifest"]
        seal = Seal(mark["stamp"].encode(), name_and_text and (name_and_text[0], name_and_text[1].encode()))
        obsolete = [str(name) for name in mark["obsolete"]]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise NodeError(
            "ledger-damaged",
            f"`{place.path}/{area}/{_MARK}` cannot be read, so what was begun there cannot be finished",
            f"remove `{place.path}` and stage again",
        ) from error
    seal.break_(place)
    for name in obsolete:
        place.remove(name)
    moves = {path: path.removeprefix(f"{area}/files/") for path in place.files(f"{area}/files")}
    for name in ("hashes", "ledger.json"):
        if place.size(f"{area}/{name}") is not None:
            moves[f"{area}/{name}"] = f"{HERE}/{name}"
    for old, new in moves.items():
        place.rename(old, new)
    place.sync([*moves.values(), *obsolete, STAMP])
    seal.write(place)
    place.remove_folder(area)
    return True


def interrupted(place: Place) -> bool:
    """Whether a replacement was begun and not finished."""
    return any(place.size(f"{area}/{_MARK}") is not None for area in (NEW, ADOPTED))
