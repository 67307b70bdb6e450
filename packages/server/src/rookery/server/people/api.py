"""Accounts. Anybody may ask for one; the rest is for approvers."""

from msgspec import UNSET

from rookery.core.protocol import people, v1
from rookery.server.http.endpoint import LOOP, THREAD, Endpoints
from rookery.server.http.faults import Forbidden
from rookery.server.http.scope import RequestInfo
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.bearers import Caller
from rookery.server.identity.sign_up import SignUp
from rookery.server.identity.users import Scope, User, Users, find_account, is_approver

READERS = (Scope.READ, Scope.ADMIN)

api = Endpoints("/api/v1")


@api("POST /users", THREAD, "the password is judged and hashed in threads", status=201)
async def create_user(
    sign_up: SignUp, info: RequestInfo, applicant: people.Application
) -> people.UserEntry:
    """Sign up for an account."""
    user = await sign_up.apply(applicant, info.client)
    return make_user_entry(user, to_approver=True)


@api("GET /users", LOOP, "awaits one query", scope=READERS)
async def list_users(users: Users, caller: Caller) -> people.UserList:
    """All accounts."""
    for_approver = _looks_after_accounts(caller)
    known = [user for user in await users.list_all() if for_approver or not user.pending]
    shown = (make_user_entry(user, to_approver=for_approver) for user in known)
    return people.UserList(users=tuple(shown))


@api("GET /users/{user}", LOOP, "awaits one query", scope=READERS)
async def get_user(users: Users, caller: Caller, user: v1.Name) -> people.UserEntry:
    """An account."""
    full = _looks_after_accounts(caller) or caller.user.name == user
    return make_user_entry(await find_account(users, user, to_insider=full), to_approver=full)


@api("PATCH /users/{user}", LOOP, "awaits one write", scope=Scope.ADMIN)
async def change_user(
    accounts: Accounts, caller: Caller, user: v1.Name, wanted: people.UserChange
) -> people.UserEntry:
    """Approve or block an account, set its groups or limits."""
    _require_approver(caller)
    changed = await accounts.change(user, wanted, by=caller.user.name)
    return make_user_entry(changed, to_approver=True)


@api("DELETE /users/{user}", LOOP, "awaits one write", scope=Scope.ADMIN)
async def reject_user(accounts: Accounts, caller: Caller, user: v1.Name) -> people.UserEntry:
    """Remove an account that was never approved."""
    _require_approver(caller)
    rejected = await accounts.reject(user, by=caller.user.name)
    return make_user_entry(rejected, to_approver=True)


def _require_approver(caller: Caller) -> None:
    if not is_approver(caller.user):
        raise Forbidden("Only an approver may do this.")


def _looks_after_accounts(caller: Caller) -> bool:
    """Whether an approver asks, with a token that is for more than reading."""
    return is_approver(caller.user) and not caller.scopes.isdisjoint({Scope.APPROVE, Scope.ADMIN})


def make_user_entry(user: User, *, to_approver: bool) -> people.UserEntry:
    return people.UserEntry(
        name=user.name,
        approver=is_approver(user),
        created=user.created,
        blocked=user.blocked if to_approver else UNSET,
        block_reason=user.block_reason if to_approver and user.blocked else UNSET,
        pending=user.pending if to_approver else UNSET,
        machine_limit=user.machine_limit if to_approver else UNSET,
        groups=tuple(sorted(user.groups)) if to_approver else UNSET,
    )
