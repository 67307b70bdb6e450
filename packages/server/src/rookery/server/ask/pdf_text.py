"""Extracts the text of a PDF. This is a separate program, because uploaded files may be hostile.

`ask/uploads.py` starts it as a child process with the file as its input. It limits its own memory
and time before it reads the file, imports nothing of Rookery, and writes UTF-8.
"""

import contextlib
import resource
import sys
from collections.abc import Iterator

MEMORY_BYTES = 1024 * 2**20
CPU_SECONDS = 30
MOST_PAGES = 2_000
MOST_CHARACTERS = 500_000
UNREADABLE = 3
LOCKED = 4


def limit_resources() -> None:
    """Limit the rest of this process: no files written, no other processes, bounded memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))


def read_pages() -> Iterator[str]:
    """Yield the text of each page; unreadable pages are skipped."""
    from pypdf import PdfReader

    reader = PdfReader(sys.stdin.buffer)
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit(LOCKED)
    for number, page in enumerate(reader.pages):
        if number >= MOST_PAGES:
            return
        # Any error may occur on a page of an untrusted file; the others may still be readable.
        with contextlib.suppress(Exception):
            yield page.extract_text()


def main() -> int:
    import pypdf  # noqa: F401 - before memory is limited, so that a missing package is told apart

    limit_resources()
    left = MOST_CHARACTERS
    try:
        for text in read_pages():
            part = text[:left].encode("utf-8", "replace")
            sys.stdout.buffer.write(part + b"\n\n")
            left -= len(text)
            if left <= 0:
                break
        sys.stdout.buffer.flush()
    except Exception:  # noqa: BLE001 - whatever a hostile file makes of the parser
        return UNREADABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
