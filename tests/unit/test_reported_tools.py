"""Which machines get the runs of an engine whose record asks for tools."""

import pytest

from rookery.core.model.engine import EngineRecord, ToolRecord, catalogue_of
from rookery.core.model.machine import ClaimedAbilities
from rookery.core.model.plan import Plan, Side
from rookery.server.farm.rules.eligibility import objection
from tests.makers import make_machine, make_run
from tests.unit.worker.test_tools import TOOLS


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (ToolRecord("gcc"), None),
        (ToolRecord("java", "17"), None),
        (ToolRecord("java", "21"), "the tool java 21 is missing or too old"),
        (ToolRecord("zig"), "the tool zig is missing or too old"),
    ],
)
def test_a_record_goes_to_machines_that_report_its_tool(
    tool: ToolRecord, expected: str | None
) -> None:
    record = EngineRecord(name="Weiss", tools=(ToolRecord("make"), tool))
    sides = (Side("new", "", engine="Weiss"), Side("base", "", engine="Weiss"))
    plan = Plan(sides, games=2, tc="10+0.1", owner="olga", book="x.epd")
    run = make_run(plan=plan, catalogue=catalogue_of([record]))
    found = objection(run, make_machine(rookery=ClaimedAbilities(tools=TOOLS)))
    assert (found and found.sentence) == expected
