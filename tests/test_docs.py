"""Generated pages are those that the code gives."""

from tools.docs import generated, stale


def test_generated_pages_are_up_to_date() -> None:
    assert generated()
    assert stale() == [], "run `make docs`"
