"""The wheel that a server carries: its own package, packed the same way on every machine."""

import base64
import hashlib
import importlib.metadata
import io
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
LEFT_OUT = frozenset({"__pycache__"})
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip file knows; with it the same files give the same bytes."""
FILE_MODE = 0o644 << 16
ENTRY_POINTS = "[console_scripts]\nrookery = rookery.cli.main:main\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: rookery\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel, whole in memory: it is small, and asked for by whole fleets at once."""

    name: str
    content: bytes
    sha256: str
    key: str = ""
    """The public key of the server, and its signature, as digits."""
    signature: str = ""

    def signed(self, seed: bytes) -> "Wheel":
        """With the signature of whoever has that secret."""
        signature = sign(seed, wheel_message(self.name, self.sha256))
        return replace(self, key=public_key(seed).hex(), signature=signature.hex())


@cache
def own_wheel() -> Wheel:
    """Made at the first call, which reads all files of the package."""
    files = dict(package_files(PACKAGE))
    files.setdefault(REQUIREMENTS, locked_requirements().encode())
    return pack(files, rookery.__version__, requirements())


def package_files(package: Path) -> Iterator[tuple[str, bytes]]:
    """By the names they have in a wheel."""
    for file in sorted(package.rglob("*")):
        if file.is_file() and not LEFT_OUT & set(file.parts) and file.suffix != ".pyc":
            yield file.relative_to(package.parent).as_posix(), file.read_bytes()


def pack(files: Mapping[str, bytes], version: str, requires: tuple[str, ...] = ()) -> Wheel:
    """A wheel of these files; equal files make equal wheels."""
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


def requirements() -> tuple[str, ...]:
    """What a worker needs, from the installation or from the checkout that this runs in."""
    try:
        found = importlib.metadata.requires("rookery") or []
        return tuple(line for line in found if "extra ==" not in line)
    except importlib.metadata.PackageNotFoundError:
        return _from_checkout()


def locked_requirements() -> str:
    """With hashes where the checkout's lock is at hand, else as loose as the package says."""
    lock = PACKAGE.parents[1] / "locks" / "worker.txt"
    if lock.is_file():
        return lock.read_text(encoding="utf-8")
    return "".join(f"{line}\n" for line in requirements())


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
