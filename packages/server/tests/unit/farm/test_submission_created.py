"""New runs: ids, first state, remarks for their author, and sources from this server."""

from datetime import UTC, datetime, timedelta

import pytest

from rookery.core.model.engine import STOCKFISH, Catalogue, EngineRecord
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run
from rookery.core.protocol.codec import WireFault
from rookery.server.farm.rules.lifecycle import Stage, stage
from rookery.server.farm.submission import SubmissionContext, run_id
from rookery.server.sources.commits import mirror_name, mirrored_side
from rookery.server.sources.submission_checks import list_remarks
from tests.submissions import SPRT, created, planned, submitted

NOW = datetime(2026, 8, 22, 8, 16, 56, 123_000, tzinfo=UTC)
PYTHONIC = Catalogue({"Stockfish": STOCKFISH, "Sunfish": EngineRecord(name="Sunfish")})


def zeros(size: int) -> bytes:
    return bytes(size)


def run_of(around: SubmissionContext | None = None, **changes: object) -> Run:
    around = around or SubmissionContext()
    return created(submitted(**changes), "olga", around, now=NOW, chance=zeros)


def test_an_id_is_24_hex_digits_that_tell_the_second() -> None:
    made = run_id(NOW, zeros)
    assert len(made) == 24
    assert datetime.fromtimestamp(int(made[:8], 16), UTC) == NOW.replace(microsecond=0)


def test_ids_sort_by_creation_within_a_second_too() -> None:
    moments = [NOW + timedelta(milliseconds=step) for step in (0, 1, 500, 1000, 90_000)]
    ids = [run_id(moment, zeros) for moment in moments]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)


def test_ids_of_one_moment_differ_by_chance() -> None:
    assert run_id(NOW, zeros) != run_id(NOW, lambda size: b"\1" * size)


def test_a_new_run_waits_for_approval() -> None:
    run = run_of(sprt=SPRT)
    assert (stage(run.status), run.created, run.tally.total) == (Stage.PENDING, NOW, 0)


def test_a_rescheduled_run_remembers_its_origin() -> None:
    assert run_of(rescheduled_from="f" * 24).rescheduled_from == "f" * 24


def test_an_engine_without_a_reference_speed_plays_at_the_one_given() -> None:
    around = SubmissionContext(catalogue=PYTHONIC)
    run = run_of(around, new_engine="Sunfish", base_engine="Sunfish", reference_nps=9000)
    assert run.reference_nps == 9000


def test_the_reference_speed_of_stockfish_is_not_to_be_chosen() -> None:
    with pytest.raises(WireFault, match="reference_nps"):
        run_of(reference_nps=9000)


def test_an_ordinary_run_causes_no_remark() -> None:
    assert list_remarks(run_of(sprt=SPRT)) == ()


def test_a_book_without_its_hash_is_remarked() -> None:
    (remark,) = list_remarks(run_of(book_sri=None))
    assert remark.startswith("book_sri")


def test_a_run_that_official_workers_cannot_play_is_remarked() -> None:
    (remark,) = list_remarks(run_of(tc="N=5000"))
    assert "official workers can't play this run" in remark


def test_a_run_shorter_than_a_batch_is_remarked() -> None:
    (remark,) = list_remarks(run_of(sprt={**SPRT, "batch_size": 16}, num_games=2))
    assert "32 games are played" in remark


def test_odd_parameters_of_a_tune_are_remarked() -> None:
    spsa = {"raw_params": "P,10,0,20,0.1,0.002"}
    assert any("c_end" in remark for remark in list_remarks(run_of(spsa=spsa)))


SECRET = EngineRecord(name="Secret", source="https://git.example/secret", team="them", private=True)
CATALOGUE = Catalogue({engine.name: engine for engine in (STOCKFISH, SECRET)})


def plan_of(around: SubmissionContext, **changes: object) -> Plan:
    return planned(submitted(**changes), "olga", around)[0]


def test_workers_fetch_what_they_can_by_themselves() -> None:
    assert not plan_of(SubmissionContext()).mirrored


@pytest.mark.parametrize(
    ("around", "changes"),
    [
        (SubmissionContext(), {"mirrored": True}),
        (SubmissionContext(mirroring=True), {}),
        (
            SubmissionContext(schemes=frozenset({"ssh"})),
            {"tests_repo": "ssh://git@host/engine.git"},
        ),
        (
            SubmissionContext(CATALOGUE, credentials=True),
            {"new_engine": "Secret", "base_engine": "Secret", "tests_repo": None},
        ),
    ],
)
def test_what_is_wanted_or_out_of_their_reach_is_mirrored(
    around: SubmissionContext, changes: dict[str, object]
) -> None:
    assert plan_of(around, **changes).mirrored


def test_programs_need_no_mirror() -> None:
    both = {"new_binary": "c" * 64, "base_binary": "c" * 64}
    assert not plan_of(SubmissionContext(mirroring=True), **both).mirrored


@pytest.mark.parametrize("address", ["file:///srv/engine", "ssh://host/x", "git://host/x"])
def test_what_the_server_does_not_fetch_either_is_refused(address: str) -> None:
    with pytest.raises(WireFault, match="tests_repo: this server takes no sources by"):
        plan_of(SubmissionContext(), tests_repo=address)


def test_names_of_mirrors_are_plain_and_differ() -> None:
    names = {mirror_name(f"https://{host}/a/Engine X") for host in ("one", "two")}
    assert len(names) == 2
    assert all(name.startswith("Engine-X-") and name.isascii() for name in names)


def test_an_archive_is_for_a_side_of_a_mirrored_plan_alone() -> None:
    plan = plan_of(SubmissionContext(), mirrored=True)
    name = mirror_name(plan.new.repository)
    assert mirrored_side(plan, name, "a" * 40) == plan.new
    assert mirrored_side(plan, name, "b" * 40) == plan.base
    assert mirrored_side(plan, name, "c" * 40) is None
    assert mirrored_side(plan, "other", "a" * 40) is None
    assert mirrored_side(plan_of(SubmissionContext()), name, "a" * 40) is None
