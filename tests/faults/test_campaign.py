"""The campaign of kills in small; scripts/prove kills runs thousands."""

from pathlib import Path

from tests.faults.campaign import VICTIMS, Campaign, Round, plan


def test_no_acknowledged_row_is_lost_whoever_is_killed(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "data")
    try:
        for number, victim in enumerate(VICTIMS):
            campaign.play(Round(number, victim, seconds=0.1))
        campaign.finish()
    finally:
        campaign.end()


def test_a_round_is_the_same_for_the_same_seed() -> None:
    assert plan(7, 100) == plan(7, 100)
    assert {plan(7, number).victim for number in range(100)} == set(VICTIMS)
