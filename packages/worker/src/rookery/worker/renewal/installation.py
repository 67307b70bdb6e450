"""Installs a worker on a machine, and newer versions beside it. It needs only Python's standard
library, because a server's install script contains this file.

    versions/<hash of the wheel>/       the wheel, unpacked, with the name of its environment
    envs/<hash of the requirements>/    an environment with the locked requirements
    current                             the version that is started
    bin/rookery                         starts it
    probation                           the version that must still show that it works
    server.key                          the public key that must have signed all later versions

A version without new requirements shares its environment with the previous one. Everything is made
under a temporary name and renamed when it is complete, so that it may be interrupted at any time.
"""

import hashlib
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LEAST_PYTHON = (3, 11)
LARGEST_WHEEL = 200 * 2**20
DOWNLOAD_SECONDS = 60
DIGITS = 16
RENEWAL = Path("rookery", "worker", "renewal")
REQUIREMENTS = RENEWAL / "requirements.txt"
PROBATION = "probation.py"
MARK, ENVIRONMENT, WHOLE, KEY = "wheel.sha256", "environment", "whole", "server.key"
FINGERPRINT_DIGITS = 32
OPEN_TO_ALL = (
    "{server} is reached by http: anybody on the way could replace the worker with another program."
    " Use an https address, or allow http with {flag}."
)
LAUNCHER = """\
#!/bin/sh
root={root}
version="$root/versions/$(cat "$root/current")"
ROOKERY_PYTHONPATH=${{ROOKERY_PYTHONPATH-${{PYTHONPATH-}}}}
PYTHONPATH="$version${{ROOKERY_PYTHONPATH:+:$ROOKERY_PYTHONPATH}}"
export PYTHONPATH ROOKERY_PYTHONPATH
python="$root/envs/$(cat "$version/environment")/bin/python"
if [ -e "$root/probation" ]; then exec "$python" "$root/bin/probation.py" "$@"; fi
exec "$python" -m rookery.cli.main "$@"
"""


class InstallationFailed(Exception):
    """The installation failed. The text is a whole sentence."""


@dataclass(frozen=True)
class InstallFolder:
    """The folder of one installation."""

    root: Path

    @property
    def launcher(self) -> Path:
        return self.root / "bin" / "rookery"

    def version(self, digest: str) -> Path:
        return self.root / "versions" / digest[:DIGITS]

    def current(self) -> Path:
        return self.root / "versions" / (self.root / "current").read_text().strip()

    def python(self, version: Path) -> Path:
        env = self.root / "envs" / (version / ENVIRONMENT).read_text().strip()
        return env / "bin" / "python"

    def key(self) -> str:
        """Return the public key that versions must be signed with; empty if none was pinned."""
        try:
            return (self.root / KEY).read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    def pin(self, key: str) -> None:
        """Accept only versions signed with this key from now on."""
        self.root.mkdir(parents=True, exist_ok=True)
        _write(self.root / KEY, key)

    def switch(self, version: Path) -> None:
        """Make this the version that is started."""
        self.root.mkdir(parents=True, exist_ok=True)
        _write(self.root / "current", version.name)

    def write_launcher(self, version: Path) -> None:
        """Write the launcher, and beside it the probation script of a version that works."""
        text = LAUNCHER.format(root=shlex.quote(str(self.root)))
        self.launcher.parent.mkdir(parents=True, exist_ok=True)
        watch = (version / RENEWAL / PROBATION).read_text(encoding="utf-8")
        _write(self.launcher.with_name(PROBATION), watch)
        _write(self.launcher, text)
        self.launcher.chmod(0o755)

    def tidy(self, *kept: Path) -> None:
        """Remove everything except these versions, the current one and their environments."""
        versions = {*kept, self.current()}
        envs = {(version / ENVIRONMENT).read_text().strip() for version in versions}
        for folder in (self.root / "versions").iterdir():
            if folder not in versions:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.root / "envs").iterdir():
            if folder.name not in envs:
                shutil.rmtree(folder, ignore_errors=True)


