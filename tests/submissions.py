"""Submissions of which a test changes only what matters."""

import json
from datetime import datetime

from rookery.core.model.kinds import Kind
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run
from rookery.core.protocol.checks import Checks
from rookery.core.protocol.runs import Submission, read_submission
from rookery.server.farm.submission import (
    Chance,
    SubmissionContext,
    add_commits,
    make_run,
    plan_submission,
)

SRI = "k" * 64
SPRT = {"elo0": 0.0, "elo1": 2.0}
PLAIN: dict[str, object] = {
    "new_tag": "idea",
    "base_tag": "master",
    "num_games": 1000,
    "tc": "10+0.1",
    "book": "UHO.epd",
    "book_sri": SRI,
    "resolved_new": "a" * 40,
    "resolved_base": "b" * 40,
    "new_signature": "2050811",
    "base_signature": "2050812",
    "tests_repo": "https://github.com/olga/Stockfish",
}


def body(**changes: object) -> dict[str, object]:
    """A submission as JSON values; a value of None removes a field."""
    given = {**PLAIN, **changes}
    return {name: value for name, value in given.items() if value is not None}


def submitted(**changes: object) -> Submission:
    return read_submission(json.dumps(body(**changes)).encode())


USUAL = SubmissionContext()


def planned(asked: Submission, owner: str, context: SubmissionContext = USUAL) -> tuple[Plan, Kind]:
    """The plan and the kind of a submission with all commits; raises WireFault."""
    checks = Checks(asked.faults)
    plan, kind = plan_submission(asked, owner, context, checks)
    checks.settle()
    plan = add_commits(plan, asked, context, checks)
    checks.settle()
    return plan, kind


def created(
    asked: Submission, owner: str, context: SubmissionContext, *, now: datetime, chance: Chance
) -> Run:
    return make_run(asked, *planned(asked, owner, context), context, now=now, chance=chance)


def plan_of(**changes: object) -> Plan:
    return planned(submitted(**changes), "olga")[0]


def kind_of(**changes: object) -> Kind:
    return planned(submitted(**changes), "olga")[1]
