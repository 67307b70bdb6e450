"""Becoming an account under which PostgreSQL agrees to run, without giving away the folder.

PostgreSQL refuses root, and initdb refuses an account without a name. Both are answered by a user
namespace in which our account has an ordinary, named number: files keep their owner. Where
namespaces are forbidden, root drops to an unprivileged account instead.
"""

import errno
import os
import pwd
from collections.abc import Iterable
from pathlib import Path

from rookery.storage.embedded import kernel
from rookery.storage.embedded.folder import account_name
from rookery.storage.embedded.layout import Layout
from rookery.storage.embedded.problems import (
    AccountLockedOut,
    NamelessAccount,
    NoAccount,
    OtherOwner,
)

INSIDE = 1000
FALLBACKS = ("rookery", "nobody")


def settle(layout: Layout, places: Iterable[Path], binaries: Path) -> str:
    """Becomes the account that runs PostgreSQL and says in a few words how.

    That account may not be able to read Python's own files: import nothing after this.
    """
    uid, fallback = os.geteuid(), _fallback()
    owner = layout.cluster.stat().st_uid if layout.cluster.exists() else uid
    if owner != uid and not (uid == 0 and fallback and owner == fallback.pw_uid):
        raise OtherOwner(path=layout.cluster, owner=account_name(owner), account=account_name(uid))
    if uid != 0 and _has_name(uid):
        return f"as {account_name(uid)}"
    refusal = _namespace_refusal(uid) if owner == uid else "the database belongs to another account"
    if refusal is None:
        _enter_namespace(uid)
        return "in a user namespace"
    if uid != 0:
        raise NamelessAccount(uid=uid, reason=refusal)
    if fallback is None:
        raise NoAccount(reason=refusal)
    return _drop(fallback, layout, places, binaries, refusal)


def _has_name(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


def _fallback() -> pwd.struct_passwd | None:
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((accounts[name] for name in FALLBACKS if name in accounts), None)


def _enter_namespace(uid: int) -> None:
    numbers = [entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid != 0]
    inside = INSIDE if INSIDE in numbers or not numbers else numbers[0]
    kernel.unshare_user()
    Path("/proc/self/uid_map").write_text(f"{inside} {uid} 1", encoding="utf-8")


def _namespace_refusal(uid: int) -> str | None:
    """Tries it in a child, because a namespace entered by half cannot be left again."""
    child = os.fork()
    if child == 0:
        try:
            _enter_namespace(uid)
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
        raise NoAccount(reason=f"{refusal}; {account.pw_name}: {error.strerror}") from None
    for folder in (layout.home, binaries):
        if not os.access(folder, os.R_OK | os.X_OK):
            raise AccountLockedOut(account=account.pw_name, path=folder)
    return f"as {account.pw_name}, because user namespaces are forbidden ({refusal})"


def _open_fresh_folder(layout: Layout) -> None:
    """Lets others pass through (not look into) a data folder that we have just made ourselves."""
    known = {layout.lock.name, layout.home.name}
    if not layout.cluster.exists() and {p.name for p in layout.data.iterdir()} <= known:
        layout.data.chmod(0o711)


def _give(place: Path, account: pwd.struct_passwd) -> None:
    if place.stat().st_uid == account.pw_uid:
        return
    for folder, _, files in os.walk(place):
        for path in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