def add_version(place: InstallFolder, wheel: bytes, digest: str) -> Path:
    """Unpack a version beside the others, with an environment. Raises InstallationFailed."""
    if hashlib.sha256(wheel).hexdigest() != digest:
        raise InstallationFailed("What was downloaded is not what the server promised.")
    folder = place.version(digest)
    if (folder / ENVIRONMENT).exists():
        return folder
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as pack:
            pack.extractall(part)
        _write(part / MARK, digest)
        _write(part / ENVIRONMENT, _environment(place, part / REQUIREMENTS))
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    except zipfile.BadZipFile as error:
        raise InstallationFailed(f"The server's wheel can't be unpacked: {error}.") from None
    except OSError as error:
        raise InstallationFailed(f"{place.root} can't be written to: {error}.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def environment_name(requirements: bytes) -> str:
    """Return a name that is the same for equal requirements under the same Python."""
    tag = f"{platform.python_version()} {platform.machine()}".encode()
    return hashlib.sha256(requirements + tag).hexdigest()[:DIGITS]


def _environment(place: InstallFolder, requirements: Path) -> str:
    """Return the name of an environment with these requirements. It is made if there is none
    yet."""
    text = requirements.read_bytes()
    name = environment_name(text)
    folder = place.root / "envs" / name
    if not (folder / WHOLE).exists():
        _make_environment(folder, requirements, hashed=b"--hash=" in text)
    return name


def _make_environment(folder: Path, requirements: Path, *, hashed: bool) -> None:
    """Make an environment in place, since its programs contain its path. A mark completes it."""
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)], "An environment can't be made")
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    checked = ["--require-hashes"] if hashed else []
    _run([*pip, *checked, "-r", str(requirements)], "The requirements can't be installed")
    _write(folder / WHOLE, "")


def _run(command: list[str], failure: str) -> None:
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise InstallationFailed(f"{failure}: {error}.") from None
    if ended.returncode:
        raise InstallationFailed(f"{failure}:\n{(ended.stdout + ended.stderr).strip()}")


def _write(file: Path, text: str) -> None:
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def usual_root() -> Path:
    given = os.environ.get("ROOKERY_WORKER_HOME")
    if given:
        return Path(given).absolute()
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "rookery-worker"


def download(address: str) -> bytes:
    if not address.startswith(("http://", "https://")):
        raise InstallationFailed(f"{address} is not the address of a server.")
    try:
        with urllib.request.urlopen(address, timeout=DOWNLOAD_SECONDS) as answer:  # noqa: S310 - looked at above
            received: bytes = answer.read(LARGEST_WHEEL + 1)
    except (OSError, ValueError) as error:
        raise InstallationFailed(f"{address} can't be fetched: {error}.") from None
    if len(received) > LARGEST_WHEEL:
        raise InstallationFailed(f"{address} is larger than {LARGEST_WHEEL >> 20} MiB.")
    return received


def is_open_to_all(server: str) -> bool:
    """Whether the connection to that server is unencrypted, so that others could change data."""
    parts = urllib.parse.urlsplit(server)
    host = parts.hostname or ""
    near = host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host)
    return parts.scheme != "https" and not near


def check_fingerprint(key: str, expected: str) -> None:
    """Raise InstallationFailed if the server's key is not the one that the page showed."""
    found = hashlib.sha256(bytes.fromhex(key)).hexdigest()[:FINGERPRINT_DIGITS]
    if expected and found != expected.lower():
        raise InstallationFailed(
            f"The server's key has the fingerprint {found}, but should have {expected}:"
            " nothing was installed."
        )


def remember_server(place: InstallFolder, server: str, account: str) -> Path | None:
    """Write the configuration if an account is given as NAME:TOKEN; otherwise keep the old one."""
    if not account:
        return None
    token, config = place.root / "worker.token", place.root / "worker.toml"
    token.touch(mode=0o600)
    token.write_text(f"{account}\n", encoding="utf-8")
    told = "allow_http = true\n" if is_open_to_all(server) else ""
    _write(config, f'server = "{server}"\ntoken_file = "{token.as_posix()}"\n{told}')
    return config


def install(server: str, wheel: str, digest: str, key: str, wishes: Mapping[str, str]) -> str:
    """Install the worker, and return the text to print. Raises InstallationFailed."""
    if sys.version_info < LEAST_PYTHON:
        raise InstallationFailed("A Rookery worker needs Python 3.11 or newer.")
    if os.name != "posix":
        raise InstallationFailed("A Rookery worker needs Linux; on macOS it is untried.")
    if is_open_to_all(server) and not wishes.get("ROOKERY_ALLOW_HTTP"):
        raise InstallationFailed(OPEN_TO_ALL.format(server=server, flag="ROOKERY_ALLOW_HTTP=1"))
    check_fingerprint(key, wishes.get("ROOKERY_FINGERPRINT", ""))
    place = InstallFolder(usual_root())
    version = add_version(place, download(f"{server}/worker/{wheel}"), digest)
    place.pin(key)
    place.write_launcher(version)
    place.switch(version)
    place.tidy()
    config = remember_server(place, server, wishes.get("ROOKERY_ACCOUNT", ""))
    start = f"worker --config {config}" if config else f"worker configure   (server: {server})"
    return f"Installed in {place.root}. Start it with:\n  {place.launcher} {start}"


def main(words: list[str]) -> int:
    """Install. The script passes the server, the wheel, its hash and the server's key."""
    try:
        server, wheel, digest, key = words
        # In the environment, because everybody on a machine can read the words of a command.
        print(install(server, wheel, digest, key, os.environ))
    except InstallationFailed as failed:
        print(f"install: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
