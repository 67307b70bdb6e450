"""Loads an application from "module:attribute".

Whatever goes wrong is AppNotFound, whose exit status says that trying again won't help; what the
application's own code raised is logged with its place.
"""

import importlib
import logging
import sys
from collections.abc import Callable
from typing import cast

from rookery_asgi.errors import AppNotFound
from rookery_asgi.types import App

log = logging.getLogger("rookery_asgi")


def load(text: str, *, app_dir: str = "", factory: bool = False) -> App:
    """The application that the text names."""
    module_name, _, path = text.partition(":")
    if not module_name or not path:
        raise AppNotFound(f"{text!r} is not of the form module:attribute")
    sys.path.insert(0, app_dir or "")
    found: object = load_module(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise AppNotFound(f"{module_name!r} has no attribute {path!r}")
        found = getattr(found, name)
    if not callable(found):
        raise AppNotFound(f"{text!r} can't be called")
    return make(text, cast("Callable[[], App]", found)) if factory else cast("App", found)


def make(text: str, factory: Callable[[], App]) -> App:
    """The application that the factory makes."""
    try:
        return factory()
    except Exception as error:
        log.exception("the factory %s raised", text)
        raise AppNotFound(f"{text!r} raised {error!r}") from None


def load_module(name: str) -> object:
    """The module; one that is missing is told apart from one that fails to import another."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (name == missing or name.startswith(missing + ".")):
            raise AppNotFound(f"there is no module {name!r}") from None
        log.exception("the module %s could not be imported", name)
        raise AppNotFound(f"importing {name!r} raised {error!r}") from None
