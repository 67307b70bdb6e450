"""How scripts/test runs its stages, and what it says of them."""

from scripts.lanes import Lanes, Outcome, Stage, closing_line, table
from scripts.stages import choose, find_folders, find_tests, halves


def test_a_stage_that_is_left_out_counts_for_nothing_and_says_why() -> None:
    outcome = Lanes({"asgi": "left out: passed here"}).run(Stage("asgi", 60, ("false",)))
    assert closing_line([outcome]) == "0 passed, 0 failed"
    assert table([outcome], 1.0).splitlines()[1].endswith("left out: passed here")


def test_the_processor_time_of_a_stage_is_told() -> None:
    burn = Stage("burn", 60, ("python3", "-c", "sum(range(3_000_000)); print('3 passed')"))
    outcome = Lanes().run(burn)
    assert outcome.cpu > 0
    assert (outcome.ok, outcome.counts) == (True, {"passed": 3})


def test_a_stage_that_fails_fails_the_run() -> None:
    outcome = Lanes().run(Stage("fails", 60, ("false",)))
    assert closing_line([outcome, Outcome(outcome.stage, 1.0, ok=True)]) == "1 passed, 1 failed"


def test_a_stage_that_hangs_is_ended_and_says_so() -> None:
    hanging = Stage("hangs", 60, ("sh", "-c", "echo begun; sleep 600"))
    ended = Lanes().run_command(hanging, 0.5)
    assert not ended.ok
    assert ended.output == "begun\n\nended after 0 s: it hangs\n"


def test_half_a_tier_goes_by_the_tiers_name_too() -> None:
    assert [[each.name for each in chain] for chain in choose(["faults"])[1]] == [
        ["faults_1"],
        ["faults_2"],
    ]


def test_the_halves_of_a_tier_have_all_its_files() -> None:
    first, second = (chain[0].command for chain in halves("storage", 60))
    files = {str(file) for folder in find_folders("storage") for file in find_tests(folder)}
    assert {each for each in (*first, *second) if each.endswith(".py")} == files
    assert not files & set(first) & set(second)
