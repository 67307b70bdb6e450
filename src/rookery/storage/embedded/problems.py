"""Why the embedded PostgreSQL does not start or stay up, one sentence for each cause."""

import errno
from pathlib import Path

from rookery.storage.problems import Problem


class EmbeddedProblem(Problem):
    """The embedded PostgreSQL has a problem."""


class BinariesMissing(EmbeddedProblem):
    """The PostgreSQL binaries are not installed: install `rookery[server]`, or name a server of
    your own in ROOKERY_DATABASE_URL."""


class FolderBusy(EmbeddedProblem):
    """The data folder {path} is in use by process {pid}: stop that process first, or choose another
    folder with --data."""


class FolderNotAFolder(EmbeddedProblem):
    """The data folder {path} cannot be made, because {obstacle} is a file: choose another folder
    with --data."""


class FolderNotCreatable(EmbeddedProblem):
    """The data folder {path} cannot be made ({reason}): choose another folder with --data."""


class FolderNotWritable(EmbeddedProblem):
    """The data folder {path} cannot be written ({reason}): make it writable, or choose another
    folder with --data."""


class NoSpace(EmbeddedProblem):
    """No space is left on the disk that holds {path}: free some and start again."""


class OtherOwner(EmbeddedProblem):
    """The database in {path} belongs to the account {owner}, but this process runs as {account}:
    start it as {owner}."""


class OtherVersion(EmbeddedProblem):
    """The database in {path} was written by PostgreSQL {found}, but this is PostgreSQL {wanted}:
    back it up with the Rookery that wrote it and restore the backup into a new folder."""


class NotADatabase(EmbeddedProblem):
    """The folder {path} holds something else than a PostgreSQL database: move it away and start
    again."""


class NoAccount(EmbeddedProblem):
    """PostgreSQL does not run as root, user namespaces are forbidden here ({reason}), and there is
    no unprivileged account to use: start Rookery as a normal user."""


class AccountLockedOut(EmbeddedProblem):
    """PostgreSQL does not run as root and user namespaces are forbidden here, so it runs as the
    account {account}, which cannot enter {path}: choose a folder that it can enter with --data, or
    start Rookery as a normal user."""


class NamelessAccount(EmbeddedProblem):
    """The account with number {uid} has no name on this machine and user namespaces are forbidden
    here ({reason}), so PostgreSQL cannot make a database: give the account a name in /etc/passwd.
    """


class NoSocketFolder(EmbeddedProblem):
    """The path {path} is too long for a socket, and no short folder could be made ({reason})."""


class LeftoversRemain(EmbeddedProblem):
    """Processes of an earlier PostgreSQL still use {path} and do not end: {pids}."""


class InitFailed(EmbeddedProblem):
    """The database in {path} could not be made: {reason}."""


class StartFailed(EmbeddedProblem):
    """PostgreSQL does not start: {reason}. Its log is {log}."""


class CrashLoop(EmbeddedProblem):
    """PostgreSQL failed to start {count} times in a row and is not started again: {reason}. Its log
    is {log}."""


class SupervisorLost(EmbeddedProblem):
    """The supervisor of the database ended {count} times before the database was ready and is not
    started again: {reason}."""


class UnsafeSettings(EmbeddedProblem):
    """The database runs with {settings}, so a crash could lose results that were acknowledged: turn
    it on again (look into {path})."""


def folder_problem(error: OSError, path: Path) -> EmbeddedProblem:
    """The sentence for an error of the operating system about a path that must be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(path=path)
    return FolderNotWritable(path=path, reason=error.strerror)


def by_name(name: str, fields: dict[str, object]) -> EmbeddedProblem:
    """The problem that a supervisor reported by its class name."""
    known = {kind.__name__: kind for kind in EmbeddedProblem.__subclasses__()}
    return known[name](**fields)
