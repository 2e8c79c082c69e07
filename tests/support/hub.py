"""A Hugging Face Hub on loopback: its API for models and `resolve` with ranges, gated and private, moved and busy."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from tests.support.checkpoints import Content
from tests.support.server import Asked, Reply, Server

TOKEN = "hf_" + "a" * 34
Files = Mapping[str, Content]


@dataclass
class Repo:
    """A repository: commits with their files, and what branches name."""

    commits: dict[str, Files]
    branches: dict[str, str]
    gated: bool = False
    private: bool = False
    moved_to: str | None = None


@dataclass
class Hub:
    """Repositories by name. Files in LFS are answered with a redirect to `cdn` where there is one."""

    repos: dict[str, Repo] = field(default_factory=dict)
    busy: list[str] = field(default_factory=list)
    ranges: bool = True
    described: bool = True
    page: int = 1000
    cdn: Server | None = None
    server: Server | None = None

    def add(self, name: str, files: Files, commit: str = "a" * 40) -> Repo:
        self.repos[name] = Repo({commit: files}, {"main": commit})
        return self.repos[name]

    @property
    def environ(self) -> dict[str, str]:
        """What a client has to have in its environment."""
        assert self.server
        return {"HF_ENDPOINT": self.server.url}

    def answer(self, asked: Asked) -> Reply:
        if self.busy:
            return Reply(429, {"Retry-After": self.busy.pop()})
        api = re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", asked.path)
        if api:
            return self._model(asked, api[1], unquote(api[2]))
        tree = re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", asked.path)
        if tree:
            return self._tree(asked, tree[1], unquote(tree[2]))
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", asked.path)
        if file:
            return self._file(asked, file[1], unquote(file[2]), unquote(file[3]))
        return Reply(404)

    def _repo(self, asked: Asked, name: str) -> Repo | Reply:
        repo = self.repos.get(name)
        known = asked.headers.get("authorization") == f"Bearer {TOKEN}"
        if repo is None or (repo.private and not known):
            return Reply(404 if known else 401, {"X-Error-Code": "RepoNotFound"})
        if repo.moved_to:
            return Reply(307, {"Location": asked.path.replace(name, repo.moved_to) + "?blobs=true"})
        return repo

    def _model(self, asked: Asked, name: str, revision: str) -> Reply:
        repo = self._repo(asked, name)
        if isinstance(repo, Reply):
            return repo
        commit = repo.branches.get(revision, revision)
        if commit not in repo.commits:
            return Reply(404, {"X-Error-Code": "RevisionNotFound"})
        siblings = [
            _sibling(path, one) if self.described else {"rfilename": path} for path, one in repo.commits[commit].items()
        ]
        return _json(
            {
                "id": name,
                "sha": commit,
                "gated": "auto" if repo.gated else False,
                "private": repo.private,
                "siblings": siblings,
            }
        )

    def _tree(self, asked: Asked, name: str, revision: str) -> Reply:
        repo = self._repo(asked, name)
        if isinstance(repo, Reply):
            return repo
        files = repo.commits[repo.branches.get(revision, revision)]
        start = int(asked.query.get("cursor", "0"))
        entries = [{"type": "file", "path": path, **_entry(one)} for path, one in files.items()]
        reply = _json([{"type": "directory", "path": "sub", "oid": "0" * 40}, *entries[start : start + self.page]])
        if start + self.page >= len(entries):
            return reply
        assert self.server
        following = f"{self.server.url}{asked.path}?recursive=true&cursor={start + self.page}"
        return replace(reply, headers={**reply.headers, "Link": f'<{following}>; rel="next"'})

    def _file(self, asked: Asked, name: str, commit: str, path: str) -> Reply:
        repo = self._repo(asked, name)
        if isinstance(repo, Reply):
            return repo
        if repo.gated and "authorization" not in asked.headers:
            return Reply(401, {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to model is restricted."})
        content = repo.commits.get(commit, {}).get(path)
        if content is None:
            return Reply(404, {"X-Error-Code": "EntryNotFound"})
        headers = {"X-Repo-Commit": commit, "ETag": f'"{content.sha256 if content.lfs else content.sha1}"'}
        if content.lfs and self.cdn:
            return Reply(302, {**headers, "Location": f"{self.cdn.url}/{name}/{commit}/{path}?signature=abc"})
        return self.part(asked, content, headers)

    def part(self, asked: Asked, content: Content, headers: Mapping[str, str]) -> Reply:
        """What is asked for of a file."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.headers.get("range", ""))
        if not wanted or not self.ranges:
            return Reply(200, headers, content.data)
        start, end = int(wanted[1]), int(wanted[2]) + 1
        body = content.part(start, end)
        return Reply(206, {**headers, "Content-Range": f"bytes {start}-{end - 1}/{content.size}"}, body)

    def from_cdn(self, asked: Asked) -> Reply:
        """What the redirects lead to."""
        assert "authorization" not in asked.headers
        _, org, name, commit, path = asked.path.split("/", 4)
        return self.part(asked, self.repos[f"{org}/{name}"].commits[commit][path], {})


def _entry(content: Content) -> dict[str, Any]:
    lfs = {"oid": content.sha256, "size": content.size, "pointerSize": 134} if content.lfs else None
    return {"oid": content.sha1, "size": content.size, **({"lfs": lfs} if lfs else {})}


def _sibling(path: str, content: Content) -> dict[str, Any]:
    lfs = {"sha256": content.sha256, "size": content.size, "pointerSize": 134} if content.lfs else None
    return {"rfilename": path, "blobId": content.sha1, "size": content.size, **({"lfs": lfs} if lfs else {})}


def _json(value: Any) -> Reply:
    return Reply(200, {"Content-Type": "application/json"}, json.dumps(value).encode())


@contextmanager
def run_hub(hub: Hub, cdn: bool = False) -> Iterator[Hub]:
    """Runs a hub, and a further server that files in LFS come from."""
    with Server(hub.from_cdn) as elsewhere, Server(hub.answer) as server:
        hub.server, hub.cdn = server, elsewhere if cdn else None
        yield hub
