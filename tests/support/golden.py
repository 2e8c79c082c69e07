"""Golden files are the real files, under their real names, so that a review reads what a user gets.

In tests/test_KIND.py, `golden(name="a/run.sh") == text` compares with golden/KIND/a/run.sh.
`pytest --snapshot-update` accepts what is new and deletes what no test names any more.
"""

from pathlib import Path

from syrupy.data import Snapshot, SnapshotCollection
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

from tests.support.paths import ROOT


class GoldenFiles(SingleFileSnapshotExtension):
    """A text per file; the folder comes from the test module, the rest of the path from the name."""

    _write_mode = WriteMode.TEXT
    file_extension = ""
    root = ROOT / "golden"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(cls.root / test_location.basename.removeprefix("test_"))

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        assert isinstance(index, str), 'a golden file needs its name: golden(name="...")'
        return index

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        return Path(snapshot_location).is_relative_to(cls.dirname(test_location=test_location))

    def is_snapshot_location(self, *, location: str) -> bool:
        return True

    def read_snapshot_collection(self, *, snapshot_location: str) -> SnapshotCollection:
        below_kind = Path(snapshot_location).relative_to(self.root).parts[1:]
        collection = SnapshotCollection(location=snapshot_location)
        collection.add(Snapshot(name="/".join(below_kind)))
        return collection

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        # Without newline translation: a carriage return in an artifact is a difference.
        path = Path(snapshot_location)
        return path.read_bytes().decode() if path.is_file() else None
