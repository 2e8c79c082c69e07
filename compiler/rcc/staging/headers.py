"""Which parts of a checkpoint its layout is read from: the index, and the headers of some shards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from rcc.diagnostic import Findings, finding
from rcc.lock.model import FileId
from rcc_node.layout import LENGTH_SIZE, LayoutError, Shard, header_size, read_shard, shards_in_index

INDEX = "model.safetensors.index.json"
_BYTES_PER_TENSOR = 96
"""About what a tensor takes in a header beside its name: dtype, shape, two offsets of twelve digits, punctuation."""

Read = Callable[[int, int], bytes]
"""Bytes `[start, end)` of a file, fewer where it ends before."""


def refused(error: LayoutError) -> Findings:
    """What the layout code refuses, as a finding without a place."""
    return (finding("RCC1215", error.message, help=error.help),)


def shards_needed(
    pattern: str, files: Mapping[str, FileId], index: bytes | None
) -> tuple[tuple[str, ...] | None, Findings]:
    """The shards that hold a tensor which matches the glob; without an index, every safetensors file of the top."""
    if index is None:
        names = tuple(sorted(name for name in files if "/" not in name and name.endswith(".safetensors")))
        message = f"the repository has neither `{INDEX}` nor a safetensors file at its top"
        help = "only a checkpoint in safetensors can be staged by rows"
        return (names, ()) if names else (None, (finding("RCC1215", message, help=help),))
    try:
        names = shards_in_index(index, pattern)
    except LayoutError as error:
        return None, refused(error)
    missing = [name for name in names if name not in files]
    help = "the snapshot is not whole: another commit of it may be, or its owner has to upload the shard"
    found = tuple(
        finding("RCC1215", f"shard `{name}` is named by `{INDEX}` and not in the repository", help=help)
        for name in missing
    )
    return (None if missing else names), found


def weight_map(index: bytes | None) -> Mapping[str, str]:
    """Shards by tensor, of an index that `shards_needed` has read."""
    found: dict[str, str] = json.loads(index)["weight_map"] if index is not None else {}
    return found


def header_guesses(shards: Mapping[str, str]) -> Mapping[str, int]:
    """How many bytes each shard's header takes, about, so that one request mostly suffices and reads little else.

    `shards` is the weight map.
    """
    guesses: dict[str, int] = {}
    for tensor, shard in shards.items():
        guesses[shard] = guesses.get(shard, LENGTH_SIZE) + len(tensor.encode()) + _BYTES_PER_TENSOR
    return guesses


def read_header(name: str, size: int, guess: int, read: Read) -> tuple[Shard | None, Findings]:
    """A shard of `size` bytes, read by its header alone: `guess` bytes first, then what is missing."""
    start = read(0, min(max(guess, LENGTH_SIZE), size))
    try:
        end = header_size(name, start, size)
        if len(start) < end:
            start += read(len(start), end)
        return read_shard(name, start, size), ()
    except LayoutError as error:
        return None, refused(error)


def disagreements(pattern: str, listed: Mapping[str, str], shards: Mapping[str, Shard]) -> Findings:
    """Tensors of the glob that the index puts into a shard whose header does not have them."""
    held = {(tensor.name, name) for name, shard in shards.items() for tensor in shard.tensors}
    help = "the index and the shards are of different uploads: another commit may be whole"
    return tuple(
        finding("RCC1215", f"`{INDEX}` puts `{tensor}` into `{shard}`, which does not hold it", help=help)
        for tensor, shard in sorted(listed.items())
        if fnmatchcase(tensor, pattern) and (tensor, shard) not in held
    )


__all__ = ["INDEX", "Shard", "disagreements", "header_guesses", "read_header", "refused", "shards_needed", "weight_map"]
