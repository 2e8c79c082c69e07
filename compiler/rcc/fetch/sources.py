"""Where images and models are asked for, opened when the first one is needed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rcc.diagnostic import Findings
from rcc.fetch.daemon import Daemon
from rcc.fetch.failure import FetchError
from rcc.fetch.image import ImageSource
from rcc.fetch.logins import Logins
from rcc.fetch.model import ModelSource
from rcc.fetch.oci_layout import OciLayout
from rcc.fetch.progress import Progress, Quiet

if TYPE_CHECKING:
    from rcc.fetch.apart import Apart
    from rcc.fetch.wire import Limits, Wire

_REQUESTS = 8
"""Requests under way at once."""


class Sources:
    """The registries and the Hub, or what `image_from` (`oci:DIR`, `daemon`) and `model_from` (`cache:DIR`) name.

    `environ` gives logins and endpoint. Close it, or use it in `with`.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        image_from: str | None = None,
        model_from: str | None = None,
        insecure: bool = False,
        progress: Progress | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._environ = environ
        self._image_from, self._model_from = image_from, model_from
        self._insecure, self._limits = insecure, limits
        self.progress: Progress = progress or Quiet()
        self.pool = ThreadPoolExecutor(_REQUESTS)
        self._opening = Lock()
        self._wire: Wire | None = None
        self._cache: Apart | None = None
        self._images: ImageSource | None = None
        self._models: ModelSource | None = None

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)
        if self._wire:
            self._wire.client.close()
        if self._cache:
            self._cache.close()

    @property
    def images(self) -> ImageSource:
        """Where images are asked for; refuses with a FetchError where it cannot be opened."""
        with self._opening:
            if self._images is None:
                self._images = self._open_images()
            return self._images

    @property
    def models(self) -> ModelSource:
        """Where models are asked for, as above."""
        with self._opening:
            if self._models is None:
                self._models = self._open_models()
            return self._models

    def remarks(self) -> Findings:
        """What else was not right with the source of images."""
        return self._images.remarks() if self._images else ()

    def _open_images(self) -> ImageSource:
        if self._image_from == "daemon":
            return Daemon(self._environ)
        if self._image_from:
            return OciLayout(_folder(self._image_from, "oci:"))
        wire = self._open_wire()
        from rcc.fetch.door import Door
        from rcc.fetch.registry import Registries

        return Registries(Door(wire, Logins(self._environ)), self.pool.map)

    def _open_models(self) -> ModelSource:
        if self._model_from:
            from rcc.fetch.apart import Apart

            self._cache = Apart(_folder(self._model_from, "cache:"), self.progress)
            return self._cache
        wire = self._open_wire()
        _check_endpoint(self._environ.get("HF_ENDPOINT"))
        try:
            from rcc.fetch.hub import Hub
        except ImportError as error:
            raise _missing(error) from error
        return Hub(wire, self._environ)

    def _open_wire(self) -> Wire:
        if self._wire is None:
            try:
                from rcc.fetch.wire import Wire
            except ImportError as error:
                raise _missing(error) from error
            self._wire = Wire(self._insecure, self._limits)
        return self._wire


def _folder(stated: str, prefix: str) -> str:
    """The folder after a prefix; a shell leaves a `~` there to us."""
    return os.path.expanduser(stated.removeprefix(prefix))


def _check_endpoint(stated: str | None) -> None:
    """Before huggingface_hub is imported, which takes the address apart itself."""
    try:
        url = urlsplit(stated or "https://huggingface.co")
        usable = url.scheme in ("http", "https") and url.port != 0 and re.fullmatch(r"[!-~]+", url.hostname or "")
    except ValueError:
        usable = None
    if not usable:
        message = "`HF_ENDPOINT` is no address of a hub, such as `https://huggingface.co`"
        raise FetchError("RCC1202", message, "correct it, or unset it")


def _missing(error: ImportError) -> FetchError:
    name = (error.name or "a module").partition(".")[0]
    message = f"`{name}` is not installed, which `rcc lock` needs to ask registries and the Hub"
    help = (
        "install rcc with its extra `lock`: `pip install '.[lock]'` in a clone of it, else `pip install 'rcc[lock]'`; "
        "`rcc lock` needs nothing more with `--image-from` and `--model-from`"
    )
    return FetchError("RCC1201", message, help)
