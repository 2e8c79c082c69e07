"""HTTP with a bound on everything: time, size, redirects, patience, and where a credential may go."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

import httpx2

from rcc import __version__
from rcc.fetch.failure import FetchError
from rcc.fetch.trouble import place, told
from rcc.quick import dataclass

AGENT = f"rcc/{__version__}"
CAP, _DEADLINE = "rcc.cap", "rcc.deadline"
_TELEMETRY = "/api/agent-harnesses"

Given = TypeVar("Given")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds to connect, between two pieces of an answer, for one answer, and for all waiting on a busy server.

    `body` is what an answer may hold, in bytes, where the request does not say otherwise.
    """

    connect: float = 10
    read: float = 20
    total: float = 120
    patience: float = 60
    body: int = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, whole."""

    status: int
    headers: httpx2.Headers
    body: bytes


class Wire:
    """A client that every request of this room goes through. Close it, or use it in `with`."""

    def __init__(self, insecure: bool = False, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.insecure = insecure
        self.client = self._client()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def _client(self) -> httpx2.Client:
        """What it takes from the environment, proxies and certificates, may be no such thing."""
        try:
            return httpx2.Client(
                follow_redirects=True,
                max_redirects=5,
                event_hooks={"request": [self._before], "response": [self._after]},
                headers={"User-Agent": AGENT},
            )
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            message = f"the certificates that `SSL_CERT_FILE` or `SSL_CERT_DIR` names cannot be read: {why}"
            raise FetchError(
                "RCC1202", message, "name a file, or a folder, of certificates in PEM, or unset it"
            ) from error
        except (ValueError, httpx2.InvalidURL, ImportError) as error:
            message = "a variable for proxies (`http_proxy`, `https_proxy`, `all_proxy`) names none that rcc can use"
            raise FetchError(
                "RCC1202", message, "name one as `http://host:port`, or unset it; rcc speaks no SOCKS"
            ) from error

    def fetch(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        cap: int | None = None,
        form: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, repeated while the server says that it is busy. Its body is refused beyond `cap` bytes."""

        def once() -> Answer:
            response = self.client.request(
                method,
                url,
                headers={"Accept-Encoding": "identity", **headers},
                data=dict(form) if form else None,
                extensions={CAP: cap or self.limits.body},
            )
            return Answer(response.status_code, response.headers, response.content)

        return self.patiently(once, lambda answer: (answer.status, answer.headers))

    def patiently(self, once: Callable[[], Given], status: Callable[[Given], tuple[int, httpx2.Headers]]) -> Given:
        """Repeats a request that a busy server refuses, as long as patience lasts; a broken connection once."""
        waited, tries = 0.0, 0
        while True:
            tries += 1
            try:
                answer = once()
            except (httpx2.RequestError, httpx2.InvalidURL) as error:
                if tries == 1 and isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError):
                    continue
                raise told(error, self.limits) from error
            code, headers = status(answer)
            pause = _pause(code, headers, tries)
            if pause is None or waited + pause > self.limits.patience:
                return answer
            waited += pause
            time.sleep(pause)

    def _before(self, request: httpx2.Request) -> None:
        """Sees every request, those of redirects and of huggingface_hub too."""
        if request.url.path.endswith(_TELEMETRY):
            raise httpx2.ConnectError("rcc sends no telemetry", request=request)
        if request.url.scheme != "https" and not (self.insecure or is_loopback(request.url.host)):
            message = f"`{place(request.url)}` would be asked in clear, without TLS"
            raise FetchError("RCC1202", message, "use https, or `--insecure` where you trust every machine between")
        limits = self.limits
        request.extensions["timeout"] = httpx2.Timeout(limits.read, connect=limits.connect).as_dict()
        request.extensions.setdefault(CAP, limits.body * 8)
        request.extensions[_DEADLINE] = time.monotonic() + limits.total

    def _after(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Bounded(response.stream, response.request)


class _Bounded(httpx2.SyncByteStream):
    """A body that ends with a refusal where it is too long or takes too long."""

    def __init__(self, stream: httpx2.SyncByteStream, request: httpx2.Request) -> None:
        self.stream, self.request = stream, request

    def __iter__(self) -> Iterator[bytes]:
        left: int = self.request.extensions[CAP]
        for chunk in self.stream:
            left -= len(chunk)
            if left < 0:
                cap = self.request.extensions[CAP]
                message = f"`{place(self.request.url)}` sends more than the {cap} bytes that such an answer has"
                raise FetchError(
                    "RCC1206", message, "this is no answer that rcc asked for: look at what is at that address"
                )
            if time.monotonic() > self.request.extensions[_DEADLINE]:
                message = f"`{place(self.request.url)}` sends its answer too slowly"
                raise FetchError("RCC1202", message, "try again later, or from a better connection")
            yield chunk

    def close(self) -> None:
        self.stream.close()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, whatever the network says."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _pause(status: int, headers: httpx2.Headers, tries: int) -> float | None:
    """Seconds until a busy server may be asked again; None where it is not busy or was asked often enough."""
    if status not in (429, 502, 503, 504) or tries > (5 if status == 429 else 2):
        return None
    stated = retry_after(headers)
    return stated if stated is not None else min(8.0, 0.5 * 2.0**tries)


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds that `Retry-After` asks for, as a number or as a date."""
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
