"""Accounts and teams as the JSON API takes and gives them."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.protocol.fields import Count
from rookery.protocol.v1 import Name

TeamName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{1,49}\Z")]


class UserEntry(Struct, frozen=True, kw_only=True):
    """What users may know of one another; the rest is there for approvers only."""

    name: str
    approver: bool
    created: datetime
    blocked: bool | UnsetType = UNSET
    pending: bool | UnsetType = UNSET
    machine_limit: int | UnsetType = UNSET
    groups: tuple[str, ...] | UnsetType = UNSET


class UserList(Struct, frozen=True, kw_only=True):
    """Everybody, by name."""

    users: tuple[UserEntry, ...]


class Application(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody says who wants an account."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    password: Annotated[str, Meta(max_length=1024)]
    email: Annotated[str, Meta(max_length=300)]


class UserChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change about an account; what is left out stays as it is. An account that waits
    is accepted by `"pending": false`."""

    pending: Literal[False] | UnsetType = UNSET
    blocked: bool | UnsetType = UNSET
    groups: Annotated[tuple[Name, ...], Meta(max_length=20)] | UnsetType = UNSET
    machine_limit: Count | UnsetType = UNSET


class NewTeam(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team to be made; whoever makes it leads it."""

    name: TeamName


class MemberBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How somebody is in a team."""

    lead: bool = False


class TeamEntry(Struct, frozen=True, kw_only=True):
    """A team with who is in it, by name; those who lead are members too."""

    name: str
    members: tuple[str, ...]
    leads: tuple[str, ...]
    created: datetime


class TeamList(Struct, frozen=True, kw_only=True):
    """The teams that the reader may know of, by name."""

    teams: tuple[TeamEntry, ...]
