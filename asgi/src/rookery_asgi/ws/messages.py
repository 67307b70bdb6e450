"""WebSocket messages: frames in, messages out, and the other way round. No sockets, no clock."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from rookery_asgi import _core
from rookery_asgi.ws.deflate import WORTHWHILE, Deflate, TooLarge

FIN, PACKED, OPCODE = 0x80, 0x40, 0x0F
MORE, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
NORMAL, NO_CODE, ABNORMAL = 1000, 1005, 1006
PROTOCOL_ERROR, BAD_DATA, TOO_BIG, INTERNAL, RESTART = 1002, 1007, 1009, 1011, 1012


@dataclass(frozen=True, slots=True)
class Text:
    """A text message."""

    text: str


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary message."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping, to be answered with the same payload."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pong:
    """An answer to a ping, or an unasked one."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Closing:
    """The peer's close frame."""

    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Fault:
    """The peer broke the rules; the connection must be closed with this code."""

    code: int
    reason: str


Event = Text | Binary | Ping | Pong | Closing | Fault


class Broken(Exception):
    """The peer broke the rules."""

    def __init__(self, code: int, reason: str) -> None:
        """With a close code and a reason for the peer."""
        super().__init__(code, reason)
        self.fault = Fault(code, reason)


def is_close_code(code: int) -> bool:
    """Whether a close frame may carry that code (RFC 6455, section 7.4, and IANA's registry)."""
    return 1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999


def read_close(payload: bytes) -> Closing:
    """Code and reason of a close frame."""
    if not payload:
        return Closing(NO_CODE, "")
    code = int.from_bytes(payload[:2])
    if len(payload) < 2 or not is_close_code(code):
        raise Broken(PROTOCOL_ERROR, "invalid close code")
    return Closing(code, decode(payload[2:]))


def decode(data: bytes) -> str:
    """Text must be UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Broken(BAD_DATA, "invalid UTF-8") from None


class Reader:
    """Turns a client's bytes into events. After a Fault it must not be used any more."""

    def __init__(self, *, most: int, deflate: Deflate | None = None) -> None:
        """`most` bounds a message, compressed or not."""
        self._frames = _core.Frames(most)
        self._most = most
        self._deflate = deflate
        self._first = 0
        self._whole = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[Event]:
        """The events that these bytes complete."""
        frames: list[tuple[int, bytes]] = []
        fault: Fault | None = None
        try:
            self._frames.feed(data, frames)
        except ValueError:
            fault = Fault(PROTOCOL_ERROR, "malformed frame")
        except OverflowError:
            fault = Fault(TOO_BIG, "message too big")
        try:
            for first, payload in frames:
                event = self._frame(first, payload)
                if event is not None:
                    yield event
        except Broken as broken:
            fault = broken.fault
        if fault is not None:
            yield fault

    def _frame(self, first: int, payload: bytes) -> Event | None:
        match first & OPCODE:
            case 8:
                return read_close(payload)
            case 9:
                return Ping(payload)
            case 10:
                return Pong(payload)
            case opcode:
                return self._data(first, opcode, payload)

    def _data(self, first: int, opcode: int, payload: bytes) -> Event | None:
        if first & PACKED and (self._deflate is None or opcode == MORE):
            raise Broken(PROTOCOL_ERROR, "unexpected reserved bit")
        if (opcode == MORE) != bool(self._first):
            raise Broken(PROTOCOL_ERROR, "unexpected continuation")
        if opcode != MORE and first & FIN:
            return self._message(first, payload)
        return self._fragment(first, opcode, payload)

    def _fragment(self, first: int, opcode: int, payload: bytes) -> Event | None:
        if opcode != MORE:
            self._first = first
        # in one piece: there may be any number of small fragments, and each object has its price
        self._whole += payload
        if len(self._whole) > self._most:
            raise Broken(TOO_BIG, "message too big")
        if not first & FIN:
            return None
        whole, begun = bytes(self._whole), self._first
        self._first, self._whole = 0, bytearray()
        return self._message(begun, whole)

    def _message(self, first: int, payload: bytes) -> Event:
        if first & PACKED and self._deflate is not None:
            try:
                payload = self._deflate.unpack(payload, self._most)
            except zlib.error:
                raise Broken(BAD_DATA, "invalid compressed data") from None
            except TooLarge:
                raise Broken(TOO_BIG, "message too big") from None
        return Text(decode(payload)) if first & OPCODE == TEXT else Binary(payload)


def write_message(opcode: int, data: bytes, deflate: Deflate | None) -> tuple[bytes, bytes]:
    """Header and payload of a message in one frame."""
    if deflate is not None and len(data) >= WORTHWHILE:
        packed = deflate.pack(data)
        return _core.frame(FIN | PACKED | opcode, len(packed)), packed
    return _core.frame(FIN | opcode, len(data)), data


def write_control(opcode: int, payload: bytes) -> bytes:
    """A control frame."""
    return _core.frame(FIN | opcode, len(payload)) + payload


def write_close(code: int, reason: str) -> bytes:
    """A close frame; the reason is cut to what fits."""
    if code == NO_CODE:
        return write_control(CLOSE, b"")
    text = reason.encode()[:123].decode(errors="ignore").encode()
    return write_control(CLOSE, code.to_bytes(2) + text)
