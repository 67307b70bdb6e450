"""The flags of an SPSA schedule: how fast its steps and its distances shrink."""

import argparse

from rookery.core.spsa.schedule import DEFAULT_A_RATIO, DEFAULT_ALPHA, DEFAULT_GAMMA


def add_schedule(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    for flag, name, default, purpose in (
        ("--A", "a_ratio", DEFAULT_A_RATIO, "the schedule's A, as a share of all pairs"),
        ("--alpha", "alpha", DEFAULT_ALPHA, "how fast steps shrink"),
        ("--gamma", "gamma", DEFAULT_GAMMA, "how fast the distances tried shrink"),
    ):
        parser.add_argument(
            flag,
            dest=name,
            type=float,
            default=default,
            metavar="X",
            help=f"{purpose} (default: {default})",
        )
