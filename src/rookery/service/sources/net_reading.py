"""A net as it comes in: digested and packed at once, so that it is never held as a whole."""

import hashlib
import zlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rookery.service.nets import LARGEST_NET, LEVEL, NAME, WHOLE_NAME, NetRefused

GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class NetText:
    """What a net is called, and how long the gzip stream is that is kept of it."""

    name: str
    packed: int


@dataclass(slots=True)
class NetReading:
    """Fed with pieces one after the other, in whatever threads; raises NetRefused."""

    file_name: str
    _size: int = 0
    _packed: int = 0
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    _packer: "zlib._Compress" = field(
        default_factory=lambda: zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    )

    def feed(self, data: bytes) -> bytes:
        self._size += len(data)
        if self._size >= LARGEST_NET:
            raise NetRefused(f"A net has less than {LARGEST_NET:,} bytes.")
        self._digest.update(data)
        return self._kept(self._packer.compress(data))

    def rest(self) -> bytes:
        return self._kept(self._packer.flush())

    def finish(self) -> NetText:
        if not self._size:
            raise NetRefused("There is nothing in this net.")
        return NetText(_name(self.file_name, self._digest.hexdigest()), self._packed)

    def _kept(self, packed: bytes) -> bytes:
        self._packed += len(packed)
        return packed


def _name(file_name: str, digits: str) -> str:
    """The file's own name where that tells its hash, else its whole hash and the same ending."""
    told = NAME.fullmatch(file_name) or WHOLE_NAME.fullmatch(file_name)
    if told is not None:
        if not digits.startswith(told[1]):
            raise NetRefused(f"These bytes would be named nn-{digits[:12]}.nnue.")
        return file_name
    named = digits + PurePosixPath(file_name).suffix
    return named if WHOLE_NAME.fullmatch(named) else digits
