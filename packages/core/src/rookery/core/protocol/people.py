"""Accounts, tokens, teams and granted repositories in the JSON API."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from rookery.core.model.bounds import Count
from rookery.core.protocol.v1 import Name

TeamName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{1,49}\Z")]


class UserEntry(Struct, frozen=True, kw_only=True):
    """A user; the later fields are there for approvers only."""

    name: str
    approver: bool
    created: datetime
    blocked: bool | UnsetType = UNSET
    block_reason: str | UnsetType = UNSET
    pending: bool | UnsetType = UNSET
    machine_limit: int | UnsetType = UNSET
    groups: tuple[str, ...] | UnsetType = UNSET


class UserList(Struct, frozen=True, kw_only=True):
    """All users, by name."""

    users: tuple[UserEntry, ...]


class Application(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for an account."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    password: Annotated[str, Meta(max_length=1024)]
    email: Annotated[str, Meta(max_length=300)]


class UserChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change about an account; what is left out stays as it is. `"pending": false`
    approves an account that waits."""

    pending: Literal[False] | UnsetType = UNSET
    blocked: bool | UnsetType = UNSET
    block_reason: Annotated[str, Meta(max_length=500)] | UnsetType = UNSET
    """The message to a blocked user."""
    groups: Annotated[tuple[Name, ...], Meta(max_length=20)] | UnsetType = UNSET
    machine_limit: Count | UnsetType = UNSET


TokenScope = Literal["read", "submit", "approve", "admin", "worker"]
Repository = Annotated[str, Meta(max_length=300)]
Password = Annotated[str, Meta(max_length=1024)]


class MeEntry(Struct, frozen=True, kw_only=True):
    """The caller's own account. `scopes` are those of this call; the session's token is there after
    a login."""

    name: str
    email: str
    approver: bool
    groups: tuple[str, ...]
    created: datetime
    machine_limit: int
    teams: tuple[str, ...]
    repositories: dict[str, str]
    scopes: tuple[TokenScope, ...]
    csrf_token: str | UnsetType = UNSET


class MeChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change about one's own account; what is left out stays as it is. A new password or
    e-mail address needs the present password. null removes a repository."""

    current_password: Password = ""
    password: Password | UnsetType = UNSET
    email: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    repositories: Annotated[dict[Name, Repository | None], Meta(max_length=100)] | UnsetType = UNSET


class NewToken(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to be made: its scopes (default: read, submit and approve), its days (default: no
    end), and a note for its owner."""

    scopes: Annotated[tuple[TokenScope, ...], Meta(min_length=1, max_length=5)] | UnsetType = UNSET
    days: Annotated[int, Meta(ge=1, le=3650)] | UnsetType = UNSET
    note: Annotated[str, Meta(max_length=200)] = ""


class TokenEntry(Struct, frozen=True, kw_only=True):
    """A token without its secret, which is kept nowhere; `current` is the one of this call, `used`
    when it was shown last, to the minute."""

    id: str
    scopes: tuple[TokenScope, ...]
    note: str
    created: datetime
    valid: bool
    current: bool
    expires: datetime | UnsetType = UNSET
    revoked: datetime | UnsetType = UNSET
    used: datetime | UnsetType = UNSET


class TokenList(Struct, frozen=True, kw_only=True):
    """One's own tokens, oldest first."""

    tokens: tuple[TokenEntry, ...]


class MadeToken(Struct, frozen=True, kw_only=True):
    """A new token with its secret."""

    secret: str
    token: TokenEntry


class NewTeam(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team to be made; whoever makes it leads it."""

    name: TeamName


class MemberBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The membership of a user in a team."""

    lead: bool = False


class Team(Struct, frozen=True):
    """A team with who is in it, in the order of names; those who lead are members too."""

    name: str
    members: tuple[str, ...]
    leads: tuple[str, ...]
    created: datetime


class GrantedRepository(Struct, frozen=True, kw_only=True):
    """A repository that the server fetches with its own credentials for a team, or for everybody
    where none is named."""

    repository: str
    team: str
    granted_by: str
    granted: datetime


class GrantedList(Struct, frozen=True, kw_only=True):
    """The grants that the caller may see, by address."""

    repositories: tuple[GrantedRepository, ...]


class NewGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A repository to grant; without a team it is for everybody who may submit runs."""

    repository: Annotated[str, Meta(min_length=1, max_length=500)]
    team: Annotated[str, Meta(max_length=50)] = ""


class TeamList(Struct, frozen=True, kw_only=True):
    """The teams that the caller may see, by name."""

    teams: tuple[Team, ...]


# Notifications outside of the pages.

NotificationKindName = Literal["run_finished", "run_failed", "approval_needed", "account_waiting"]
NotificationKinds = Annotated[tuple[NotificationKindName, ...], Meta(min_length=1, max_length=10)]


class FollowedRun(Struct, frozen=True, kw_only=True):
    """Whether the caller follows a run, and is told when it ends."""

    run: str
    following: bool


class ChannelEntry(Struct, frozen=True, kw_only=True):
    """A notification channel of the caller. Of a webhook's address, which is often a secret, only
    the host is shown."""

    id: int
    form: str
    host: str
    kinds: tuple[str, ...]
    active: bool
    created: datetime
    failures: int
    """The number of failures since the last success."""


class ChannelList(Struct, frozen=True, kw_only=True):
    """The caller's channels, mail first."""

    channels: tuple[ChannelEntry, ...]


class NewWebhook(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A webhook, and what it is to be told of."""

    address: Annotated[str, Meta(max_length=500)]
    form: Literal["json", "discord", "slack"] = "json"
    kinds: NotificationKinds = ("run_finished", "run_failed")


class MadeWebhook(Struct, frozen=True, kw_only=True):
    """A new webhook; `secret`, which signs what is sent, is shown only here."""

    secret: str
    channel: ChannelEntry


class ToldEntry(Struct, frozen=True, kw_only=True):
    """A notification to the caller by one channel, and whether it was delivered."""

    id: int
    at: datetime
    kind: str
    text: str
    run: str
    user: str
    form: str
    state: str
    attempts: int
    error: str
    ended: datetime | None


class ToldList(Struct, frozen=True, kw_only=True):
    """The caller's notifications, the latest first."""

    told: tuple[ToldEntry, ...]
    page: int
    more: bool
