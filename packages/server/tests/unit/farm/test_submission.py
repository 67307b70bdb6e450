"""Submitted args become a plan and a kind, or a fault that names the field."""

import pytest

from rookery.core.model.engine import BUILT_IN, STOCKFISH, EngineRecord, NetRecord, catalogue_of
from rookery.core.model.kinds import Fixed, SprtTest, SpsaTuning
from rookery.core.model.plan import Draw, Resign
from rookery.core.protocol.codec import WireFault
from rookery.server.farm.submission import SubmissionContext
from tests.submissions import SPRT, SRI, kind_of, plan_of, planned, submitted


def test_the_sides_are_new_and_base() -> None:
    new, base = plan_of().sides
    assert (new.tag, new.commit, new.signature) == ("idea", "a" * 40, "2050811")
    assert (base.tag, base.commit, base.signature) == ("master", "b" * 40, "2050812")


def test_an_uploaded_program_needs_no_commit_no_bench_and_no_repository() -> None:
    gone = dict.fromkeys(("resolved_base", "base_signature", "tests_repo"))
    new, base = plan_of(base_binary="c" * 64, **gone).sides
    assert (base.binary, base.commit, base.signature) == ("c" * 64, "c" * 40, "")
    assert (new.engine, base.engine) == ("Stockfish", "uploaded")


def test_both_sides_of_a_tune_are_the_program_that_was_uploaded() -> None:
    tune = {"raw_params": "x,1,0,2,1,0.002"}
    new, base = plan_of(new_binary="c" * 64, spsa=tune).sides
    assert new.binary == base.binary == "c" * 64


def test_without_a_repository_the_engines_own_is_meant() -> None:
    assert plan_of(tests_repo=None).new.repository == STOCKFISH.source


def test_the_owner_is_who_asks_whatever_the_args_say() -> None:
    assert plan_of(username="mallory").owner == "olga"


def test_a_pattern_that_never_ends_elsewhere_ends_here() -> None:
    written = EngineRecord(name="Slow", nets=NetRecord(pattern=r"(a|aa|\\)*b"))
    around = SubmissionContext(catalogue_of((*BUILT_IN, written)))
    asked = submitted(new_engine="Slow", new_nets=["a" * 60])
    with pytest.raises(WireFault, match="new_nets"):
        planned(asked, "olga", around)


@pytest.mark.parametrize("games", [2, 4, 62, 3_200_000])
def test_any_even_number_of_games_is_fine(games: int) -> None:
    assert plan_of(num_games=games).games == games


def test_a_sequential_test_without_a_number_of_games_gets_the_usual_cap() -> None:
    assert plan_of(num_games=None, sprt=SPRT).games == 800_000


def test_odds_give_the_new_side_a_clock_of_its_own() -> None:
    plan = plan_of(tc="10+0.1", new_tc="5+0.05")
    assert plan.tc == "10+0.1"
    assert (plan.side_tc(plan.new), plan.base.tc) == ("5+0.05", None)


def test_equal_clocks_are_no_odds() -> None:
    assert plan_of(tc="10+0.1", new_tc="10.0+0.10").new.tc is None


def test_fixed_nodes_are_a_time_control_too() -> None:
    assert plan_of(tc="N=25000").tc == "N=25000"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://github.com/olga/Stockfish/", "https://github.com/olga/Stockfish"),
        ("https://github.com/olga/Stockfish.git", "https://github.com/olga/Stockfish"),
        ("http://www.github.com/olga/Stockfish.git/", "https://github.com/olga/Stockfish"),
        ("https://Git.Example.org:8443/src/engine/", "https://git.example.org:8443/src/engine"),
    ],
)
def test_a_repository_is_brought_to_its_one_form(given: str, kept: str) -> None:
    assert {side.repository for side in plan_of(tests_repo=given).sides} == {kept}


def test_each_side_may_have_a_repository_and_threads_of_its_own() -> None:
    new, base = plan_of(base_repo="https://example.org/other", base_threads=2).sides
    assert (new.repository, base.repository) == (
        "https://github.com/olga/Stockfish",
        "https://example.org/other",
    )
    assert (new.threads, base.threads) == (None, 2)


@pytest.mark.parametrize(
    ("message", "bench"),
    [
        ("Faster\n\nBench: 2050811", "2050811"),
        ("bench = 1,234,567", "1234567"),
        ("Bench: 1111111\nBench: 2222222", "2222222"),
    ],
)
def test_a_bench_is_taken_from_the_commits_message(message: str, bench: str) -> None:
    assert plan_of(new_signature=None, msg_new=message).new.signature == bench


