"""The wheel that a server hands out to workers: only the modules of the server's package that a
worker imports, packed the same way on every machine. Its hash is the worker's version, so that a
change to pages, API or database leaves the workers alone."""

import base64
import hashlib
import importlib.metadata
import io
import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import rookery
from rookery.protocol.ed25519 import public_key, sign
from rookery.protocol.worker_answers import wheel_message

PACKAGE = Path(rookery.__file__).parent
REQUIREMENTS = "rookery/worker/renewal/requirements.txt"
COMMANDS = (
    *("worker", "match", "tune", "replay", "stats"),
    *("login", "submit", "runs", "ask", "watch", "engine", "engine_add", "book"),
)
"""The command modules that need nothing of the server."""
STARTS = (
    "rookery.cli.main",
    *(f"rookery.cli.{name}" for name in COMMANDS),
    "rookery.match.fledgling",
    "rookery.worker.sandbox.launcher",
)
"""The modules that are started by name. All others are found by following imports."""
DATA = ("rookery/books/rookery-demo.epd",)
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can hold. With a fixed time, equal files give equal bytes."""
FILE_MODE = 0o644 << 16
ENTRY_POINTS = "[console_scripts]\nrookery = rookery.cli.main:main\n"
_IMPORT = re.compile(
    r"^[ \t]*(?:from (rookery[\w.]*) import (\([^)]*\)|.*)|import (rookery[\w.]*))", re.MULTILINE
)
_NAME = re.compile(r"\w+")
WHEEL = "Wheel-Version: 1.0\nGenerator: rookery\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel, whole in memory: it is small, and whole fleets ask for it at once."""

    name: str
    content: bytes
    sha256: str
    key: str = ""
    """The server's public key; `key` and `signature` are hexadecimal."""
    signature: str = ""

    def signed(self, seed: bytes) -> "Wheel":
        """The wheel with a signature made with this secret seed."""
        signature = sign(seed, wheel_message(self.name, self.sha256))
        return replace(self, key=public_key(seed).hex(), signature=signature.hex())


@cache
def own_wheel() -> Wheel:
    """The wheel of this installation. It is made at the first call, which reads the modules of the
    worker."""
    return worker_wheel(PACKAGE)


def worker_wheel(package: Path) -> Wheel:
    """Make the wheel for workers from a package."""
    return pack_wheel(worker_files(package), rookery.__version__, read_requirements())


def worker_files(package: Path) -> dict[str, bytes]:
    """The files of this package that a worker needs, by their names in the wheel."""
    modules = modules_of(package)
    found: dict[str, bytes] = {}
    ahead = list(STARTS)
    while ahead:
        module = ahead.pop()
        name = modules[module].relative_to(package.parent).as_posix()
        if name not in found:
            found[name] = modules[module].read_bytes()
            above = module.rpartition(".")[0]
            names = {above, *find_imports(found[name].decode())}
            ahead += sorted(names & modules.keys())
    found |= {name: (package.parent / name).read_bytes() for name in DATA}
    return found | {REQUIREMENTS: read_locked_requirements().encode()}


def modules_of(package: Path) -> dict[str, Path]:
    """The files of a package's modules, by the names under which they are imported."""
    files = {
        file.relative_to(package.parent).with_suffix(""): file for file in package.rglob("*.py")
    }
    return {".".join(path.parts).removesuffix(".__init__"): files[path] for path in files}


def find_imports(source: str) -> Iterator[str]:
    """The names in this package that a module imports, in functions too. Some of them are not
    modules.

    Every server does this at its start. Parsing all these modules would take longer than the rest
    of making the wheel.
    """
    for origin, names, whole in _IMPORT.findall(source):
        yield origin or whole
        yield from (f"{origin}.{name}" for name in _NAME.findall(names))


def pack_wheel(files: Mapping[str, bytes], version: str, requires: tuple[str, ...] = ()) -> Wheel:
    """Pack a wheel. Equal files make equal wheels."""
    info = f"rookery-{version}.dist-info"
    whole = {
        **files,
        f"{info}/METADATA": _metadata(version, requires).encode(),
        f"{info}/WHEEL": WHEEL.encode(),
        f"{info}/entry_points.txt": ENTRY_POINTS.encode(),
    }
    record = f"{info}/RECORD"
    lines = [f"{name},{_digest(whole[name])},{len(whole[name])}" for name in sorted(whole)]
    whole[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made:
        for name in sorted(whole):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, FILE_MODE
            made.writestr(entry, whole[name])
    content = into.getvalue()
    name = f"rookery-{version}-py3-none-any.whl"
    return Wheel(name, content, hashlib.sha256(content).hexdigest())


def read_requirements() -> tuple[str, ...]:
    """The worker's requirements, from the installation or from the checkout."""
    try:
        found = importlib.metadata.requires("rookery") or []
        return tuple(line for line in found if "extra ==" not in line)
    except importlib.metadata.PackageNotFoundError:
        return _from_checkout()


def read_locked_requirements() -> str:
    """The requirements with hashes if the lock file is there, else with the version ranges of the
    package."""
    for lock in (PACKAGE.parent / REQUIREMENTS, PACKAGE.parents[1] / "locks" / "worker.txt"):
        if lock.is_file():
            return lock.read_text(encoding="utf-8")
    return "".join(f"{line}\n" for line in read_requirements())


def _from_checkout() -> tuple[str, ...]:
    try:
        text = (PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return ()
    return tuple(tomllib.loads(text)["project"]["dependencies"])


def _metadata(version: str, requires: tuple[str, ...]) -> str:
    head = ["Metadata-Version: 2.1", "Name: rookery", f"Version: {version}"]
    tail = [f"Requires-Dist: {line}" for line in requires]
    return "\n".join([*head, "Requires-Python: >=3.11", *tail, ""])


def _digest(content: bytes) -> str:
    found = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={found.decode().rstrip('=')}"
