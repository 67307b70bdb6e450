"""Tuning by pairs of games."""

from random import Random

from rookery.core.stats.spsa import Tune, new_tune
from rookery.match.job import EngineSpec, PairJob
from rookery.match.openings import Opening
from rookery.match.pgn import JournalEntry
from rookery.match.results import PairScore
from rookery.match.tuning import Tuner

ENGINE = EngineSpec("engine", ("./x",), (("Hash", "1"), ("P", "7")), "N=1")


def tune(pairs: int = 20) -> Tune:
    return new_tune("P,50,0,100,4,0.02\nQ,float,0.5,0,1,0.1,0.02", 2 * pairs)


def tuner(start: Tune | None = None, seed: int = 1) -> Tuner:
    return Tuner(start or tune(), ENGINE, lambda _: Opening("fen"), Random(seed))


def won_by_higher_p(job: PairJob) -> PairScore:
    first, second = (float(dict(side.options)["P"]) for side in (job.first, job.second))
    points = (2, 2) if first > second else (0, 0)
    return PairScore(job.number, job.first.name, job.second.name, points, ("normal", "normal"))


def played(one: Tuner) -> list[JournalEntry]:
    return [one.after(won_by_higher_p(job)) for job in one.jobs()]


def test_both_sides_get_tuned_options_in_place_of_fixed_ones() -> None:
    job = next(tuner().jobs())
    for side in (job.first, job.second):
        names = [name for name, _ in side.options]
        assert names == ["Hash", "P", "Q"]
    assert job.first.options != job.second.options


def test_values_follow_the_results() -> None:
    one = tuner()
    assert len(played(one)) == 20
    assert one.tune.thetas[0] > 50
    assert one.tune.iteration == 20


def test_pairs_under_way_count_towards_the_end() -> None:
    assert len(list(tuner(tune(3)).jobs())) == 3


def test_a_resumed_tune_stands_where_it_was_left() -> None:
    one, resumed = tuner(), tuner()
    for entry in played(one):
        resumed.recall(entry)
    assert resumed.tune == one.tune
    assert list(resumed.jobs()) == []
