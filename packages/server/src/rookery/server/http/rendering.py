"""Renders pages from templates: one call in a thread turns a frozen view model into text."""

import gzip
import hashlib
import mimetypes
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2

from rookery.core import __version__
from rookery.server.http.scope import STATIC_PREFIX
from rookery.server.http.session import Flash, Session, find_cookie

# Style sheets and pictures, read once and served from memory at addresses that contain a digest.

SERVER = Path(__file__).parents[1]
"""Templates, scripts and style sheets lie beside the pages that they belong to."""
STATIC = frozenset({".css", ".js", ".svg"})


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file. Its address contains a digest, so that browsers may cache it for ever."""

    name: str
    content: bytes
    media_type: str
    packed: bytes = b""
    """The file compressed with gzip, if that makes it much smaller."""

    @property
    def address(self) -> str:
        digest = hashlib.sha256(self.content).hexdigest()[:12]
        return f"{STATIC_PREFIX}{digest}/{self.name}"


class Assets:
    """The static files, and those fetched later. Only the constructor and `add` write; both replace
    whole tables, so that any thread may read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._by_name: Mapping[str, Asset] = {}
        self._by_address: Mapping[str, Asset] = {}
        self.add(files)

    def add(self, files: Mapping[str, bytes]) -> None:
        """Add files. They are compressed here, so call it in a thread."""
        made = [_make_asset(name, content) for name, content in files.items()]
        self._by_address = {**self._by_address, **{asset.address: asset for asset in made}}
        self._by_name = {**self._by_name, **{asset.name: asset for asset in made}}

    def address(self, name: str) -> str:
        """The address of a file, for templates. An unknown name is a programming error."""
        return self._by_name[name].address

    def has(self, name: str) -> bool:
        """Whether a file exists, for templates: some are fetched after the first start."""
        return name in self._by_name

    def at(self, path: str) -> Asset | None:
        return self._by_address.get(path)


def read_assets() -> Assets:
    return Assets({path.name: path.read_bytes() for path in list_files(STATIC)})


def list_files(endings: Collection[str]) -> list[Path]:
    """The files of this package with these endings. Their names are unique."""
    return sorted(path for path in SERVER.rglob("*") if path.suffix in endings)


def _make_asset(name: str, content: bytes) -> Asset:
    packed = gzip.compress(content, 9, mtime=0)
    smaller = len(packed) < len(content)
    return Asset(name, content, _media_type(name), packed if smaller else b"")


def _media_type(name: str) -> str:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


TEMPLATES = frozenset({".html"})


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page shows around its content."""

    user: str = ""
    csrf: str = ""
    flashes: tuple[Flash, ...] = ()
    theme: str = ""
    """`light` or `dark`; empty for the setting of the visitor's system."""
    path: str = ""
    approver: bool = False
    waiting_runs: int = 0
    waiting_accounts: int = 0
    version: str = __version__

    def is_in(self, *sections: str) -> bool:
        """Whether the page belongs to one of these parts of the site."""
        return any(
            self.path == section or (section != "/" and self.path.startswith(f"{section}/"))
            for section in sections
        )


def frame_of(session: Session, flashes: tuple[Flash, ...] = (), theme: str = "") -> Frame:
    """The frame of a page for a visitor, with the messages to show."""
    user = session.user
    return Frame(user, session.csrf_token() if user else "", flashes, theme)


# The theme has its own cookie, so that the first byte of a page is rendered with it and nothing
# flashes.

THEME_COOKIE = "rookery_theme"
THEMES = ("light", "dark")


def theme_in(cookies: str) -> str:
    """The theme in a Cookie header; empty for the setting of the visitor's system."""
    found = find_cookie(cookies, THEME_COOKIE)
    return found if found in THEMES else ""


@cache
def find_templates() -> Mapping[str, Path]:
    """The templates of all pages, by name."""
    return {path.name: path for path in list_files(TEMPLATES)}


def read_template(name: str) -> str | None:
    """The source of a template; None for one that does not exist."""
    path = find_templates().get(name)
    return None if path is None else path.read_text(encoding="utf-8")


class Templates:
    """The templates of the site. `render` is called in threads only."""

    def __init__(
        self,
        assets: Assets,
        *,
        simulated_fleet: bool = False,
        trouble: Callable[[], str] = str,
        notice: Callable[[], str] = str,
    ) -> None:
        """`trouble` gives a warning about disk or files for every page, `notice` a note that
        figures are old."""
        self._environment = jinja2.Environment(
            loader=jinja2.FunctionLoader(read_template),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["asset"] = assets.address
        self._environment.globals["has_asset"] = assets.has
        self._environment.globals["has_page"] = self._has_page
        self._pages: frozenset[str] = frozenset()
        self._environment.globals["trouble"] = trouble
        self._environment.globals["notice"] = notice
        self._environment.globals["simulated_fleet"] = simulated_fleet
        self._environment.globals["invented"] = False

    def mark_invented(self) -> None:
        """Mark the content of every page as invented. To be called before the first page is
        rendered."""
        self._environment.globals["invented"] = True

    def set_pages(self, paths: Iterable[str]) -> None:
        """Set the pages that this site has, so that templates link only to existing ones."""
        self._pages = frozenset(paths)

    def add_filters(self, filters: Mapping[str, Callable[..., object]]) -> None:
        """Add the filters that format numbers and times. To be called before the first page is
        rendered."""
        self._environment.filters |= filters

    def _has_page(self, path: str) -> bool:
        return path in self._pages

    def render(self, name: str, frame: Frame, view: object) -> str:
        return self._environment.get_template(name).render(frame=frame, view=view)
