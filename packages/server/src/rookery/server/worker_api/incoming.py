"""Translates from the wire format to the model: machines, calls about tasks, reports, and how games
were played."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict
from starlette.types import Scope

from rookery.core.model.kinds import Batches, Report
from rookery.core.model.machine import Machine, WorkerInfo
from rookery.core.protocol import worker_requests
from rookery.core.stats.spsa import TuneBatch
from rookery.server.http.forwarding import COUNTRY
from rookery.server.http.scope import header_values, request_info_of
from rookery.server.identity.users import User
from rookery.server.identity.worker_credentials import VerifiedUser

# The caller: a verified user on a machine, at an address.

UNKNOWN_COUNTRY = "?"
_NOWHERE = "ZZ"


class VerifiedCaller(NamedTuple):
    """A user whose password was right, and the origin of the call."""

    seal: str
    machine_limit: int
    address: str
    country: str
    user: User
    teams: frozenset[str] = frozenset()
    server: Callable[[], str] = str
    """Computes this server's address as the caller wrote it. It is seldom needed."""


TeamsOf = Callable[[str], frozenset[str]]


class Origin(Struct, frozen=True):
    """Where a call comes from, and how its sender has addressed this server."""

    client: str
    host: bytes
    """The host header, which is checked before a call is carried out."""
    secure: bool
    country: bytes | None = None
    """The header that a trusted proxy has added."""
    request_id: str = ""
    """The id that another instance has given to the call that it forwards; else empty."""

    def server(self) -> str:
        """This server's address as the caller wrote it."""
        return f"{'https' if self.secure else 'http'}://{self.host.decode('latin-1')}"


def origin_in(scope: Scope) -> Origin:
    info, hosts = request_info_of(scope), header_values(scope, b"host")
    countries = header_values(scope, COUNTRY) if info.proxied else []
    host, country = hosts[0] if hosts else b"", countries[0] if countries else None
    return Origin(info.client, host, info.secure, country)


def make_caller(verified: VerifiedUser, origin: Origin, teams_of: TeamsOf) -> VerifiedCaller:
    """The caller of a request whose credentials were right."""
    user = verified.user
    return VerifiedCaller(
        verified.seal,
        user.machine_limit,
        origin.client,
        country_code(origin.country) if origin.country else UNKNOWN_COUNTRY,
        user,
        teams_of(user.name),
        origin.server,
    )


def country_code(header_value: bytes) -> str:
    """The caller's country as two capital letters, from the header that a trusted proxy adds; else
    `?`."""
    code = header_value.decode("latin-1")
    known = len(code) == 2 and code.isascii() and code.isalpha() and code.isupper()
    return code if known and code != _NOWHERE else UNKNOWN_COUNTRY


MOST_KNOWN = 50_000
CallerFacts = tuple[str, str, str, frozenset[str]]
"""The facts about a caller that a machine has. Other facts differ from call to call."""


class MachineCache:
    """The machines of the latest calls by worker key, since most calls describe them unchanged."""

    def __init__(self, *, mind_quota: bool, most: int = MOST_KNOWN) -> None:
        self._mind_quota = mind_quota
        self._most = most
        self._known: dict[str, tuple[WorkerInfo, CallerFacts, Machine]] = {}

    def machine(self, info: WorkerInfo, caller: VerifiedCaller) -> Machine:
        known = self._known.get(info.key)
        caller_facts = (caller.seal, caller.address, caller.country, caller.teams)
        if known and known[1] == caller_facts and known[0] == info:
            return known[2]
        machine = machine_of(info, caller, mind_quota=self._mind_quota)
        self._known.pop(info.key, None)
        self._known[info.key] = (info, caller_facts, machine)
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return machine

    def forget_all(self) -> None:
        """Gives the memory back; each worker's next call describes its machine again."""
        self._known.clear()


def machine_of(info: WorkerInfo, caller: VerifiedCaller, *, mind_quota: bool = True) -> Machine:
    """The machine as it describes itself, at the address it calls from."""
    return Machine(
        **asdict(info),
        address=caller.address,
        country=caller.country,
        teams=caller.teams,
        near_api_limit=mind_quota and info.near_github_limit,
        seal=caller.seal,
    )


def report_of(request: worker_requests.UpdateTask) -> Report:
    batches = () if request.spsa is UNSET else _batches(request.spsa)
    in_parts = request.worker_info.rookery is not UNSET
    return Report(
        request.stats, batches, in_parts, None if request.rookery is UNSET else request.rookery
    )


def log_of(failure: worker_requests.Failure | UnsetType) -> str:
    return "" if failure is UNSET else failure.log


def _batches(spsa: worker_requests.SpsaResult) -> Batches:
    """One perturbation of an official worker, or those of all slots of Rookery's own worker."""
    parts: tuple[worker_requests.SlotResult, ...] = spsa.slots or (spsa,)
    return tuple(TuneBatch(part.num_games, part.wins, part.losses, part.sig) for part in parts)
