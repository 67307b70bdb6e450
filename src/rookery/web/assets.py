"""Style sheets and pictures, read once and served from memory under names that never change."""

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rookery.web.paths import STATIC_PREFIX

FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, with a digest in its address so that it may be cached for ever."""

    name: str
    content: bytes
    media_type: str

    @property
    def address(self) -> str:
        digest = hashlib.sha256(self.content).hexdigest()[:12]
        return f"{STATIC_PREFIX}{digest}/{self.name}"


class Assets:
    """The files of the static folder."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        made = [Asset(name, content, _media_type(name)) for name, content in files.items()]
        self._by_name = {asset.name: asset for asset in made}
        self._by_address = {asset.address: asset for asset in made}

    def address(self, name: str) -> str:
        """For templates; a name that does not exist is a programming error."""
        return self._by_name[name].address

    def at(self, path: str) -> Asset | None:
        return self._by_address.get(path)


def read_assets() -> Assets:
    return Assets({path.name: path.read_bytes() for path in sorted(FOLDER.iterdir())})


def _media_type(name: str) -> str:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
