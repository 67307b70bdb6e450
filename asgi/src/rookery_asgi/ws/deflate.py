"""permessage-deflate (RFC 7692): negotiation, and the two directions of compression."""

import zlib
from dataclasses import dataclass

TAIL = b"\x00\x00\xff\xff"
# Below this size compression costs more than it saves.
WORTHWHILE = 64
# A window of 4 KB keeps most of the gain for an eighth of the memory.
OWN_WINDOW = 12
MEMORY_LEVEL = 5


class TooLarge(Exception):
    """A message is larger than allowed once it is decompressed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What was agreed on."""

    server_no_context: bool = False
    client_no_context: bool = False
    server_window: int = OWN_WINDOW
    client_window: int = 15

    def header(self) -> str:
        """The terms as the response states them."""
        parts = ["permessage-deflate"]
        if self.server_no_context:
            parts.append("server_no_context_takeover")
        if self.client_no_context:
            parts.append("client_no_context_takeover")
        if self.server_window < 15:
            parts.append(f"server_max_window_bits={self.server_window}")
        if self.client_window < 15:
            parts.append(f"client_max_window_bits={self.client_window}")
        return "; ".join(parts)


def negotiate(extensions: str) -> Terms | None:
    """The terms of the first offer that can be met."""
    for offer in extensions.split(","):
        name, *parameters = [part.strip() for part in offer.split(";")]
        if name == "permessage-deflate":
            terms = read_terms(parameters)
            if terms is not None:
                return terms
    return None


def read_terms(parameters: list[str]) -> Terms | None:
    """The terms of one offer; None when it can't be met or is malformed."""
    given: dict[str, str] = {}
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() in given:
            return None
        given[name.strip()] = value.strip().strip('"')
    server_window = window(given.pop("server_max_window_bits", "15"))
    # a client that names no size leaves it to us; it then may use what we ask for
    client_window = window(given.pop("client_max_window_bits", "15") or str(OWN_WINDOW))
    flags = [given.pop(f"{side}_no_context_takeover", None) for side in ("server", "client")]
    if given or server_window is None or client_window is None or any(flag for flag in flags):
        return None
    return Terms(
        server_no_context=flags[0] is not None,
        client_no_context=flags[1] is not None,
        server_window=min(server_window, OWN_WINDOW),
        client_window=client_window,
    )


def window(text: str) -> int | None:
    """A window size that zlib supports; it has none of 8 bits for raw streams."""
    if not text.isascii() or not text.isdigit() or text.startswith("0"):
        return None
    bits = int(text)
    return bits if 9 <= bits <= 15 else None


class Deflate:
    """Both directions of one connection. A direction's memory is taken when it is first used."""

    def __init__(self, terms: Terms) -> None:
        """The agreed terms decide windows and whether they are kept between messages."""
        self._terms = terms
        self._packer: zlib._Compress | None = None
        self._unpacker: zlib._Decompress | None = None

    def pack(self, data: bytes) -> bytes:
        """A message as it goes over the wire."""
        if self._packer is None:
            self._packer = zlib.compressobj(wbits=-self._terms.server_window, memLevel=MEMORY_LEVEL)
        packed = self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        if self._terms.server_no_context:
            self._packer = None
        return packed[:-4]

    def unpack(self, data: bytes, most: int) -> bytes:
        """A message as it was meant; zlib.error or TooLarge when it can't be."""
        if self._unpacker is None:
            self._unpacker = zlib.decompressobj(wbits=-self._terms.client_window)
        # one byte beyond the limit is enough to know, however well it was compressed
        plain = self._unpacker.decompress(data + TAIL, most + 1)
        if len(plain) > most:
            raise TooLarge
        if self._terms.client_no_context or self._unpacker.eof:
            self._unpacker = None
        return plain