def test_a_bench_may_be_a_number() -> None:
    assert plan_of(new_signature=2050811).new.signature == "2050811"


def test_the_rules_of_the_house_are_taken_over() -> None:
    plan = plan_of(
        adjudication=False,
        resign={"score": 600, "moves": 3},
        draw={"from_move": 34, "moves": 8, "score": 20},
        syzygy_men=6,
        scaling="off",
        strict_pv=True,
        pgn_detail="moves",
        time_margin_ms=10,
        variant="chess960",
    )
    assert (plan.resign, plan.draw) == (Resign(600, 3), Draw(34, 8, 20))
    assert (plan.adjudication, plan.is_scaled, plan.strict_pv) == (False, False, True)
    assert (plan.syzygy_men, plan.time_margin_ms, plan.variant) == (6, 10, "chess960")


def test_options_with_spaces_go_to_the_engine_as_they_are() -> None:
    assert plan_of(new_uci={"Clear Hash": "a b"}).new.uci == (("Clear Hash", "a b"),)


def test_the_hash_of_a_book_loses_its_prefix() -> None:
    assert plan_of(book_sri=f"sha384-{SRI}").book_sri == SRI


def test_without_words_of_the_submitter_those_of_the_commit_count() -> None:
    assert plan_of(msg_new="Trim king safety\n\nBench: 2050811").info == "Trim king safety"


def test_a_long_sequential_test_says_so() -> None:
    assert plan_of(tc="60+0.6", sprt=SPRT, info="confirm").info == "LTC: confirm"
    assert plan_of(tc="60+0.6", sprt=SPRT, info="LTC again").info == "LTC again"
    assert plan_of(tc="60+0.6", info="fixed").info == "fixed"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_games", 7),
        ("num_games", 0),
        ("num_games", 3_200_002),
        ("num_games", None),
        ("num_games", -2),
        ("tc", "soon"),
        ("tc", "0"),
        ("new_tc", ""),
        ("threads", 0),
        ("book", "UHO.txt"),
        ("book", "../UHO.epd"),
        ("book_depth", "0"),
        ("book_depth", "deep"),
        ("book_sri", "abc"),
        ("resolved_new", "a" * 39),
        ("resolved_base", "master"),
        ("resolved_new", None),
        ("new_signature", None),
        ("new_signature", "fast"),
        ("base_signature", 0),
        ("new_options", "Hash"),
        ("new_options", "A=1=2"),
        ("base_options", "Hash=16  Threads=2"),
        ("base_options", "Move Overhead=10"),
        ("new_options", "Näme=1"),
        ("new_options", "Hash=big"),
        ("new_options", "Hash=16 hash=32"),
        ("new_options", "Hash=16\n"),
        ("new_nets", ["nn-1c0000000000.nnue", "nn-1c0000000000.nnue"]),
        ("new_nets", ["../etc/passwd"]),
        ("new_tag", " "),
        ("tests_repo", "https://github.com/olga"),
        ("tests_repo", "git@github.com:olga/Stockfish.git"),
        ("tests_repo", "https://olga:secret@github.com/olga/Stockfish"),
        ("tests_repo", "https://example.org/"),
        ("tests_repo", "https://[::1/x/y"),
        ("tests_repo", "file:///etc/passwd"),
        ("throughput", 0),
        ("throughput", 12.5),
        ("priority", 0.5),
        ("priority", 5000),
        ("arch_filter", "(a+)+b"),
        ("arch_filter", "sparc"),
        ("arch_filter", "["),
        ("compiler", "icc"),
        ("new_engine", "Nobody"),
        ("new_uci", {"Name\nquit": "x"}),
        ("rescheduled_from", "xyz"),
        ("sprt", {"elo0": 0.0}),
        ("sprt", {"elo0": 2.0, "elo1": 0.0}),
        ("sprt", {"elo0": 0.0, "elo1": 2.0, "alpha": 0.7, "beta": 0.7}),
        ("sprt", {**SPRT, "elo_model": "logistic"}),
        ("sprt", {**SPRT, "batch_size": 0}),
        ("spsa", {"raw_params": ""}),
        ("spsa", {"raw_params": "P,1,2"}),
        ("spsa", {"raw_params": "P,1,0,2,1,0.002", "gamma": -1}),
        ("numgames", 100),
    ],
)
def test_a_bad_field_is_named(field: str, value: object) -> None:
    with pytest.raises(WireFault, match=field):
        plan_of(**{field: value})


