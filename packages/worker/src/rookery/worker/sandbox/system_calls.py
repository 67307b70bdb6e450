"""The system calls that a program in the sandbox can't make, as a filter that the kernel runs.

They are calls that neither engines nor compilers need, and that lead past the sandbox: to the
machine's other side (sockets that no network namespace holds), to memory that no limit counts, to
further namespaces, or to parts of the kernel that are often broken into. Refused calls answer as
on a kernel that does not have them, so programs use another way where they have one.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rookery.worker.sandbox import mounts

COMMON = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "mount_setattr": 442,
    "memfd_secret": 447,
    "open_tree_attr": 467,
}
"""Calls with the same number everywhere. The flags of clone3 can't be examined; libraries then use
clone."""
CLOSE_RANGE, CLOSE_RANGE_UNSHARE = 436, 2


@dataclass(frozen=True, slots=True)
class CallTable:
    """The numbers of one kind of programs' calls, of which the kernel may run several."""

    kind: int
    """The kernel's name for it (AUDIT_ARCH)."""
    refused: Mapping[str, int]
    clone: int
    socket: int
    setsockopt: int
    end: int = 0
    """Numbers from here on are those of another kind; 0 if there are none."""


X86_64 = CallTable(
    0xC000003E,
    {
        "msgget": 68,
        "pivot_root": 155,
        "mount": 165,
        "umount2": 166,
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "unshare": 272,
        "vmsplice": 278,
        "perf_event_open": 298,
        "setns": 308,
        "bpf": 321,
        "userfaultfd": 323,
    },
    clone=56,
    socket=41,
    setsockopt=54,
    end=0x40000000,
)
I386 = CallTable(
    0x40000003,
    {
        # Of the first two, the arguments can't be examined.
        "socketcall": 102,
        "ipc": 117,
        "mount": 21,
        "umount": 22,
        "umount2": 52,
        "pivot_root": 217,
        "add_key": 286,
        "request_key": 287,
        "keyctl": 288,
        "unshare": 310,
        "vmsplice": 316,
        "perf_event_open": 336,
        "setns": 346,
        "bpf": 357,
        "userfaultfd": 374,
        "msgget": 399,
    },
    clone=120,
    socket=359,
    setsockopt=366,
)
AARCH64 = CallTable(
    0xC00000B7,
    {
        "umount2": 39,
        "mount": 40,
        "pivot_root": 41,
        "vmsplice": 75,
        "unshare": 97,
        "msgget": 186,
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "perf_event_open": 241,
        "setns": 268,
        "bpf": 280,
        "userfaultfd": 282,
    },
    clone=220,
    socket=198,
    setsockopt=208,
)
TABLES = {"x86_64": (X86_64, I386), "aarch64": (AARCH64,)}
ACTIONS = "/proc/sys/kernel/seccomp/actions_avail"
INSTALLING = {"x86_64": 317, "aarch64": 277}
"""The numbers of seccomp(2), which has more flags than prctl(2)."""

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
TCP, UDP = 6, 17
SOL_SOCKET, SO_SNDBUF, SO_RCVBUF = 1, 7, 8
CLONE_THREAD, CLONE_FILES = 0x00010000, 0x00000400
NAMESPACES = (
    *(mounts.CLONE_NEWNS, mounts.CLONE_NEWUTS, mounts.CLONE_NEWIPC, mounts.CLONE_NEWUSER),
    *(mounts.CLONE_NEWPID, mounts.CLONE_NEWNET, 0x02000000),
)

# Classic BPF, as in linux/filter.h and linux/seccomp.h.

Instruction = tuple[int, int, int, int]
"""A code, how many instructions to pass over if true and if false, and a value."""
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, KIND, ARGUMENTS = 0, 4, 16
FAIL = 0x00050000
ALLOW: Instruction = (RETURN, 0, 0, 0x7FFF0000)
SECCOMP_SET_MODE_FILTER, SPECULATION_AS_IT_IS = 1, 4


def is_known(machine: str) -> bool:
    """Whether there is a filter for this kind of processor."""
    return machine in TABLES


