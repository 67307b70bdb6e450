"""Finds Mongoose in the pinned cymongoose wheel and binds the C core to it."""

import functools
import importlib.machinery
import importlib.metadata
import importlib.util
from pathlib import Path

from rookery_asgi.errors import Unavailable

NO_CORE = "its C core was not built; install a C compiler and Python's headers, then reinstall it"
NO_WHEEL = "cymongoose {wanted} is not installed"
OTHER_WHEEL = "it needs cymongoose {wanted}, and {found} is installed"


@functools.cache
def bind() -> None:
    """Make the core usable, or raise Unavailable with one sentence; looks at files, but once."""
    try:
        from rookery_asgi import _core
    except ImportError:
        raise Unavailable(NO_CORE) from None
    check_version(_core.WHEEL, installed_version())
    wrong = _core.bind_mongoose(str(shared_object()))
    if wrong is not None:
        raise Unavailable(wrong)


def installed_version() -> str | None:
    """The version of the cymongoose wheel, or None when there is none."""
    try:
        return importlib.metadata.version("cymongoose")
    except importlib.metadata.PackageNotFoundError:
        return None


def check_version(wanted: str, found: str | None) -> None:
    """Mongoose's layout is bound to the version, so no other one will do."""
    if found is None:
        raise Unavailable(NO_WHEEL.format(wanted=wanted))
    if found != wanted:
        raise Unavailable(OTHER_WHEEL.format(wanted=wanted, found=found))


def shared_object() -> Path:
    """The wheel's extension; found, not imported, since only its C symbols are used."""
    spec = importlib.util.find_spec("cymongoose")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = Path(folder) / f"_mongoose{suffix}"
            if path.exists():
                return path
    raise Unavailable("cymongoose has no shared object for this Python")


def unavailable() -> str | None:
    """Why the server can't run here, as one sentence, or None when it can."""
    try:
        bind()
    except Unavailable as reason:
        return str(reason)
    return None