def test_a_run_is_not_a_test_and_a_tune_at_once() -> None:
    with pytest.raises(WireFault, match="not both"):
        plan_of(sprt=SPRT, spsa={"raw_params": "P,1,0,2,1,0.002"})


def test_planning_itself_looks_nothing_up() -> None:
    with pytest.raises(WireFault, match="resolved_new: give the 40 hex digits"):
        plan_of(resolved_new=None)


def test_the_args_of_a_document_can_be_submitted_again() -> None:
    sprt = {**SPRT, "state": "accepted", "llr": 2.97, "lower_bound": -2.94, "upper_bound": 2.94}
    args = submitted(sprt=sprt, username="olga", itp=97.3, throughput=100.0, priority=0.0)
    assert args.plan.throughput == 100


def test_the_repository_of_the_master_is_kept_where_it_is_not_the_official_one() -> None:
    own = "https://github.com/olga/Ethereal"
    assert plan_of(master_repo=f"{own}.git").master_repo == own
    assert plan_of(master_repo="https://github.com/official-stockfish/Stockfish").master_repo == ""


LINES = "A,10,0,20,1,0.002\nB,5,0,10,1,0.002"


def sprt_of(**changes: object) -> SprtTest:
    kind = kind_of(sprt=SPRT, **changes)
    assert isinstance(kind, SprtTest)
    return kind


def tune_of(**spsa: object) -> SpsaTuning:
    kind = kind_of(spsa={"raw_params": LINES, **spsa}, num_games=60_000)
    assert isinstance(kind, SpsaTuning)
    return kind


def test_without_a_rule_to_stop_the_games_are_fixed() -> None:
    assert kind_of() == Fixed()


@pytest.mark.parametrize(
    ("tc", "threads", "batch"),
    [("10+0.1", 1, 16), ("60+0.6", 1, 3), ("1+0.01", 1, 38), ("5+0.05", 8, 4)],
)
def test_a_batch_of_what_official_workers_play_follows_the_formula(
    tc: str, threads: int, batch: int
) -> None:
    assert sprt_of(tc=tc, threads=threads, num_games=800_000).spec.batch_size == batch


def test_a_batch_that_was_asked_for_is_kept() -> None:
    kind = kind_of(sprt={**SPRT, "batch_size": 2})
    assert isinstance(kind, SprtTest)
    assert kind.step == 4


def test_where_only_our_workers_play_nobody_waits_longer_than_a_minute() -> None:
    args = submitted(tc="N=5000", sprt=SPRT, num_games=40_000)
    _, kind = planned(args, "olga", SubmissionContext(speed_of=lambda _: 10_000.0, median_cores=2))
    assert isinstance(kind, SprtTest)
    assert kind.spec.batch_size == 55


@pytest.mark.parametrize(("width", "most"), [(40.0, 7), (10.0, 127)])
def test_a_batch_is_a_few_per_cent_of_a_test_with_wide_bounds(width: float, most: int) -> None:
    args = submitted(tc="N=10", sprt={"elo0": 0.0, "elo1": width}, num_games=800_000)
    _, kind = planned(args, "olga", SubmissionContext(speed_of=lambda _: 1e6, median_cores=64))
    assert isinstance(kind, SprtTest)
    assert kind.spec.batch_size == most


def test_error_rates_may_be_given() -> None:
    kind = kind_of(sprt={**SPRT, "alpha": 0.1, "beta": 0.02})
    assert isinstance(kind, SprtTest)
    assert (kind.spec.alpha, kind.spec.beta) == (0.1, 0.02)


def test_a_tune_reads_its_parameter_lines() -> None:
    assert tune_of().tune.thetas == (10.0, 5.0)


@pytest.mark.parametrize(("given", "pairs"), [(0.1, 3000), (3000, 3000), (2999, 2999), (0, 0)])
def test_stability_is_a_number_of_pairs_or_a_share_of_them(given: float, pairs: int) -> None:
    assert tune_of(A=given).tune.schedule.stability == pairs


def test_both_sides_of_a_tune_have_the_signature_of_the_new_one() -> None:
    new, base = plan_of(spsa={"raw_params": LINES}).sides
    assert base.signature == new.signature == "2050811"
