"""The query of finished_runs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from rookery.protocol.faults import BadParameter
from rookery.protocol.user.queries import flag, whole

PAGE_SIZE = 50
LTC_SECONDS = 40.0
MOST_PAGES = 10**7
LONGEST_NAME = 100
_TIMESTAMP = re.compile(r"[0-9]{10}(\.[0-9]{0,9})?")


@dataclass(frozen=True, slots=True)
class FinishedQuery:
    """Which finished runs are wanted, newest first, fifty to a page."""

    page: int
    username: str | None = None
    success_only: bool = False
    yellow_only: bool = False
    ltc_only: bool = False
    since: datetime | None = None


def finished_query(query: Mapping[str, str]) -> FinishedQuery:
    """The typed query; raises WireFault."""
    return FinishedQuery(
        page=whole(query, "page", least=1, most=MOST_PAGES),
        username=_username(query),
        success_only=flag(query, "success_only"),
        yellow_only=flag(query, "yellow_only"),
        ltc_only=flag(query, "ltc_only"),
        since=_since(query),
    )


def _username(query: Mapping[str, str]) -> str | None:
    name = query.get("username") or None
    if name is not None and (len(name) > LONGEST_NAME or not name.isprintable()):
        raise BadParameter(name="username", text="expected a user's name")
    return name


def _since(query: Mapping[str, str]) -> datetime | None:
    text = query.get("timestamp")
    if text is None:
        return None
    if not _TIMESTAMP.fullmatch(text):
        raise BadParameter(name="timestamp", text="expected ten digits of UNIX seconds")
    return datetime.fromtimestamp(float(text), UTC)
