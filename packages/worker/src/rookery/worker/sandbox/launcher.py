"""Starts one program in its own namespaces. This is the process that the worker starts.

Three processes take part. The outer one, which the worker knows, makes the namespaces and waits.
The first process inside is number 1 of its namespace, so that its end is the end of all others; it
dies with the outer one, and watches the resources. The third executes the program itself, with the
worker's pipes and nothing in between. If bubblewrap makes the namespaces, it is the outer process.
"""

import contextlib
import os
import resource
import select
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rookery.worker.sandbox import control_groups, mounts, system_calls, watch
from rookery.worker.sandbox.enclosure import (
    MEBIBYTE,
    PORT,
    SCOPE,
    Enclosure,
    UserIds,
    has_account_of_its_own,
    is_namespace_of_one_sandbox,
)

if TYPE_CHECKING:
    import socket

CANNOT_START = 127
ORPHAN_SECONDS = 1.0
LIKELY_VICTIM = "500"
DESCRIPTORS = 1024
LOCKED_BYTES = 8 * MEBIBYTE
OTHERS = 4
"""How many sandboxes the limit of tasks allows for, if they have neither a user namespace nor an
account for themselves and are counted together."""
AHEAD = -10
"""The niceness of the watching process, where the worker may choose it."""
FIRST_CAPABILITY, LAST_CAPABILITY = 0, 63
PER_NAMESPACE = (5, 14)
"""The first kernel whose limit of processes counts each user namespace separately."""


def main(words: list[str]) -> None:
    """Start a program. The words are the enclosure, then the program's command."""
    enclosure, command = Enclosure.read(words[0]), words[1:]
    if enclosure.way != "none":
        _go_ahead()
    if enclosure.relay and enclosure.way != "bubblewrap":
        # Python's library is not visible later.
        load_relay()
    if enclosure.way == "namespaces":
        enclose(enclosure, command)
    if enclosure.way == "bubblewrap":
        _enclose_by_bubblewrap(enclosure, command)
    if enclosure.way == "within":
        _die_with_parent()
        _watch_over(enclosure, command, UserIds.within(enclosure))
    execute(enclosure, command)


def enclose(enclosure: Enclosure, command: list[str]) -> None:
    """Start the program in namespaces. Never returns: the process ends as the program ended."""
    inner, parent = UserIds.inside(), os.getppid()
    _offer_to_the_kernel()
    enclosure, base = _join_group(enclosure)
    try:
        _make_namespaces()
        mounts.lay_out(enclosure, inner)
    except OSError as error:
        _complain(f"no sandbox: {error.filename or ''}: {error.strerror}")
    hears, tells = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    first = os.fork()
    if first == 0:
        os.close(tells)
        _be_first(enclosure, command, inner, hears)
    _wait_outside(first, parent, base)


def _enclose_by_bubblewrap(enclosure: Enclosure, command: list[str]) -> None:
    """Become bubblewrap, which starts the launcher again inside. Never returns."""
    _offer_to_the_kernel()
    enclosure, _ = _join_group(enclosure)
    words = mounts.bubblewrap_words(enclosure, command)
    try:
        os.execv(words[0], words)  # noqa: S606 - a program of the system, without a shell
    except OSError as error:
        _complain(f"no sandbox: {words[0]}: {error.strerror}")


def _join_group(enclosure: Enclosure) -> tuple[Enclosure, int]:
    """Make the control group of the sandbox. Returns a descriptor of the one above it, too."""
    if not enclosure.group:
        return enclosure, -1
    try:
        scope = enclosure.group == SCOPE
        shared = control_groups.share_own_group
        base = shared(granted=True) if scope else Path(enclosure.group)
        files = control_groups.make_group(base, enclosure)
        return replace(enclosure, group_files=files), os.open(base, os.O_RDONLY)
    except (OSError, control_groups.NoGroups) as error:
        _complain(f"no sandbox: no control group: {error}")


