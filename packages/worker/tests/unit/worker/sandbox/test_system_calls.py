"""Which system calls a program in the sandbox can make, on each kind of processor."""

import errno

import pytest

from rookery.worker.sandbox.system_calls import (
    AARCH64,
    ALLOW,
    ANY_BIT,
    AT_LEAST,
    COMMON,
    EQUAL,
    FAIL,
    I386,
    LOAD,
    RETURN,
    TABLES,
    X86_64,
    CallTable,
    is_known,
    make_filter,
)

KINDS = pytest.mark.parametrize(
    ("machine", "table"),
    [("x86_64", X86_64), ("x86_64", I386), ("aarch64", AARCH64)],
    ids=["x86_64", "i386", "aarch64"],
)
ALLOWED = ALLOW[3]
READ = 0
NEW_USER, FORK, THREAD, WITH_FILES = 0x10000000, 17, 0x00010000, 0x00000400
UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK = 1, 2, 10, 16, 17, 38, 40
STREAM = 1


def answer(machine: str, kind: int, number: int, *arguments: int) -> int:
    """Return what the kernel makes of the filter: its instructions, carried out one by one."""
    data = {0: number, 4: kind}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        data |= {16 + 8 * place: value & 0xFFFFFFFF, 20 + 8 * place: value >> 32}
    filter_, at, held = make_filter(TABLES[machine]), 0, 0
    while True:
        code, yes, no, value = filter_[at]
        at += 1
        if code == RETURN:
            return value
        if code == LOAD:
            held = data[value]
        else:
            true = {EQUAL: held == value, AT_LEAST: held >= value, ANY_BIT: bool(held & value)}
            at += yes if true[code] else no


@KINDS
def test_calls_that_no_engine_needs_are_not_there(machine: str, table: CallTable) -> None:
    for number in (*COMMON.values(), *table.refused.values()):
        assert answer(machine, table.kind, number) == FAIL | errno.ENOSYS


@KINDS
def test_other_calls_are_as_ever(machine: str, table: CallTable) -> None:
    refused = {*COMMON.values(), *table.refused.values(), table.clone, table.socket}
    others = set(range(500)) - refused
    assert {answer(machine, table.kind, number) for number in others} == {ALLOWED}


@KINDS
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        *((FORK, ALLOWED), (THREAD | WITH_FILES, ALLOWED), (0x3D0F00, ALLOWED)),
        *((NEW_USER | FORK, FAIL | errno.EPERM), (0x20000000, FAIL | errno.EPERM)),
        *((THREAD, FAIL | errno.EPERM), (0x02000000 | THREAD | WITH_FILES, FAIL | errno.EPERM)),
    ],
)
def test_a_process_gets_no_namespaces_and_a_thread_no_files_of_its_own(
    machine: str, table: CallTable, flags: int, expected: int
) -> None:
    assert answer(machine, table.kind, table.clone, flags) == expected


@KINDS
@pytest.mark.parametrize(
    ("family", "protocol", "expected"),
    [
        *((UNIX, 0, ALLOWED), (INET, 6, ALLOWED), (INET6, 17, ALLOWED), (NETLINK, 0, ALLOWED)),
        *((VSOCK, 0, FAIL | errno.EAFNOSUPPORT), (ALG, 0, FAIL | errno.EAFNOSUPPORT)),
        *((PACKET, 0, FAIL | errno.EAFNOSUPPORT), (NETLINK, 4, FAIL | errno.EPROTONOSUPPORT)),
        *((INET, 132, FAIL | errno.EPROTONOSUPPORT), (VSOCK, 6, FAIL | errno.EAFNOSUPPORT)),
    ],
)
def test_sockets_are_those_of_a_namespace(
    machine: str, table: CallTable, family: int, protocol: int, expected: int
) -> None:
    assert answer(machine, table.kind, table.socket, family, STREAM, protocol) == expected
    above = family + 2**32
    assert answer(machine, table.kind, table.socket, above, STREAM, protocol) == expected


@KINDS
@pytest.mark.parametrize(
    ("level", "option", "expected"),
    [(1, 7, FAIL), (1, 8, FAIL), (1, 2, ALLOWED), (6, 7, ALLOWED)],
)
def test_buffers_of_sockets_keep_their_size_without_an_error(
    machine: str, table: CallTable, level: int, option: int, expected: int
) -> None:
    assert answer(machine, table.kind, table.setsockopt, 3, level, option) == expected


@pytest.mark.parametrize(
    ("machine", "kind", "number"),
    [("x86_64", X86_64.kind, 0x40000000), ("x86_64", 0x40000028, READ), ("aarch64", 0x40000028, 3)],
)
def test_programs_of_another_kind_have_no_calls_at_all(
    machine: str, kind: int, number: int
) -> None:
    assert answer(machine, kind, number) == FAIL | errno.ENOSYS


def test_for_other_processors_there_is_no_filter() -> None:
    assert is_known("aarch64")
    assert not is_known("riscv64")
