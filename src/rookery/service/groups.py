"""Groups of users; the only one with an effect is that of the approvers (contract 13.3)."""

from rookery.service.users import User

APPROVERS = "group:approvers"


def is_approver(user: User) -> bool:
    return APPROVERS in user.groups
