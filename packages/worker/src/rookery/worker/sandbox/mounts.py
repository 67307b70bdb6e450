"""The file tree that a program in the sandbox sees: the system, read-only, and a few places of its
own.

Everything in it was added by name. Other files of the machine, above all homes, are not hidden but
absent. The tree is built with system calls, or described to bubblewrap.
"""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rookery.worker.sandbox.enclosure import BOOT, HOME, MEBIBYTE, Enclosure, UserIds

# System calls that Python does not offer: namespaces, mounts and process attributes.

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38

SYS_MOUNT_SETATTR = 442
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    words = (text.encode() or None for text in (source, target, kind))
    result = _libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None)
    _checked(result, f"mount {target}")


def unmount(target: str) -> None:
    _checked(_libc.umount2(target.encode(), ctypes.c_int(MNT_DETACH)), f"unmount {target}")


def pivot_root(new: str, old: str) -> None:
    _checked(_libc.pivot_root(new.encode(), old.encode()), "pivot_root")


def restrict_mounts(path: str, flags: int, *, deep: bool) -> None:
    """Add flags to a mount and, with `deep`, to all below it. Raises OSError on an old kernel."""
    attributes = bytes(_MountAttributes(attr_set=flags))
    words = (AT_FDCWD, path.encode(), AT_RECURSIVE if deep else 0, attributes, len(attributes))
    system_call(f"restrict {path}", SYS_MOUNT_SETATTR, *words)


def system_call(what: str, number: int, *words: int | bytes) -> None:
    """Make a call by its number. Bytes are handed over by their address."""
    given = (ctypes.c_long(each) if isinstance(each, int) else each for each in words)
    _checked(_libc.syscall(ctypes.c_long(number), *given), what)


def process_control(what: int, value: int) -> None:
    words = (ctypes.c_ulong(each) for each in (value, 0, 0, 0))
    _checked(_libc.prctl(ctypes.c_int(what), *words), f"prctl {what}")


TEMPORARY = "/tmp"  # noqa: S108 - in a namespace of our own
SHARED = "/dev/shm"  # noqa: S108 - the same
OLD, NEW = "/old", "/new"
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "nix", "gnu")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime")
TRUST = ("ssl", "ca-certificates", "pki")
"""The machine's trusted certificates, for programs with network access."""
DEVICES = ("null", "zero", "full", "random", "urandom")
READ_ONLY = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV


def lay_out(enclosure: Enclosure, inner: UserIds) -> None:
    """Build the tree at NEW. The machine's own tree is at OLD until `move_in`."""
    mount("", "/", flags=MS_REC | MS_PRIVATE)
    _temporary(TEMPORARY, "size=1m,mode=755")
    Path(TEMPORARY + OLD).mkdir()
    pivot_root(TEMPORARY, TEMPORARY + OLD)
    os.chdir("/")
    Path(NEW).mkdir()
    _temporary(NEW, "size=4m,mode=755")
    _system()
    _settings(enclosure, inner)
    _devices()
    _own_places(enclosure, inner)
    _given(enclosure)


def move_in() -> None:
    """Switch to the new tree and mount its /proc. Called by the first process of the pid
    namespace."""
    Path(NEW + "/proc").mkdir()
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    mount("proc", NEW + "/proc", "proc", flags)
    os.chdir(NEW)
    pivot_root(".", ".")
    unmount(".")
    os.chdir("/")


def forbid_namespaces() -> None:
    """Forbid further namespaces, and writing to the kernel's settings and to the root."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    _restrict("/proc", deep=False)
    _restrict("/", deep=False)


def _system() -> None:
    for name in SYSTEM:
        there = Path(OLD, name)
        if there.is_symlink():
            Path(NEW, name).symlink_to(there.readlink())
        elif there.is_dir():
            _bind(f"/{name}")
    # Engines read processors and memory nodes here, and play worse without.
    if Path(OLD + "/sys/devices/system").is_dir():
        _bind("/sys/devices/system")


def _settings(enclosure: Enclosure, inner: UserIds) -> None:
    for name in (*SETTINGS, *(TRUST if enclosure.relay else ())):
        if Path(OLD, "etc", name).exists():
            _bind(f"/etc/{name}")
    account = f"engine:x:{inner.uid}:{inner.gid}::{HOME}:/bin/sh\n"
    Path(NEW, "etc").mkdir(exist_ok=True)
    Path(NEW, "etc/passwd").write_text(account)


def _devices() -> None:
    for name in DEVICES:
        _bind(f"/dev/{name}", restricted=False)
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        Path(NEW, "dev", name).symlink_to(f"/proc/self/{target}")


def _own_places(enclosure: Enclosure, inner: UserIds) -> None:
    size = f"size={enclosure.temporary_mib}m,mode=700,uid={inner.uid},gid={inner.gid}"
    for path in (TEMPORARY, SHARED, HOME):
        Path(NEW + path).mkdir(parents=True)
        _temporary(NEW + path, size)
    Path(NEW, "var").mkdir()
    Path(NEW, "var/tmp").symlink_to(TEMPORARY)
    Path(NEW, "run").mkdir()


def _given(enclosure: Enclosure) -> None:
    for path in outermost(enclosure.readable):
        _bind(path)
    if enclosure.relay:
        _bind(enclosure.relay)
    for path in enclosure.writable:
        _bind(path, restricted=False)


def outermost(paths: Iterable[str]) -> list[str]:
    """Return the paths without those inside another one or inside the system's folders."""
    covered = [f"/{name}" for name in SYSTEM]
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path == each or path.startswith(f"{each}/") for each in (*covered, *kept)):
            kept.append(path)
    return kept


