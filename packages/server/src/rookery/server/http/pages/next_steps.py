"""The first steps on a new server, shown until an engine other than the bundled one is tested."""

from dataclasses import dataclass

from rookery.server.farm.rules.lifecycle import Actor


@dataclass(frozen=True, slots=True)
class NextStep:
    """A step and the page for it. `lines` are for those with a shell on the server."""

    title: str
    text: str
    link: str = ""
    word: str = ""
    lines: tuple[str, ...] = ()


def list_next_steps(
    viewer: Actor | None, address: str, *, signing_up: bool = True
) -> tuple[NextStep, ...]:
    """The steps that the viewer can take. The operator's commands are for approvers."""
    if viewer is None:
        return _greet_stranger(signing_up)
    steps = (
        NextStep(
            "Add your engine",
            "Say where its sources are and how to build it; a trial shows whether that works.",
            "/engines",
            "Engines",
        ),
        NextStep(
            "Test a change",
            "Your new version against the old one, with bounds and time control from a preset.",
            "/tests/new",
            "New test",
        ),
        NextStep(
            "Add a machine",
            "One command to paste, with a token for that machine.",
            "/machines/add",
            "Add a machine",
        ),
    )
    return (*steps, _invite(address, signing_up)) if viewer.approver else steps


def _greet_stranger(signing_up: bool) -> tuple[NextStep, ...]:
    log_in = NextStep(
        "Join in", "With an account you can submit tests and lend machines.", "/login", "Log in"
    )
    sign_up = NextStep("New here?", "An approver reviews each new account.", "/signup", "Sign up")
    return (log_in, sign_up) if signing_up else (log_in,)


def _invite(address: str, signing_up: bool) -> NextStep:
    if signing_up:
        text = f"They sign up at {address}/signup, and you approve them."
        return NextStep("Invite someone", text, "/users", "Users")
    return NextStep(
        "Invite someone",
        "An account for each person; machines count for their owner.",
        lines=("./rookery user add NAME",),
    )
