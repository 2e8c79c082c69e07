"""What a plan says about a container, in the form that the readers of artifacts give."""

from rcc.plan.model import FileRef, Rank


def process(rank: Rank) -> list[str]:
    """The whole argv in the artifact: what stands before the engine, then the engine's."""
    container = rank.container
    return [*(container.enter or ()), *container.entrypoint, *container.command]


def mounts(rank: Rank, files: str, home: str, *extra: tuple[str, str, bool]) -> list[tuple[str, str, bool]]:
    """(source, target, read-only) of every mount; carried files lie below `files`, `~/` below `home`."""
    found = []
    for mount in rank.container.mounts:
        if isinstance(mount.source, FileRef):
            source = f"{files}/carried/{mount.source.file}"
        else:
            source = home + mount.source[1:] if mount.source.startswith("~/") else mount.source
        found.append((source, mount.target, mount.read_only))
    if rank.container.enter is not None:
        found.append((f"{files}/enter", "/rcc/enter", True))
    return [*found, *extra]
