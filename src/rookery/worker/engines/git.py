"""Fetches one commit of any git repository, with its submodules, and nothing of its history."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery.core.complaint import describe_exit
from rookery.worker.engines.order import BuildFailed, Whose
from rookery.worker.engines.output import Output, tells_of_full_disk
from rookery.worker.engines.programs import Program, TooLong, run

SECONDS = 900.0
OUTSIDE = ("http", "https")
OWN = (*OUTSIDE, "git", "ssh", "file")
Wrap = Callable[[Sequence[str], Path, Mapping[str, str]], tuple[str, ...]]
"""Puts a command of git, its folder and its variables into the sandbox."""
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?", re.ASCII)
CONFIG = """\
[safe]
	directory = *
[advice]
	detachedHead = false
[init]
	defaultBranch = main
[http]
	followRedirects = false
"""
"""Ours alone: that of the person at the machine may hold secrets, and rewrites of addresses."""
TRUST = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR")
PROXIES = (
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
)
"""Whom the owner trusts and through whom the world is reached: for git alone, not for builds."""
UNTRUSTED = ("certificate verification failed", "SSL certificate problem")
NOT_TRUSTED = (
    "this machine does not trust the server's certificate"
    " (GIT_SSL_CAINFO names a file with those it is to trust)"
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A source tree, and one name for all of its contents."""

    folder: Path
    tree: str


class Git:
    """Runs git for one fetch, in a folder of its own."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        output: Output,
        wrap: Wrap | None = None,
    ) -> None:
        """Without `wrap` it has the reach of the person at the machine."""
        self._folder = folder
        self._output = output
        self._wrap = wrap
        self._environment = {
            **environment,
            "GIT_CONFIG_GLOBAL": str(folder.parent / "gitconfig"),
            **({"GIT_CONFIG_NOSYSTEM": "1"} if wrap else {}),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_ALLOW_PROTOCOL": ":".join(OUTSIDE if wrap else OWN),
            "GIT_LFS_SKIP_SMUDGE": "1",
        }

    async def fetch(self, repository: str, commit: str) -> None:
        """Check the commit out into the folder; raises BuildFailed."""
        await self._must("init", "--quiet")
        # Submodules may be named by where they lie from here.
        await self._must("remote", "add", "--", "origin", repository)
        # Most servers give a single commit; the others are asked for all they have.
        if await self._git("fetch", "--depth=1", "--no-tags", "--", repository, commit):
            await self._must("fetch", "--no-tags", "--", repository, "+refs/*:refs/fetched/*")
        await self._must("checkout", "--quiet", "--force", commit)
        if await self._git("submodule", "update", "--init", "--recursive", "--depth=1"):
            await self._must("submodule", "update", "--init", "--recursive")

    async def _must(self, *words: str) -> None:
        if code := await self._git(*words):
            log = self._output.text
            why = trouble(log) or f"git {words[0]} {describe_exit(code)}"
            raise BuildFailed(f"The source could not be fetched: {why}.", log, _whose(log))

    async def _git(self, *words: str) -> int:
        output = self._output
        output.line(f"$ git {' '.join(words)}")
        program = Program(("git", *words), self._folder, self._environment, SECONDS)
        if self._wrap:
            command = self._wrap(program.command, self._folder, self._environment)
            program = Program(command, seconds=SECONDS)
        try:
            return await run(program, output)
        except FileNotFoundError:
            raise BuildFailed("git is not installed on this machine.") from None
        except TooLong:
            raise BuildFailed("The source could not be fetched in time.", output.text) from None


def reach() -> dict[str, str]:
    """What git is told of the worker's own surroundings."""
    names = (*TRUST, *PROXIES)
    return {name: os.environ[name] for name in names if name in os.environ}  # noqa: TID251 - handed on, not read


def trouble(log: str) -> str:
    """What kept git from its work, where its words are known."""
    if tells_of_full_disk(log):
        return "the disk is full"
    return NOT_TRUSTED if any(words in log for words in UNTRUSTED) else ""


def _whose(log: str) -> Whose:
    """Another machine meets the same trouble with a commit that is not there."""
    gone = ("did not match", "not our ref", "unable to read tree", "reference is not a tree")
    return "run" if any(words in log for words in gone) else "machine"


def is_web(repository: str) -> bool:
    """Whether it is fetched by http or https, which is all that a server's order may ask for."""
    return repository.startswith(("https://", "http://"))
