"""What stands in for wrong inputs while the others are looked at."""

import json

import pytest

from rookery.core.protocol.runs import read_submission
from rookery.server.farm.submission import planned
from rookery.server.runs.submit.errors import STAND_INS, replace_wrong_values
from rookery.server.runs.submit.form import INPUTS, TICKED, read_form
from rookery.server.sources.submission_checks import fill_placeholders
from tests.submissions import PLAIN

GOOD = {**{name: str(PLAIN[name]) for name in PLAIN}, "adjudication": TICKED}
KINDS = {
    "sprt": {"sprt.elo0": "0", "sprt.elo1": "2"},
    "spsa": {"spsa.raw_params": "a,1,0,2,0.5,0.002"},
    "games": {},
}


APPLICABLE = [
    (kind, wrong)
    for kind in KINDS
    for wrong in sorted(STAND_INS)
    if wrong.partition(".")[0] not in KINDS or wrong.startswith(kind)
]


@pytest.mark.parametrize(("kind", "wrong"), APPLICABLE)
def test_a_form_with_stand_ins_is_good(kind: str, wrong: str) -> None:
    read = read_form({**GOOD, **KINDS[kind], "kind": kind})
    asked = read_submission(json.dumps(replace_wrong_values(read.fields, [wrong])).encode())
    planned(fill_placeholders(asked), "olga")


def test_a_rule_of_several_inputs_is_left_out_as_a_whole() -> None:
    fields = {"resign": {"score": 1, "moves": 2}, "tc": "1+0.1"}
    assert replace_wrong_values(fields, ["resign.moves"]) == {"tc": "1+0.1"}


def test_in_a_tune_the_base_is_what_the_new_side_is() -> None:
    fields = {"spsa": {}, "new_options": "a", "base_options": "a"}
    assert replace_wrong_values(fields, ["new_options"]) == {"spsa": {}}


def test_stand_ins_are_of_inputs_that_there_are() -> None:
    assert {*STAND_INS} <= {*INPUTS, "new_repo"}
