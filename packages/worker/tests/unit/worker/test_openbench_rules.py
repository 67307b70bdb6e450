"""Return the rules by which a worker ends games early that plays a preset of OpenBench."""

import msgspec
import pytest

from rookery.core.model.plan import Draw, Resign
from rookery.core.protocol.runs import read_submission
from rookery.match.job import OFFICIAL, Adjudication
from rookery.worker.assignment import adjudication_of
from tests.unit.protocol.test_openbench import settings


def rules_of(default: dict[str, object], own: dict[str, object]) -> Adjudication:
    """Return the rules by which a worker ends games early that plays this preset."""
    given = {"tc": "1+1", "new_tag": "a", "base_tag": "b", "book": "x.epd"}
    body = msgspec.json.encode(given | settings(default, own))
    return adjudication_of(read_submission(body).plan)


WIN, DRAW = "movecount=3 score=400", "movenumber=40 movecount=8 score=10"
OWN_RESIGN, OWN_DRAW = Resign(400, 3), Draw(40, 8, 10)


@pytest.mark.parametrize(
    ("win", "draw", "expected"),
    [
        (WIN, DRAW, Adjudication(OWN_RESIGN, OWN_DRAW)),
        (WIN, "None", Adjudication(OWN_RESIGN, None)),
        ("None", DRAW, Adjudication(None, OWN_DRAW)),
        ("None", "None", Adjudication(None, None)),
    ],
)
def test_a_rule_that_is_none_is_no_rule(win: str, draw: str, expected: Adjudication) -> None:
    assert rules_of({}, {"win_adj": win, "draw_adj": draw}) == expected


def test_a_preset_may_switch_a_rule_of_the_default_off() -> None:
    default: dict[str, object] = {"win_adj": WIN, "draw_adj": DRAW}
    assert rules_of(default, {"draw_adj": "None"}) == Adjudication(OWN_RESIGN, None)
    assert rules_of({"win_adj": "None", "draw_adj": "None"}, {**default}).resign == OWN_RESIGN


def test_a_preset_without_rules_has_the_official_ones() -> None:
    assert rules_of({}, {}) == OFFICIAL
