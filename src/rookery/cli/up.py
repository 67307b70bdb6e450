"""`rookery up`: the server, and on the first start an administrator to log in as."""

import argparse
import secrets
from dataclasses import replace

from rookery.cli.options import add_settings, settings_of
from rookery.cli.process import run_site
from rookery.cli.serve import SETTINGS
from rookery.service.passwords import Passwords
from rookery.service.users import User
from rookery.web.house import House

ADMINISTRATOR = "admin"
APPROVERS = "group:approvers"
MACHINE_LIMIT = 1000
# Read aloud and typed by people: no letters that look alike.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "up",
        help="start everything on this machine, with an account to log in",
        description="Starts the server with its database. On the first start it makes an"
        " administrator's account and prints the password, once.",
    )
    parser.add_argument(
        "--reset-password",
        action="store_true",
        help="give the administrator a new password and print it",
    )
    add_settings(parser, SETTINGS)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    printed: list[str] = []

    async def prepare(house: House) -> None:
        if password := await provide_administrator(house, reset=parsed.reset_password):
            printed.append(f"Log in as {ADMINISTRATOR} with the password {password} (shown once).")

    def ready(address: str) -> None:
        print(
            f"\nRookery is ready at {address}", *printed, "Ctrl-C stops it.\n", sep="\n", flush=True
        )

    return run_site(settings_of(parsed), prepare, ready)


async def provide_administrator(house: House, *, reset: bool) -> str | None:
    """Makes the account when there is none at all, or a new password; None when neither."""
    present = await house.users.by_name(ADMINISTRATOR)
    if not (reset or await house.users.count() == 0):
        return None
    password = "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(4))
    passwords = Passwords(house.threads, house.clock, secrets.token_bytes(32))
    hashed = await passwords.hash(password)
    if present is not None:
        await house.users.save(replace(present, password_hash=hashed, blocked=False))
    else:
        await house.users.add(_administrator(hashed, house))
    return password


def _administrator(hashed: str, house: House) -> User:
    return User(
        name=ADMINISTRATOR,
        email="",
        password_hash=hashed,
        groups=frozenset({APPROVERS}),
        blocked=False,
        pending=False,
        machine_limit=MACHINE_LIMIT,
        created=house.clock.now(),
    )
