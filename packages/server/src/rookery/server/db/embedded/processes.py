"""Switches to an account under which PostgreSQL agrees to run, without changing the folder's owner.

PostgreSQL refuses to run as root, and initdb refuses an account without a name. Both accept a user
namespace that maps our account to an ordinary account with a name; files keep their owner. Where
namespaces are forbidden, root switches to an unprivileged account and gives it the files.
"""

import ctypes
import errno
import os
import pwd
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rookery.server.db.embedded.folder import NO_ACCOUNT, OTHER_OWNER, Layout, account_name
from rookery.server.db.target import Problem

# Two system calls that Python does not offer: one creates a user namespace, the other ends a
# process with its parent.

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def unshare_user() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def dying_with_parent(death: signal.Signals) -> Callable[[], None]:
    """Return the function that a forked child calls before exec, so that the kernel signals it when
    its parent ends.

    The kernel binds this to the forking thread and forgets it when the account changes, so the
    parent must have a single thread and must have changed its account before.
    """
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def before_exec() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        libc.prctl(PR_SET_PDEATHSIG, int(death), 0, 0, 0)
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(1)

    return before_exec


INSIDE = 1000
FALLBACKS = ("rookery", "nobody")


def settle(layout: Layout, places: Iterable[Path], binaries: Path) -> str:
    """Switch to the account that runs PostgreSQL, and return a short description of how.

    That account may be unable to read Python's own files, so nothing may be imported after this.
    """
    uid, fallback = os.geteuid(), _fallback()
    owner = layout.cluster.stat().st_uid if layout.cluster.exists() else uid
    if owner != uid and not (uid == 0 and fallback and owner == fallback.pw_uid):
        raise Problem(
            OTHER_OWNER, path=layout.cluster, owner=account_name(owner), account=account_name(uid)
        )
    if uid != 0 and _has_name(uid):
        return f"as {account_name(uid)}"
    refusal = _namespace_refusal(uid) if owner == uid else "the database belongs to another account"
    if refusal is None:
        enter_namespace(uid)
        return "in a user namespace"
    if uid != 0:
        raise Problem(
            "The account with number {uid} has no name on this machine and user namespaces are"
            " forbidden here ({reason}), so PostgreSQL cannot make a database: give the "
            "account a name in /etc/passwd.",
            uid=uid,
            reason=refusal,
        )
    if fallback is None:
        raise Problem(NO_ACCOUNT, reason=refusal)
    return _drop(fallback, layout, places, binaries, refusal)


def _has_name(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


def _fallback() -> pwd.struct_passwd | None:
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((accounts[name] for name in FALLBACKS if name in accounts), None)


def enter_namespace(uid: int) -> None:
    numbers = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0]
    inside = INSIDE if INSIDE in numbers or not numbers else numbers[0]
    unshare_user()
    Path("/proc/self/uid_map").write_text(f"{inside} {uid} 1", encoding="utf-8")


def _namespace_refusal(uid: int) -> str | None:
    """Why a user namespace can't be entered; None if it can. Tried in a child, because a namespace
    that was entered partly cannot be left."""
    child = os.fork()
    if child == 0:
        try:
            enter_namespace(uid)
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == errno.ENOSPC:
        return "their number is limited"
    return None if code == 0 else os.strerror(abs(code))


def _drop(
    account: pwd.struct_passwd,
    layout: Layout,
    places: Iterable[Path],
    binaries: Path,
    refusal: str,
) -> str:
    _open_fresh_folder(layout)
    try:
        for place in places:
            _give(place, account)
        os.setgroups([])
        os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
        os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
    except OSError as error:
        raise Problem(
            NO_ACCOUNT, reason=f"{refusal}; {account.pw_name}: {error.strerror}"
        ) from None
    for folder in (layout.home, binaries):
        if not os.access(folder, os.R_OK | os.X_OK):
            raise Problem(
                "PostgreSQL does not run as root and user namespaces are forbidden here, so it"
                " runs as the account {account}, which cannot enter {path}: choose a folder "
                "that it can enter with --data, or start Rookery as a normal user.",
                account=account.pw_name,
                path=folder,
            )
    return f"as {account.pw_name}, because user namespaces are forbidden ({refusal})"


def _open_fresh_folder(layout: Layout) -> None:
    """Let other accounts pass through (but not list) a data folder that we have just created."""
    known = {layout.lock.name, layout.home.name}
    if not layout.cluster.exists() and {p.name for p in layout.data.iterdir()} <= known:
        layout.data.chmod(0o711)


def _give(place: Path, account: pwd.struct_passwd) -> None:
    if place.stat().st_uid == account.pw_uid:
        return
    for folder, _, files in os.walk(place):
        for path in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


# Finds processes of an earlier PostgreSQL on the same folder by their working folder, and ends
# them.

PATIENCE_SECONDS = 1.0
LIMIT_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 0.02


def end(places: Iterable[Path], pause: Callable[[float], None]) -> None:
    """Wait for processes that work in one of the places to end, then kill the rest.

    A backend that outlives its postmaster could write into a cluster that a new one recovers.
    """
    folders = {(s.st_dev, s.st_ino): p for p in places if (s := _stat(p))}
    began = time.monotonic()
    while folders and (pids := _working_in(set(folders))):
        waited = time.monotonic() - began
        if waited > LIMIT_SECONDS:
            raise Problem(
                "Processes of an earlier PostgreSQL still use {path} and do not end: {pids}.",
                path=next(iter(folders.values())),
                pids=pids,
            )
        if waited > PATIENCE_SECONDS:
            for pid in pids:
                _kill(pid)
        pause(LOOK_AGAIN_SECONDS)


def _working_in(folders: set[tuple[int, int]]) -> list[int]:
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in numbers if _is_postgres(pid) and _folder_of(pid) in folders]


def _is_postgres(pid: int) -> bool:
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return name.strip() in ("postgres", "initdb")


def _folder_of(pid: int) -> tuple[int, int] | None:
    found = _stat(Path(f"/proc/{pid}/cwd"))
    return (found.st_dev, found.st_ino) if found else None


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
