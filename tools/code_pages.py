"""docs/reference/codes/: a page a code, and the list of them."""

from __future__ import annotations

from rcc.codes import CODES
from rcc.lint.pages import index, page

FOLDER = "docs/reference/codes"


def pages() -> dict[str, str]:
    """The pages by their path from the repository's root."""
    written = {code: page(code) for code in CODES}
    return {
        f"{FOLDER}/README.md": index(),
        **{f"{FOLDER}/{code}.md": text for code, text in written.items() if text is not None},
    }
