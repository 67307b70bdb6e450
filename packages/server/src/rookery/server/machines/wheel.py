"""The wheel that a server hands out to workers: the packages that a worker is made of, packed the
same way on every machine. Its hash is the worker's version, so that a change to the server leaves
the workers alone."""

import base64
import hashlib
import importlib.metadata
import importlib.util
import io
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rookery.core import __version__
from rookery.core.protocol.ed25519 import fingerprint, public_key, sign
from rookery.core.protocol.worker_answers import wheel_message

PACKAGES = ("cli", "core", "match", "worker")
"""What a worker is made of. A server may be installed without them; it then hands out nothing."""
REQUIREMENTS = "rookery/worker/renewal/requirements.txt"
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can hold. With a fixed time, equal files give equal bytes."""
FILE_MODE = 0o644 << 16
ENTRY_POINTS = "[console_scripts]\nrookery = rookery.cli.main:main\n"
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

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key with which workers verify the wheel."""
        return fingerprint(bytes.fromhex(self.key))

    def signed(self, seed: bytes) -> "Wheel":
        """The wheel with a signature made with this secret seed."""
        signature = sign(seed, wheel_message(self.name, self.sha256))
        return replace(self, key=public_key(seed).hex(), signature=signature.hex())


NO_WHEEL = Wheel("", b"", "")
"""That of a server without the packages of a worker."""


@cache
def own_wheel() -> Wheel:
    """The wheel of this installation. It is made at the first call, which reads the packages."""
    return worker_wheel(find_packages())


def find_packages() -> Mapping[str, Path]:
    """The folders of a worker's packages in this installation, by name. Nothing is imported."""
    found = {name: importlib.util.find_spec(f"rookery.{name}") for name in PACKAGES}
    return {name: Path(spec.origin).parent for name, spec in found.items() if spec and spec.origin}


def worker_wheel(packages: Mapping[str, Path]) -> Wheel:
    """Make the wheel for workers from these packages."""
    if packages.keys() != set(PACKAGES):
        return NO_WHEEL
    return pack_wheel(worker_files(packages), __version__, read_requirements())


def worker_files(packages: Mapping[str, Path]) -> dict[str, bytes]:
    """The files of the packages, by their names in the wheel."""
    found = {
        f"rookery/{name}/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for name, folder in packages.items()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    return found | {REQUIREMENTS: read_locked_requirements().encode()}


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
    """The requirements of the packages other than one another, from the installation or from the
    checkout."""
    lines = {line for name in PACKAGES for line in _requirements_of(name)}
    return tuple(sorted(line for line in lines if not line.startswith("rookery-")))


def _requirements_of(name: str) -> Iterator[str]:
    try:
        yield from importlib.metadata.requires(f"rookery-{name}") or []
    except importlib.metadata.PackageNotFoundError:
        project = find_packages()[name].parents[2] / "pyproject.toml"
        if project.is_file():
            yield from tomllib.loads(project.read_text("utf-8"))["project"]["dependencies"]


def read_locked_requirements() -> str:
    """The requirements with hashes if the lock file is there, else with the version ranges of the
    packages."""
    worker = find_packages()["worker"]
    installed = worker / "renewal" / "requirements.txt"
    checkout = [each / "locks" / "worker.txt" for each in worker.parents[4:5]]
    for lock in (installed, *checkout):
        if lock.is_file():
            return lock.read_text(encoding="utf-8")
    return "".join(f"{line}\n" for line in read_requirements())


def _metadata(version: str, requires: tuple[str, ...]) -> str:
    head = ["Metadata-Version: 2.1", "Name: rookery", f"Version: {version}"]
    tail = [f"Requires-Dist: {line}" for line in requires]
    return "\n".join([*head, "Requires-Python: >=3.11", *tail, ""])


def _digest(content: bytes) -> str:
    found = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={found.decode().rstrip('=')}"
