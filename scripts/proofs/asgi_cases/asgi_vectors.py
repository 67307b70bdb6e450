"""Request vectors of h11 and http-parser, compared with our parser's answers."""

import ast
import collections
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Tally:
    """How our answer compares with what the case expects."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.same = 0
        self.stricter: list[str] = []
        self.wrong: list[str] = []

    def report(self) -> bool:
        reasons = collections.Counter(self.stricter)
        print(f"{self.name}: {self.same} the same, {len(self.stricter)} stricter {dict(reasons)}")
        for case in self.wrong:
            print(f"  WRONG {case}")
        return not self.wrong


def why_stricter(data: bytes) -> str:
    """The rule by which we refuse what others accept; empty when there is none."""
    rules = {
        "no Host": not re.search(rb"\r?\nHost:", data, re.IGNORECASE) and b"HTTP/1.1" in data,
        "bare line feed": re.search(rb"(?<!\r)\n", data) is not None,
        "folded line": re.search(rb"\n[ \t]", data) is not None,
        "fragment in the target": b"#" in data.split(b"\n")[0],
        "CONNECT": data.startswith(b"CONNECT"),
        "target beyond ASCII": any(byte > 127 for byte in data.split(b"\r\n")[0]),
        "asterisk or other target": not re.match(rb"\S+ (/|https?://)", data),
        "unknown transfer-encoding": re.search(
            rb"transfer-encoding:(?! chunked\r)", data, re.IGNORECASE
        )
        is not None,
        "Content-Length with Transfer-Encoding": b"Content-Length" in data and b"chunked" in data,
        "control character in a value": re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", data)
        is not None,
        "HTTP/0.9": b" HTTP/" not in data.split(b"\r\n")[0],
        "method that is no token": re.match(rb"\S*[\"(),/:;<=>?@\[\\\]{}]\S* ", data) is not None,
    }
    return next((rule for rule, holds in rules.items() if holds), "")


def parse(data: bytes) -> Any:
    """Our parser, whole and byte by byte."""
    from rookery_asgi import _core

    whole = _core.parse_head(data, max(1, len(data)), 65536, 65536)
    assert _core.parse_head(data, 1, 65536, 65536) == whole, data
    return whole


def judge(
    tally: Tally, data: bytes, expected: tuple[bytes, bytes, list[tuple[bytes, bytes]]] | None
) -> None:
    """`expected` is method, target and headers, or None for a request that must be refused.

    Old vectors leave out Host, which HTTP/1.1 requires; it is added to compare the rest.
    """
    if (
        expected is not None
        and b" HTTP/1.1\r\n" in data
        and not re.search(rb"\nhost:", data, re.IGNORECASE)
    ):
        data = data.replace(b" HTTP/1.1\r\n", b" HTTP/1.1\r\nHost: h\r\n", 1)
        expected = (*expected[:2], [(b"host", b"h"), *expected[2]])
    got = parse(data)
    refused = isinstance(got, int) and got < 0
    if expected is None:
        if refused:
            tally.same += 1
        else:
            tally.wrong.append(f"accepted {data!r}")
    elif isinstance(got, int):
        rule = why_stricter(data)
        (tally.stricter if rule else tally.wrong).append(rule or f"refused {data!r} ({got})")
    else:
        fields = [(name.lower(), value) for name, value in got[4]]
        same = (got[1], got[2], fields) == expected
        tally.same += same
        if not same:
            tally.wrong.append(f"{data!r}: {got} instead of {expected}")


def h11_cases(source: Path) -> Iterator[tuple[bytes, Any]]:
    """What h11's own tests feed to its reader of requests; None stands for a refusal."""
    sys.path.insert(0, str(source))
    module = importlib.import_module("h11.tests.test_io")
    h11 = importlib.import_module("h11")
    collected: list[tuple[bytes, Any]] = []

    def record(reader: object, data: bytes, expected: Any) -> None:
        if reader is module.READERS[h11.CLIENT, h11.IDLE]:
            collected.append((bytes(data), expected))
        if expected is None:
            raise h11.LocalProtocolError("recorded")

    module.tr = record  # type: ignore[attr-defined] # h11's tests call it by this name
    for name in ("test_readers_simple", "test_readers_unusual",
                 "test_reject_garbage_after_request_line",
                 "test_reject_garbage_in_header_line", "test_reject_non_vchar_in_path",
                 "test_allow_some_garbage_in_cookies"):  # fmt: skip
        getattr(module, name)()
    yield from collected


def check_h11(source: Path) -> bool:
    """h11's cases."""
    tally = Tally("h11 request heads")
    for data, event in h11_cases(source):
        if event is None:
            judge(tally, data, None)
            continue
        headers = [(bytes(n).lower(), bytes(v)) for n, v in event.headers]
        judge(tally, data, (bytes(event.method), bytes(event.target), headers))
    return tally.report()


def c_strings(text: str) -> bytes:
    """Adjacent C string literals as bytes."""
    parts = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    return b"".join(ast.literal_eval(f'b"{part}"') for part in parts)


def check_http_parser(folder: Path) -> bool:
    """The requests of http-parser's test.c, which httptools carries along."""
    source = (folder / "vendor/http-parser/test.c").read_text("latin-1")
    source = source.encode("ascii", "backslashreplace").decode()
    tally = Tally("http-parser requests")
    for block in re.split(r"\.name=", source)[1:]:
        raw = re.search(r"\.raw=\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", block)
        if ".type= HTTP_REQUEST" not in block or raw is None:
            continue
        data = c_strings(raw.group(1))
        url = re.search(r"\.request_url=\s*\"(.*)\"", block)
        listed = block.split(".headers=")[1].split(",.body")[0] if ".headers=" in block else ""
        pairs = re.findall(r'\{\s*("(?:[^"\\]|\\.)*")\s*,\s*("(?:[^"\\]|\\.)*")\s*\}', listed)
        headers = [(c_strings(n).lower(), c_strings(v)) for n, v in pairs]
        trailers = (
            data.count(b"\r\nVary: *") + data.count(b"Content-Type: text/plain\r\n\r\n")
            if b"0\r\n" in data
            else 0
        )
        method = data.lstrip().split(b" ")[0]
        expected = (method, c_strings(f'"{url.group(1)}"') if url else b"", headers)
        if trailers:
            expected = (*expected[:2], headers[: data.split(b"\r\n\r\n")[0].count(b"\r\n")])
        judge(tally, data, expected)
    for call in re.findall(
        r"test_simple(?:_type)?\(\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+),\s*HPE_(\w+)", source
    ):
        data = c_strings(call[0])
        if call[1] not in ("OK", "UNKNOWN") and not data.startswith(b"HTTP/"):
            judge(tally, data, None)
    return tally.report()
