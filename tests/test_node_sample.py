"""The sampled check: which chunks it draws, how likely it finds one that is damaged, and that it is quick to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rcc_node import ledger, verify
from rcc_node.goal import CHUNK, Chunks, Goal, StagedFile
from rcc_node.ledger import Ledger
from rcc_node.place import Place

DRAWS = 300
COUNT = 256


def goal_of(*files: StagedFile) -> Goal:
    return Goal({"kind": "snapshot", "source": "a/b@c"}, "sha256:0", None, None, files)


@pytest.fixture
def one_big_file(tmp_path: Path) -> Iterator[Ledger]:
    place = Place(str(tmp_path / "dst"), create=True)
    found = ledger.create(
        place, ledger.HERE, goal_of(StagedFile("a", COUNT * CHUNK, None, None, ((0, COUNT * CHUNK),)))
    )
    yield found
    found.close()
    place.close()


def test_a_chunk_is_drawn_as_often_as_the_docs_state(one_big_file: Ledger) -> None:
    drawn = Counter(index for _ in range(DRAWS) for index in verify.sample(one_big_file))
    assert drawn[0] == DRAWS, "the first chunk has the header"
    expected = DRAWS * verify.SAMPLE / COUNT
    spread = (expected * (1 - verify.SAMPLE / COUNT)) ** 0.5
    for index in range(1, COUNT):
        assert abs(drawn[index] - expected) < 7 * spread


def test_each_draw_is_another(one_big_file: Ledger) -> None:
    assert len({tuple(verify.sample(one_big_file)) for _ in range(10)}) == 10
    assert len(verify.sample(one_big_file)) in (verify.SAMPLE, verify.SAMPLE + 1)


def test_few_chunks_are_all_checked(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "dst"), create=True)
    files = [StagedFile(str(number), 10, None, None, ((0, 10),)) for number in range(verify.SAMPLE)]
    found = ledger.create(place, ledger.HERE, goal_of(*files))
    assert verify.sample(found) == list(range(verify.SAMPLE))
    found.close()
    place.close()


def test_chunks_cut_extents_at_multiples() -> None:
    files = [
        StagedFile("a", 5 * CHUNK, None, None, ((0, 100), (CHUNK - 1, CHUNK + 1), (2 * CHUNK, 4 * CHUNK))),
        StagedFile("empty", 0, None, None, ()),
        StagedFile("b", 7, None, None, ((3, 7),)),
    ]
    chunks = Chunks(files)
    found = [(chunk.file, chunk.start, chunk.end) for chunk in chunks]
    assert found == [
        (0, 0, 100),
        (0, CHUNK - 1, CHUNK),
        (0, CHUNK, CHUNK + 1),
        (0, 2 * CHUNK, 3 * CHUNK),
        (0, 3 * CHUNK, 4 * CHUNK),
        (2, 3, 7),
    ]
    assert [list(chunks.of_file(number)) for number in range(3)] == [[0, 1, 2, 3, 4], [], [5]]


def test_half_a_terabyte_takes_no_list() -> None:
    chunks = Chunks([StagedFile("a", 1 << 39, None, None, ((5, 1 << 39),))])
    assert len(chunks) == 1 << 19
    assert chunks[len(chunks) - 1].end == 1 << 39
    assert chunks[0].start == 5