def is_available() -> bool:
    """Whether this processor and this kernel have a filter."""
    return is_known(os.uname().machine) and os.path.exists(ACTIONS)  # noqa: PTH110 - no Path here


def install() -> None:
    """Restrict this process and those it will start. Raises OSError if the kernel can't."""
    machine = os.uname().machine
    words = b"".join(struct.pack("=HBBI", *each) for each in make_filter(TABLES[machine]))
    held = ctypes.create_string_buffer(words, len(words))
    program = struct.pack("@HP", len(words) // 8, ctypes.addressof(held))
    # Without the flag, older kernels slow down every program that has a filter.
    mode, flags = SECCOMP_SET_MODE_FILTER, SPECULATION_AS_IT_IS
    mounts.system_call("seccomp", INSTALLING[machine], mode, flags, program)


def make_filter(tables: Iterable[CallTable]) -> list[Instruction]:
    """Return the filter: a section for each kind of programs. Other kinds have no calls at all."""
    made: list[Instruction] = [(LOAD, 0, 0, KIND)]
    for table in tables:
        made += _when(table.kind, _section(table))
    return [*made, _fail(errno.ENOSYS)]


def _section(table: CallTable) -> list[Instruction]:
    others = [(AT_LEAST, 0, 1, table.end), _fail(errno.ENOSYS)] if table.end else []
    refused = [
        each
        for number in (*COMMON.values(), *table.refused.values())
        for each in _when(number, [_fail(errno.ENOSYS)])
    ]
    return [
        (LOAD, 0, 0, NUMBER),
        *others,
        *refused,
        *_when(CLOSE_RANGE, _close_range()),
        *_when(table.clone, _clone()),
        *_when(table.socket, _socket()),
        *_when(table.setsockopt, _set_option()),
        ALLOW,
    ]


def _clone() -> list[Instruction]:
    """No namespaces, and no thread that has its files for itself, where nobody sees them."""
    return [
        _load_argument(0),
        (ANY_BIT, 0, 1, sum(NAMESPACES)),
        _fail(errno.EPERM),
        (ANY_BIT, 0, 2, CLONE_THREAD),
        (ANY_BIT, 1, 0, CLONE_FILES),
        _fail(errno.EPERM),
        ALLOW,
    ]


def _close_range() -> list[Instruction]:
    """Let it give a thread its files for itself, too."""
    return [_load_argument(2), (ANY_BIT, 0, 1, CLOSE_RANGE_UNSHARE), _fail(errno.ENOSYS), ALLOW]


def _socket() -> list[Instruction]:
    """Sockets of this machine, TCP and UDP, and netlink for reading addresses and routes."""
    return [
        _load_argument(0),
        *_when(AF_UNIX, [ALLOW]),
        *_when(AF_INET, _protocols(0, TCP, UDP)),
        *_when(AF_INET6, _protocols(0, TCP, UDP)),
        *_when(AF_NETLINK, _protocols(0)),
        _fail(errno.EAFNOSUPPORT),
    ]


def _protocols(*allowed: int) -> list[Instruction]:
    tried = [each for number in allowed for each in _when(number, [ALLOW])]
    return [_load_argument(2), *tried, _fail(errno.EPROTONOSUPPORT)]


def _set_option() -> list[Instruction]:
    """Return the buffers of sockets keep their size: the call succeeds without effect."""
    sizes = [*_when(SO_SNDBUF, [_fail(0)]), *_when(SO_RCVBUF, [_fail(0)])]
    return [_load_argument(1), *_when(SOL_SOCKET, [_load_argument(2), *sizes]), ALLOW]


def _when(value: int, then: list[Instruction]) -> list[Instruction]:
    """Instructions for one value; with another they are passed over."""
    return [(EQUAL, 0, len(then), value), *then]


def _load_argument(place: int) -> Instruction:
    """Load the lower half of an argument, which is all that the kernel regards here."""
    return (LOAD, 0, 0, ARGUMENTS + 8 * place)


def _fail(error: int) -> Instruction:
    return (RETURN, 0, 0, FAIL | error)
