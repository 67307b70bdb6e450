"""The results of the doctor's checks, and how they are worded."""

import enum
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from rookery.core.command import print_json, print_table

MB = 10**6
OLD_BACKUP = timedelta(days=2)
CLOCK_WARN_SECONDS, CLOCK_FAIL_SECONDS = 1.0, 10.0


class Level(enum.StrEnum):
    """The outcome of a check."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    """Not checked, because it needs something that only the operator can give."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the doctor: what was checked, what was found, and what to do about a problem."""

    name: str
    level: Level
    found: str
    advice: str = ""


def well(name: str, found: str) -> CheckResult:
    return CheckResult(name, Level.OK, found)


def warned(name: str, found: str, advice: str) -> CheckResult:
    return CheckResult(name, Level.WARN, found, advice)


def failed(name: str, found: str, advice: str) -> CheckResult:
    return CheckResult(name, Level.FAIL, found, advice)


def skipped(name: str, found: str, advice: str) -> CheckResult:
    return CheckResult(name, Level.SKIP, found, advice)


def judge_disk(free: int, reserve: int, where: str) -> CheckResult:
    """Return the free space in bytes, and the reserve below which uploads are refused."""
    found = f"{free // MB:,} MB are free {where}"
    if free < reserve:
        return failed("disk", found, f"uploads are refused below {reserve // MB:,} MB; make room")
    if free < 4 * reserve:
        return warned("disk", found, "make room before uploads are refused")
    return well("disk", found)


def judge_backup(age: timedelta | None) -> CheckResult:
    """Return the age of the latest backup; None if there is none."""
    advice = "rookery db backup, every day by a timer"
    if age is None:
        return warned("backup", "there is none", advice)
    found = f"the latest is {age // timedelta(hours=1)} hours old"
    return warned("backup", found, advice) if age > OLD_BACKUP else well("backup", found)


def judge_clock(
    name: str, whose: str, there: datetime, before: datetime, after: datetime
) -> CheckResult:
    """How wrong a clock is that was read between two times of this one, beyond the uncertainty of
    the measurement."""
    off = max(timedelta(), before - there, there - after).total_seconds()
    if off < CLOCK_WARN_SECONDS:
        return well(name, f"{whose} and this one agree")
    found = f"{whose} is {off:.1f} s off"
    advice = "let both machines ask a time server"
    return (failed if off >= CLOCK_FAIL_SECONDS else warned)(name, found, advice)


def tell(results: Iterable[CheckResult], *, as_json: bool) -> None:
    if as_json:
        print_json([asdict(each) for each in results])
        return
    rows = [(each.level.value, each.name, _sentence(each)) for each in results]
    print_table([("", "{0[0]}"), ("what", "{0[1]}"), ("found", "{0[2]}")], rows)


def _sentence(result: CheckResult) -> str:
    return f"{result.found}: {result.advice}" if result.advice else result.found
