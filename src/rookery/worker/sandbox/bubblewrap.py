"""The walls by bubblewrap, where this machine lets it make the namespaces and not us.

It may be set-uid, or allowed by name in the machine's security settings. The tree is the one that
`mounts` lays out; the launcher is the first process inside and watches from there.
"""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import rookery
from rookery.worker.sandbox.enclosure import BOOT, HOME, MEBIBYTE, Enclosure
from rookery.worker.sandbox.mounts import (
    DEVICES,
    SETTINGS,
    SHARED,
    SYSTEM,
    TEMPORARY,
    TRUST,
    outermost,
)

SEPARATE = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
PACKAGE = Path(rookery.__file__).parent


def words_for(enclosure: Enclosure, command: list[str]) -> tuple[str, ...]:
    """The whole command that starts the launcher within walls; reads links of the disk."""
    # The interpreter itself: nothing of a virtual environment is needed to watch.
    python = Path(sys.executable).resolve()
    within = replace(enclosure, way="within")
    return (
        enclosure.bubblewrap,
        *SEPARATE,
        "--die-with-parent",
        "--as-pid-1",
        *_system(),
        *_settings(enclosure),
        *_devices(),
        *_own_places(enclosure),
        *_given(enclosure, python),
        *("--remount-ro", "/", "--chdir", "/", "--", str(python), "-I", "-S", "-c", BOOT),
        *(str(PACKAGE.parent), within.text(), *command),
    )


def _system() -> Iterator[str]:
    yield from (*_folders("/etc/_", "/dev/_", "/sys/devices/_"), "--proc", "/proc")
    for name in SYSTEM:
        there = Path("/", name)
        if there.is_symlink():
            yield from ("--symlink", str(there.readlink()), f"/{name}")
        else:
            yield from ("--ro-bind-try", f"/{name}", f"/{name}")
    # Engines look here for processors and memory nodes, and play worse without.
    yield from ("--ro-bind-try", "/sys/devices/system", "/sys/devices/system")


def _settings(enclosure: Enclosure) -> Iterator[str]:
    for name in (*SETTINGS, *(TRUST if enclosure.doorway else ())):
        yield from ("--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}")


def _devices() -> Iterator[str]:
    for name in DEVICES:
        yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        yield from ("--symlink", f"/proc/self/{target}", f"/dev/{name}")


def _own_places(enclosure: Enclosure) -> Iterator[str]:
    size = str(enclosure.temporary_mib * MEBIBYTE)
    for path in (TEMPORARY, SHARED, HOME):
        yield from ("--perms", "1777", "--size", size, "--tmpfs", path)
    yield from ("--dir", "/var", "--symlink", TEMPORARY, f"/var{TEMPORARY}", "--dir", "/run")


def _given(enclosure: Enclosure, python: Path) -> Iterator[str]:
    watching = (str(python.parent), sys.base_prefix, str(PACKAGE))
    shown = outermost((*enclosure.readable, *watching))
    yield from _folders(*shown, *filter(None, (enclosure.doorway,)), *enclosure.writable)
    for path in (*shown, *filter(None, (enclosure.doorway,))):
        yield from ("--ro-bind", path, path)
    for path in enclosure.writable:
        yield from ("--bind", path, path)


def _folders(*paths: str) -> Iterator[str]:
    """Those above the paths: what bubblewrap makes by itself root alone could enter."""
    above = {str(each) for path in paths for each in Path(path).parents}
    for folder in sorted(above - {"/"}):
        yield from ("--perms", "0755", "--dir", folder)