def _make_namespaces() -> None:
    flags = mounts.CLONE_NEWUSER | mounts.CLONE_NEWNS | mounts.CLONE_NEWPID
    flags |= mounts.CLONE_NEWIPC | mounts.CLONE_NEWUTS | mounts.CLONE_NEWNET
    hears, tells = os.pipe()
    mapper = os.fork()
    if mapper == 0:
        os.close(tells)
        _map_accounts(os.getppid(), hears)
    mounts.unshare(flags)
    os.write(tells, b"!")
    if os.waitpid(mapper, 0)[1] != 0:
        raise OSError(1, "accounts can't be mapped", "user namespace")
    os.close(hears)
    os.close(tells)


def _map_accounts(pid: int, hears: int) -> None:
    """Map the accounts of a namespace from outside, where root can map an account that is not its
    own."""
    status = 1
    with contextlib.suppress(OSError):
        if os.read(hears, 1):
            own, inner = UserIds(os.geteuid(), os.getegid()), UserIds.inside()
            accounts = dict.fromkeys((own, inner))
            if len(accounts) == 1:
                Path(f"/proc/{pid}/setgroups").write_text("deny")
            uids = "".join(f"{each.uid} {each.uid} 1\n" for each in accounts)
            gids = "".join(f"{each.gid} {each.gid} 1\n" for each in accounts)
            Path(f"/proc/{pid}/uid_map").write_text(uids)
            Path(f"/proc/{pid}/gid_map").write_text(gids)
            status = 0
    os._exit(status)


def _wait_outside(first: int, parent: int, base: int) -> None:
    # Only the program may hold the pipes; otherwise nobody would notice that it closes them.
    with contextlib.suppress(OSError):
        nothing = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
    status = _awaited(first, parent)
    control_groups.remove_group(base)
    code = os.waitstatus_to_exitcode(status)
    if code > 128:
        code = 128 - code
    if code < 0:
        with contextlib.suppress(ValueError, OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _awaited(first: int, parent: int) -> int:
    """Return the exit status of the first process. If the worker has died, the sandbox is killed,
    because the program might not end by itself."""
    while True:
        ended, status = os.waitpid(first, os.WNOHANG)
        if ended:
            return status
        if os.getppid() != parent:
            os.kill(first, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, ORPHAN_SECONDS)


def _offer_to_the_kernel() -> None:
    """Make the kernel kill this process first when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(LIKELY_VICTIM)


def _be_first(enclosure: Enclosure, command: list[str], inner: UserIds, hears: int) -> None:
    """Run as the first process inside. It dies with the outer process, which may have died
    already."""
    _die_with_parent()
    if select.select([hears], [], [], 0)[0]:
        os._exit(1)
    try:
        mounts.move_in()
        mounts.forbid_namespaces()
    except OSError as error:
        _complain(f"no sandbox: {error.filename or ''}: {error.strerror}")
    _watch_over(enclosure, command, inner)


def _go_ahead() -> None:
    """Come before all programs, where the worker may decide that. The kernel divides time between
    sessions first."""
    with contextlib.suppress(OSError):
        os.setsid()
    _set_niceness(AHEAD)
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(AHEAD))


def _set_niceness(niceness: int) -> None:
    # Only root may become less nice.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)


def _die_with_parent() -> None:
    mounts.process_control(mounts.PR_SET_PDEATHSIG, signal.SIGKILL)


def _watch_over(enclosure: Enclosure, command: list[str], inner: UserIds) -> None:
    """Start and watch the program, as the first process of the namespace. Never returns."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    if enclosure.relay:
        relay_to(enclosure)
    program = os.fork()
    if program == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        # The kernel divides time between sessions, so the watching process gets its share however
        # many processes the program has.
        os.setsid()
        _set_niceness(enclosure.niceness)
        if enclosure.group_files:
            control_groups.enter_group(enclosure.group_files[0])
        _drop_privileges(inner)
        execute(enclosure, command)
    for number in (0, 1):
        os.close(number)
    mounts.process_control(mounts.PR_SET_DUMPABLE, 0)
    os._exit(watch.watch_until_end(program, enclosure))


def _drop_privileges(account: UserIds) -> None:
    """Change to the account, and drop everything that a set-uid program could restore."""
    for capability in range(FIRST_CAPABILITY, LAST_CAPABILITY + 1):
        with contextlib.suppress(OSError):
            mounts.process_control(mounts.PR_CAPBSET_DROP, capability)
    if os.geteuid() != account.uid:
        os.setgroups([])
        os.setresgid(account.gid, account.gid, account.gid)
        os.setresuid(account.uid, account.uid, account.uid)
    mounts.process_control(mounts.PR_SET_NO_NEW_PRIVS, 1)


def execute(enclosure: Enclosure, command: list[str]) -> None:
    """Set the limits and become the program. Never returns."""
    try:
        _limit(enclosure)
        os.chdir(enclosure.folder)
        _find(command, enclosure)
    except OSError as error:
        _complain(f"{command[0]} can't be started: {error.strerror}")


def _find(command: list[str], enclosure: Enclosure) -> None:
    if enclosure.filtered and enclosure.way != "none":
        system_calls.install()
    # Python ignores SIGPIPE; programs expect to be ended by it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.closerange(3, 256)
    os.execvpe(command[0], command, dict(enclosure.environment))  # noqa: S606 - what we are for


def _limit(enclosure: Enclosure) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_NOFILE, DESCRIPTORS)
    _lower(resource.RLIMIT_MEMLOCK, LOCKED_BYTES)
    if enclosure.memory_mib:
        # Twice the limit: this one counts allocated memory, the watch counts used memory.
        _lower(resource.RLIMIT_DATA, 2 * enclosure.memory_mib * MEBIBYTE)
    if enclosure.file_mib:
        _lower(resource.RLIMIT_FSIZE, enclosure.file_mib * MEBIBYTE)
    own = has_account_of_its_own()
    if enclosure.way != "none" and (own or _kernel_version() >= PER_NAMESPACE):
        others = 1 if own or is_namespace_of_one_sandbox() else OTHERS
        _lower(resource.RLIMIT_NPROC, others * enclosure.tasks)


