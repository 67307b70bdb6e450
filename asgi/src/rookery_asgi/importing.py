"""Loads an application from "module:attribute"."""

import importlib
import sys
from collections.abc import Callable
from typing import cast

from rookery_asgi.errors import AppNotFound
from rookery_asgi.types import App


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
    return cast("Callable[[], App]", found)() if factory else cast("App", found)


def load_module(name: str) -> object:
    """The module; a module that is missing is told apart from one that fails to import another."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise
        raise AppNotFound(f"there is no module {name!r}") from None