def _bind(path: str, *, restricted: bool = True) -> None:
    source, target = Path(OLD + path), Path(NEW + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        target.mkdir(exist_ok=True)
    elif not target.exists():
        target.touch()
    mount(str(source), str(target), flags=MS_BIND | MS_REC)
    if restricted:
        _restrict(str(target), deep=True)


def _temporary(target: str, options: str) -> None:
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options)


def _restrict(path: str, *, deep: bool) -> None:
    try:
        restrict_mounts(path, READ_ONLY, deep=deep)
    except OSError:
        # Kernels before 5.12: change one mount after another, and keep the flags that each must
        # keep.
        for each in _mounts_below(path) if deep else (path,):
            flags = os.statvfs(each).f_flag & (MS_NOEXEC | MS_NODEV)
            flags |= MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID
            mount("", each, flags=flags)


def _mounts_below(path: str) -> list[str]:
    lines = Path(OLD + "/proc/self/mountinfo").read_text().splitlines()
    places = [_unescaped(line.split()[4]) for line in lines]
    return [each for each in places if each == path or each.startswith(f"{path}/")]


def _unescaped(place: str) -> str:
    # Decoded by hand: Python's own codec would have to be loaded from a tree that is gone.
    for code, character in (("040", " "), ("011", "\t"), ("012", "\n"), ("134", "\\")):
        place = place.replace(f"\\{code}", character)
    return place


# Isolation by bubblewrap, if this machine allows it to make namespaces but not the worker. It may
# be set-uid, or allowed by name in the machine's security settings. The tree is the same. The
# launcher is the first process inside and watches from there.

SEPARATE = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
PACKAGE = Path(__file__).parents[1]
"""The worker's own package, which the launcher is a part of."""
ROOT = PACKAGE.parents[1]


def bubblewrap_words(enclosure: Enclosure, command: list[str]) -> tuple[str, ...]:
    """Return the command that starts the launcher in bubblewrap. It reads links."""
    # The interpreter itself: watching needs nothing of a virtual environment.
    python = Path(sys.executable).resolve()
    within = replace(enclosure, way="within", number=os.getpid())
    return (
        enclosure.bubblewrap,
        *SEPARATE,
        "--die-with-parent",
        "--as-pid-1",
        *_bubblewrap_system(),
        *_bubblewrap_settings(enclosure),
        *_bubblewrap_devices(),
        *_bubblewrap_own_places(enclosure),
        *_bubblewrap_given(enclosure, python),
        *("--remount-ro", "/", "--chdir", "/", "--", str(python), "-I", "-S", "-c", BOOT),
        *(str(ROOT), within.text(), *command),
    )


def _bubblewrap_system() -> Iterator[str]:
    yield from (*_folders("/etc/_", "/dev/_", "/sys/devices/_"), "--proc", "/proc")
    for name in SYSTEM:
        there = Path("/", name)
        if there.is_symlink():
            yield from ("--symlink", str(there.readlink()), f"/{name}")
        else:
            yield from ("--ro-bind-try", f"/{name}", f"/{name}")
    # Engines read processors and memory nodes here, and play worse without.
    yield from ("--ro-bind-try", "/sys/devices/system", "/sys/devices/system")


def _bubblewrap_settings(enclosure: Enclosure) -> Iterator[str]:
    for name in (*SETTINGS, *(TRUST if enclosure.relay else ())):
        yield from ("--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")


def _bubblewrap_devices() -> Iterator[str]:
    for name in DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        yield from ("--symlink", f"/proc/self/{target}", f"/dev/{name}")


def _bubblewrap_own_places(enclosure: Enclosure) -> Iterator[str]:
    size = str(enclosure.temporary_mib * MEBIBYTE)
    for path in (TEMPORARY, SHARED, HOME):
        yield from ("--perms", "1777", "--size", size, "--tmpfs", path)
    yield from ("--dir", "/var", "--symlink", TEMPORARY, f"/var{TEMPORARY}", "--dir", "/run")


def _bubblewrap_given(enclosure: Enclosure, python: Path) -> Iterator[str]:
    watching = (str(python.parent), sys.base_prefix, str(PACKAGE))
    shown = outermost((*enclosure.readable, *watching))
    yield from _folders(*shown, *filter(None, (enclosure.relay,)), *enclosure.writable)
    for path in (*shown, *filter(None, (enclosure.relay,))):
        yield from ("--ro-bind", path, path)
    for path in enclosure.writable:
        yield from ("--bind", path, path)


def _folders(*paths: str) -> Iterator[str]:
    """Options for the folders above the paths. Those that bubblewrap makes itself could only be
    entered by root."""
    above = {str(each) for path in paths for each in Path(path).parents}
    for folder in sorted(above - {"/"}):
        yield from ("--perms", "0755", "--dir", folder)
