"""git as a child process: never a prompt, never an option out of an address, always a limit."""

import os
import signal
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from rookery.outside.addresses import NOWHERE, Place, Reach
from rookery.outside.pinning import variables_for, words_for
from rookery.service.sources.commits import CannotAsk, UnknownRevision

SAFE = (
    # A redirect could lead to where the address itself may not.
    *("-c", "http.followRedirects=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.version=2"),
    *("-c", "credential.helper="),
    *("-c", "gc.auto=0"),
)
LIMITED = ("/bin/sh", "-c", 'ulimit -f "$0" && exec git "$@"')
"""No file that git writes grows beyond so many blocks."""
LATEST = "HEAD"
"""What a repository shows when it is asked for nothing in particular."""
BLOCK = 512
LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class Git:
    """How git is called here."""

    reach: Reach = field(default_factory=Reach)
    credentials: Path | None = None
    """A file of git's `store` helper: what the server shows for repositories that are known."""
    known: bool = True
    """Whether the server shows who it is, by these credentials or its ssh key."""
    seconds: float = 20.0
    largest_bytes: int = 2 * 10**9
    place: Place = NOWHERE
    """Where it was found that git may connect to."""

    def asking(self, repository: str) -> "Git":
        """Held to where this repository lies now; raises CannotAsk where that may not be asked."""
        return replace(self, place=self.reach.check(repository))

    def anonymous(self) -> "Git":
        return replace(self, known=False)

    def find(self, repository: str, revision: str) -> str:
        """The commit of a branch or a tag; raises UnknownRevision or CannotAsk."""
        asked = self.asking(repository)
        names = [f"refs/heads/{revision}", f"refs/tags/{revision}", f"refs/tags/{revision}^{{}}"]
        names += [revision] if revision == LATEST else []
        said = asked.run("ls-remote", "--quiet", "--", repository, *names)
        found = dict(line.split("\t", 1)[::-1] for line in said.splitlines() if "\t" in line)
        # Of a tag that is an object of its own, the commit it stands for.
        for name in (names[0], names[2], names[1], *names[3:]):
            if name in found:
                return found[name]
        raise UnknownRevision(revision, repository)

    def run(self, *words: str, folder: Path | None = None) -> str:
        """What git said; raises CannotAsk with its last words."""
        blocks = str(self.largest_bytes // BLOCK)
        process = subprocess.Popen(
            [*LIMITED, blocks, *SAFE, *words_for(self.place), *self._shown(), *words],
            cwd=folder or "/",
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            said, complaints = process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise CannotAsk(f"git took longer than {self.seconds:.0f} s") from None
        finally:
            _end(process)
        if process.returncode:
            raise CannotAsk(_last_words(complaints))
        return said.decode("utf-8", "replace")

    def _shown(self) -> tuple[str, ...]:
        if self.credentials is None or not self.known:
            return ()
        return ("-c", f"credential.helper=store --file='{self.credentials}'")

    def _environment(self) -> dict[str, str]:
        """Nothing of ours but where programs are: no settings, no secrets, no agent."""
        return {
            "PATH": os.defpath + ":/usr/local/bin",
            "HOME": _home(),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": ":".join(sorted(self.reach.schemes)) or "none",
            **variables_for(self.place),
            **({} if self.known else {"GIT_SSH_COMMAND": "false"}),
        }


def _home() -> str:
    """Where the ssh key lies; an account may have none."""
    try:
        return str(Path.home())
    except RuntimeError:
        return "/"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _last_words(complaints: bytes) -> str:
    lines = [line for line in complaints.decode("utf-8", "replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "ERROR:", "remote:"))] or lines
    return (told[-1] if told else "git failed").removeprefix("fatal: ")[:LONGEST_WORDS]
