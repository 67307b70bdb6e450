"""The caller's own account: read and change it, with its tokens."""

from msgspec import UNSET

from rookery.core.clock import Clock
from rookery.core.protocol import people, v1
from rookery.core.protocol.codec import or_none
from rookery.server.http.endpoint import LOOP, THREAD, UNSEEN, Endpoints
from rookery.server.http.scope import RequestInfo
from rookery.server.http.session import Session
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.bearers import Caller
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.users import Scope, User, is_approver, shown_scopes
from rookery.server.people.account_changes import AccountChanges
from rookery.server.teams.teams import Teams

api = Endpoints("/api/v1")


# Everything about the caller's own account; the list of users says what others may see.


@api("GET /me", LOOP, "awaits one query", scope=Scope.READ, headers=UNSEEN)
async def get_me(teams: Teams, caller: Caller, session: Session) -> people.MeEntry:
    """Your account."""
    return _make_entry(teams, caller, session, caller.user)


@api(
    "PATCH /me",
    THREAD,
    "passwords are checked, judged and hashed in threads",
    scope=(Scope.SUBMIT, Scope.ADMIN),
    headers=UNSEEN,
)
async def change_me(
    changes: AccountChanges,
    teams: Teams,
    caller: Caller,
    session: Session,
    info: RequestInfo,
    wanted: people.MeChange,
) -> people.MeEntry:
    """Change your password, e-mail address or repositories."""
    changed = await changes.change_own(session, info.client, caller.user.name, wanted)
    return _make_entry(teams, caller, session, changed)


@api("GET /tokens", LOOP, "awaits one query", scope=Scope.READ, headers=UNSEEN)
async def list_tokens(accounts: Accounts, clock: Clock, caller: Caller) -> people.TokenList:
    """Your tokens, oldest first."""
    now, found = clock.now(), await accounts.tokens.of(caller.user.name)
    shown = (token.shown(now, current=token.id == caller.token_id) for token in found)
    return people.TokenList(tokens=tuple(shown))


@api(
    "POST /tokens",
    THREAD,
    "awaits one write; a password is checked in a thread",
    in_person=True,
    status=201,
    headers=UNSEEN,
    empty_body=True,
)
async def create_token(
    profiles: Profiles, clock: Clock, caller: Caller, wish: people.NewToken
) -> people.MadeToken:
    """Create a token; its secret is shown only once."""
    scopes = frozenset(map(Scope, or_none(wish.scopes) or ()))
    minted = await profiles.create_token(caller.user, scopes, or_none(wish.days), wish.note)
    return people.MadeToken(secret=minted.secret, token=minted.token.shown(clock.now()))


@api("DELETE /tokens/{token_id}", LOOP, "awaits one write", scope=tuple(Scope))
async def revoke_token(
    changes: AccountChanges, clock: Clock, caller: Caller, token_id: v1.Name
) -> people.TokenEntry:
    """Revoke one of your tokens."""
    revoked = await changes.revoke_own_token(caller, token_id)
    return revoked.shown(clock.now(), current=revoked.id == caller.token_id)


def _make_entry(teams: Teams, caller: Caller, session: Session, user: User) -> people.MeEntry:
    return people.MeEntry(
        name=user.name,
        email=user.email,
        approver=is_approver(user),
        groups=tuple(sorted(user.groups)),
        created=user.created,
        machine_limit=user.machine_limit,
        teams=tuple(sorted(teams.of(user.name))),
        repositories=dict(sorted(user.repositories.items())),
        scopes=shown_scopes(caller.scopes),
        csrf_token=UNSET if caller.token_id else session.csrf_token(),
    )