def _lower(which: int, wished: int) -> None:
    _, most = resource.getrlimit(which)
    least = wished if most == resource.RLIM_INFINITY else min(wished, most)
    resource.setrlimit(which, (least, least))


def _kernel_version() -> tuple[int, int]:
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int("".join(filter(str.isdigit, minor)) or 0)


def _complain(text: str) -> NoReturn:
    with contextlib.suppress(OSError):
        os.write(2, f"rookery: {text}\n".encode())
    os._exit(CANNOT_START)


# The network access of the sandbox: a port of its own network that is connected to a socket.
#
# The namespace has no other network. Connections to the port reach the worker's gateway, which
# decides where to connect to. So nothing inside can reach what the gateway does not.

CHUNK_BYTES = 65_536
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41


def load_relay() -> None:
    """Import what is needed later, while Python's library is visible."""
    import fcntl
    import socket
    import struct
    import threading

    del fcntl, socket, struct, threading


def relay_to(enclosure: Enclosure) -> None:
    """Connect the port to the socket, in a process that ends with all others."""
    import socket

    _raise_loopback()
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.bind(("127.0.0.1", PORT))
    door.listen(64)
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.setsid()
        _set_niceness(enclosure.niceness)
        _lead(door, enclosure.relay)
    door.close()


def _raise_loopback() -> None:
    import fcntl
    import socket
    import struct

    # If bubblewrap made the namespace, the interface is up already and can't be changed.
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_one:
        fcntl.ioctl(any_one, SET_FLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))


def _lead(door: "socket.socket", path: str) -> None:
    import socket
    import threading

    while True:
        caller, _ = door.accept()
        outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            outside.connect(path)
        except OSError:
            caller.close()
            continue
        for source, target in ((caller, outside), (outside, caller)):
            threading.Thread(target=_carry, args=(source, target), daemon=True).start()


def _carry(source: "socket.socket", target: "socket.socket") -> None:
    import socket

    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    for one, way in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with contextlib.suppress(OSError):
            one.shutdown(way)


if __name__ == "__main__":
    main(sys.argv[1:])
