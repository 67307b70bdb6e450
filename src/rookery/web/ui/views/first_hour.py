"""What to do in the first hour: shown while nothing but the bundled engine has been tested."""

from collections.abc import Iterable
from dataclasses import dataclass

from rookery.core.run import Run

BUNDLED = "Fledgling"
FIRST_TEST = "--new ./engine-new --base ./engine-base --wait"


@dataclass(frozen=True, slots=True)
class NextStep:
    """A thing to do, with the lines to paste; `link` where a page does it."""

    title: str
    text: str
    lines: tuple[str, ...] = ()
    link: str = ""


def next_steps(
    runs: Iterable[Run], address: str, *, signing_up: bool = True
) -> tuple[NextStep, ...]:
    """None where there is nothing yet, and none once an engine of one's own was tested."""
    engines = {side.engine for run in runs for side in run.plan.sides}
    return _steps(address, signing_up) if engines == {BUNDLED} else ()


def _steps(address: str, signing_up: bool) -> tuple[NextStep, ...]:
    return (
        NextStep(
            "Add your engine",
            "Two programs are enough for a first test: your new version and the old one.",
            (
                f"export ROOKERY_SERVER={address}",
                "export ROOKERY_TOKEN=$(./rookery token create --user admin | tail -n 1)",
                f"./rookery submit {FIRST_TEST}",
            ),
        ),
        NextStep(
            "Add a machine",
            "One line to paste, with a token made for that machine.",
            link="/machines/add",
        ),
        _invitation(address) if signing_up else _made_account(),
    )


def _invitation(address: str) -> NextStep:
    return NextStep(
        "Invite someone",
        f"They sign up at {address}/signup, and you let them in.",
        ("./rookery user approve NAME",),
    )


def _made_account() -> NextStep:
    return NextStep(
        "Invite someone",
        "An account for each person; machines count for their owner.",
        ("./rookery user add NAME",),
    )
