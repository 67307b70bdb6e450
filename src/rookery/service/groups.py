"""Groups of users; the only one with an effect is that of the approvers."""

from rookery.service.users import User

PREFIX = "group:"
APPROVERS = "group:approvers"


def is_approver(user: User) -> bool:
    return APPROVERS in user.groups


def group_named(word: str) -> str:
    """A group by the word that people use for it."""
    return word if word.startswith(PREFIX) else PREFIX + word
