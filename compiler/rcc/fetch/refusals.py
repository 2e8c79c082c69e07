"""What the refusals of registries, and a busy hub's, mean."""

from __future__ import annotations

import httpx2

from rcc.fetch.failure import FetchError
from rcc.fetch.helper import Login
from rcc.fetch.wire import retry_after
from rcc.recipe.reference import Reference


def refused(reference: Reference, login: Login | None) -> FetchError:
    """A registry that does not let us read a repository."""
    name = f"`{reference.repository}`"
    if login is None:
        message = f"registry `{reference.registry}` lets nobody read {name} without a login, or does not have it"
        help = f"check the name, or run `docker login {reference.registry}`"
    else:
        message = f"registry `{reference.registry}` refuses {login.origin} for {name}"
        help = f"run `docker login {reference.registry}` again, with an account that may read it"
    return FetchError("RCC1203", message, help)


def not_found(reference: Reference) -> FetchError:
    """A registry that does not have what a reference names."""
    message = f"registry `{reference.registry}` has no `{reference}`"
    return FetchError("RCC1204", message, "check name and tag; a nightly tag may have been removed since")


def busy(who: str, headers: httpx2.Headers, help: str) -> FetchError:
    """A server that wants no more requests for now."""
    wait = retry_after(headers)
    when = f" for {wait:.0f} s" if wait else ""
    return FetchError("RCC1205", f"{who} wants no more requests{when}", f"wait, or {help}")
