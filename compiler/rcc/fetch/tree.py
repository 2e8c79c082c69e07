"""The Hub's other way to list a commit's files, page by page: for what a model's description leaves out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rcc.fetch.model import file_id
from rcc.fetch.wire import Answer
from rcc.lock.model import FileId

_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')


def list_tree(endpoint: str, path: str, get: Callable[[str], Answer]) -> dict[str, FileId]:
    """Files by path. ValueError for an answer that is none, or a next page that is not at the endpoint."""
    files: dict[str, FileId] = {}
    url: str | None = f"{endpoint}{path}?recursive=true&expand=false"
    while url is not None:
        if not url.startswith(f"{endpoint}/"):
            raise ValueError("the next page is somewhere else")
        answer = get(url)
        page = json.loads(answer.body)
        before = len(files)
        files.update(_files(page))
        following = _NEXT.search(answer.headers.get("Link", ""))
        # A page that gives nothing new would be asked for again without end.
        url = following[1] if following and len(files) > before else None
    return files


def _files(page: list[Mapping[str, Any]]) -> Iterator[tuple[str, FileId]]:
    for one in page:
        if one["type"] == "file":
            lfs = one.get("lfs")
            yield one["path"], file_id(one["path"], lfs["size"] if lfs else one["size"], lfs and lfs["oid"], one["oid"])
