"""The Hugging Face Hub, or what `HF_ENDPOINT` names: revisions to commits, files to hashes, and parts of files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar
from urllib.parse import quote

import httpx2
from huggingface_hub import HfApi, ModelInfo, constants, get_token, set_client_factory
from huggingface_hub.errors import (
    DisabledRepoError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    OIDCError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

from rcc import __version__
from rcc.diagnostic import Findings, finding
from rcc.fetch.failure import FetchError
from rcc.fetch.model import Snapshot, file_id, is_hash
from rcc.fetch.refusals import busy
from rcc.fetch.tree import list_tree
from rcc.fetch.trouble import place
from rcc.fetch.wire import CAP, Answer, Wire
from rcc.lock.model import FileId
from rcc.lock.wanted import COMMIT

DEFAULT_ENDPOINT = "https://huggingface.co"
_SIBLINGS_CUT = 50_000
"""From this many files on, the Hub may leave some out of a model's description."""
_ERROR_CAP = 64 * 1024
"""Bytes that the body of a refusal or of a redirect may have."""

Given = TypeVar("Given")


class Hub:
    """A hub as its users see it; `environ` gives endpoint and login."""

    def __init__(self, wire: Wire, environ: Mapping[str, str]) -> None:
        self.wire = wire
        self.endpoint = (environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
        self.token = self._token()
        # huggingface_hub sends all that it sends through this client, so its bounds hold there too.
        set_client_factory(lambda: wire.client)
        self.api = HfApi(self.endpoint, token=self.token or False, library_name="rcc", library_version=__version__)
        self.headers = build_hf_headers(token=self.token or False, library_name="rcc", library_version=__version__)

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"hub `{place(httpx2.URL(self.endpoint))}`"

    def snapshot(self, repo: str, revision: str) -> Snapshot:
        """The commit that a revision names, by one request."""
        info = self._ask(repo, revision, lambda: self.api.model_info(repo, revision=revision, files_metadata=True))
        commit = info.sha
        if not is_hash(commit, 40) or commit is None or (COMMIT.fullmatch(revision) and commit != revision):
            raise self._bad(f"names no commit for `{revision}` of `{repo}`")
        return Snapshot(info.id, commit, self._files(info, commit), self._moved(repo, info))

    def read(self, snapshot: Snapshot, path: str, start: int, end: int) -> bytes:
        """A part of a file, by a range request: a hub that sends the whole file instead is refused."""
        url = f"{self.endpoint}/{snapshot.repo}/resolve/{snapshot.commit}/{quote(path)}"
        headers = {**self.headers, "Range": f"bytes={start}-{end - 1}"}

        cap = {CAP: max(end - start, _ERROR_CAP)}

        def ranged() -> bytes:
            with self.wire.client.stream("GET", url, headers=headers, extensions=cap) as response:
                if response.status_code >= 400:
                    response.read()
                    hf_raise_for_status(response)
                whole = response.status_code == 200 and snapshot.files[path].size == end - start
                if response.status_code != 206 and not whole:
                    raise self._bad(f"does not send parts of files, so `{path}` of `{snapshot.repo}` cannot be read")
                return response.read()

        data = self._ask(snapshot.repo, snapshot.commit, ranged)
        if len(data) != end - start:
            raise self._bad(f"sends {len(data)} bytes of `{path}` where {end - start} were asked for")
        return data

    def verify(self, snapshot: Snapshot) -> Findings:
        """The Hub has hashed its files itself."""
        return ()

    def _token(self) -> str | None:
        if constants.is_offline_mode():
            message = "`HF_HUB_OFFLINE` is set, so the Hub is not asked"
            raise FetchError("RCC1202", message, "unset it, or lock from a cache with `--model-from cache:DIR`")
        try:
            token = get_token()
            if token is None or token.isascii():
                return token
            why = "it is not in ASCII"
        except (OIDCError, OSError, httpx2.HTTPError) as error:
            why = type(error).__name__
        raise FetchError(
            "RCC1203", f"the login for the Hub cannot be had ({why})", "run `hf auth login`, or set `HF_TOKEN`"
        )

    def _ask(self, repo: str, revision: str, once: Callable[[], Given]) -> Given:
        """A request through huggingface_hub, with patience, and its errors as findings."""

        def caught() -> Given | HfHubHTTPError:
            try:
                return once()
            except HfHubHTTPError as error:
                return error

        try:
            given = self.wire.patiently(caught, _status)
        except HFValidationError as error:
            message = f"`{repo}` is no name of a repository on the Hub"
            raise FetchError("RCC1212", message, "write it as `org/name`") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._bad(f"describes `{repo}` in a way that cannot be read ({type(error).__name__})") from error
        if isinstance(given, HfHubHTTPError):
            raise self._refused(given, repo, revision) from given
        return given

    def _refused(self, error: HfHubHTTPError, repo: str, revision: str) -> FetchError:
        status = error.response.status_code
        login = "the login that was sent" if self.token else "a request without a login"
        if isinstance(error, GatedRepoError):
            message = f"model `{repo}` is gated, and {self.where} refuses {login}"
            return FetchError("RCC1211", message, "ask for access on the model's page, then set `HF_TOKEN`")
        if isinstance(error, RepositoryNotFoundError | DisabledRepoError):
            message = f"{self.where} has no model `{repo}` for {login}"
            return FetchError("RCC1212", message, "check the name; for a private model set `HF_TOKEN`")
        if isinstance(error, RevisionNotFoundError):
            message = f"model `{repo}` has no revision `{revision}`"
            return FetchError("RCC1213", message, "it was never there or is gone: name one that the model's page lists")
        if status == 429:
            return busy(self.where, error.response.headers, "set `HF_TOKEN`: it gives more to those that it knows")
        if status in (401, 403):
            message = f"{self.where} refuses {login} for `{repo}`"
            return FetchError("RCC1203", message, "set `HF_TOKEN` to a token that is valid and may read it")
        return self._bad(f"answers with status {status} to a request for `{repo}`")

    def _bad(self, what: str) -> FetchError:
        return FetchError("RCC1214", f"{self.where} {what}", "try again; if it stays so, look at what answers there")

    def _files(self, info: ModelInfo, commit: str) -> dict[str, FileId]:
        """All files of a commit: as the model's description has them, else from the tree."""
        siblings = info.siblings or []
        try:
            if len(siblings) < _SIBLINGS_CUT and all(one.size is not None for one in siblings):
                files = {one.rfilename: _file_id(one) for one in siblings}
            else:
                path = f"/api/models/{info.id}/tree/{commit}"
                files = list_tree(self.endpoint, path, partial(self._get, info.id, commit))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"lists a file of `{info.id}` without size or hash, or under a path that leads out"
            raise self._bad(what) from error
        if not files:
            raise self._bad(f"lists no files for `{info.id}`")
        return dict(sorted(files.items()))

    def _get(self, repo: str, revision: str, url: str) -> Answer:
        def got() -> Answer:
            response = self.wire.client.get(url, headers=self.headers)
            hf_raise_for_status(response)
            return Answer(response.status_code, response.headers, response.content)

        return self._ask(repo, revision, got)

    def _moved(self, repo: str, info: ModelInfo) -> Findings:
        if info.id == repo:
            return ()
        message = f"model `{repo}` is called `{info.id}` by now"
        return (finding("RCC1218", message, help=f"write `{info.id}`: the old name may be given to another"),)


def _file_id(one: RepoSibling) -> FileId:
    return file_id(one.rfilename, one.lfs.size if one.lfs else one.size, one.lfs and one.lfs.sha256, one.blob_id)


def _status(given: object) -> tuple[int, httpx2.Headers]:
    if isinstance(given, HfHubHTTPError):
        return given.response.status_code, given.response.headers
    return 200, httpx2.Headers()
