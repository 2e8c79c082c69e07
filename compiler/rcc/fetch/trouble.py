"""What a failed request means, in words without anything secret."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import httpx2

from rcc.diagnostic import reason
from rcc.fetch.failure import FetchError

if TYPE_CHECKING:
    from rcc.fetch.wire import Limits

_HELP = "check the address, the network and the proxy variables, then try again; what is locked stays as it was"


def place(url: httpx2.URL) -> str:
    """A URL for messages: without login, query and fragment, which may hold secrets."""
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}{port}{url.path}"


def told(error: Exception, limits: Limits) -> FetchError:
    """The failure of a request, as a finding."""
    request = getattr(error, "_request", None)
    where = f"`{place(request.url)}`" if request is not None else "the server"
    return FetchError("RCC1202", f"{where} cannot be reached: {_why(error, limits)}", _HELP)


def _why(error: Exception, limits: Limits) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return f"no connection within {limits.connect:g} s"
    if isinstance(error, httpx2.TimeoutException):
        return f"no answer within {limits.read:g} s"
    if isinstance(error, httpx2.TooManyRedirects):
        return "it redirects in a circle"
    cause = _root(error)
    if isinstance(cause, socket.gaierror):
        return "its name is not known"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({cause.verify_message})"
    if isinstance(cause, ssl.SSLError):
        return "it does not speak TLS"
    if isinstance(cause, OSError) and cause.strerror:
        return reason(cause)
    if isinstance(error, httpx2.RemoteProtocolError):
        return "its answer breaks off, or is no HTTP"
    return "the connection broke"


def speaks_otherwise(error: FetchError) -> bool:
    """Whether a request failed as it does where the other side speaks TLS and we do not, or the other way round."""
    cause = _root(error)
    if isinstance(cause, ssl.SSLError):
        return not is_untrusted(error)
    return isinstance(error.__cause__, httpx2.ReadError | httpx2.RemoteProtocolError)


def is_untrusted(error: FetchError) -> bool:
    """Whether a request failed because the other side's certificate is not trusted."""
    return isinstance(_root(error), ssl.SSLCertVerificationError)


def _root(error: BaseException) -> BaseException:
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error
