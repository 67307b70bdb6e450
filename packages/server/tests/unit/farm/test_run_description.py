"""What a run tests and by which rules, in words."""

import re

from msgspec.structs import replace as with_fields

from rookery.core.model.kinds import Fixed
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.server.show.run_description import (
    describe_question,
    describe_run,
    find_diff_address,
    link_difference,
)
from rookery.server.sources.diffs import NO_COMMIT
from tests.makers import make_plan, make_run, make_side, sprt, spsa
from tests.rendered import render

FORK = "https://github.com/olga/Stockfish"


def test_the_question_of_each_kind_of_run_is_short() -> None:
    assert describe_question(make_run(kind=sprt(elo1=2.0))) == "gain [0, 2]"
    assert describe_question(make_run(kind=sprt(elo0=-1.75, elo1=0.25))) == (
        "no regression [-1.75, 0.25]"
    )
    assert describe_question(make_run(kind=spsa())) == "tune of 1 parameter"
    assert describe_question(make_run(kind=Fixed())) == "40,000 games"


def test_a_run_is_told_in_one_sentence() -> None:
    assert describe_run(make_run(kind=sprt(elo1=2.0))) == (
        "Tests whether Stockfish idea is stronger than master (bounds 0 and 2 nElo) at 10 s + 0.1 s"
        " with 1 thread from UHO.epd, for at most 40,000 games."
    )
    assert describe_run(make_run(kind=spsa())).startswith("Tunes 1 parameter of Stockfish idea")


def test_the_difference_is_where_the_change_can_be_read() -> None:
    new, base = make_side(commit="a" * 40), make_side("master", commit="b" * 40)
    same = make_run(plan=make_plan(sides=(new, base)))
    assert find_diff_address(same).endswith("/compare/bbbbbbbbbb...aaaaaaaaaa")
    fork = make_run(plan=make_plan(sides=(with_fields(new, repository=FORK), base)))
    assert find_diff_address(fork) == f"{FORK}/commit/{'a' * 40}"
    elsewhere = with_fields(new, repository="https://git.example.org/e")
    assert find_diff_address(make_run(plan=make_plan(sides=(elsewhere, base)))) == ""
    assert find_diff_address(make_run(plan=make_plan(sides=(base, base)))) == ""


def test_a_change_that_no_host_shows_is_read_on_a_page_of_ours() -> None:
    here = "https://git.example.org/e"
    new = make_side(commit="a" * 40, repository=here)
    base = make_side("master", commit="b" * 40, repository=here)

    def link(*sides: Side) -> str:
        return link_difference(make_run(plan=make_plan(sides=sides)))

    assert link(new, base) == f"/runs/{make_run().id}/diff"
    assert link(new, new) == ""
    assert link(with_fields(new, binary="c" * 64), base) == ""
    assert link(with_fields(new, commit=NO_COMMIT), with_fields(base, commit=NO_COMMIT)) == ""


def list_terms(run: Run) -> dict[str, str]:
    """The settings on the page of a run, as HTML by their names."""
    return dict(
        re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", render("run_settings.html", {"run": run}))
    )


def test_the_table_leads_to_the_sources_of_both_sides() -> None:
    elsewhere = make_side("master", repository="https://git.example.org/e")
    here = make_side("master", repository="/srv/e.git")
    sides = make_side(commit="a" * 40, repository=FORK), elsewhere
    found = list_terms(make_run(plan=make_plan(sides=sides)))
    assert f'href="{FORK}/tree/{"a" * 40}"' in found["New"]
    assert 'href="https://git.example.org/e"' in found["Base"]
    found = list_terms(make_run(plan=make_plan(sides=(here, here))))
    assert "href" not in found["New"] + found["Base"]


def test_the_table_names_what_differs_between_the_sides() -> None:
    new = make_side(tc="20+0.2", threads=2, signature="123", nets=("nn.nnue",))
    sides = new, make_side("master")
    found = list_terms(make_run(plan=make_plan(sides=sides), kind=sprt()))
    assert found["Time control, new"] == "20 s + 0.2 s"
    assert found["Threads"] == "2 and 1"
    assert found["New, bench"] == "123"
    assert found["New, nets"] == "nn.nnue"
    assert found["Error rates"] == "α 0.05, β 0.05"


def test_the_depth_of_a_book_counts_moves_of_each_side_and_positions_have_none() -> None:
    def book(name: str) -> str:
        return list_terms(make_run(plan=make_plan(book=name)))["Book"]

    assert book("lines.pgn") == "lines.pgn, 8 moves of each side at most"
    assert book("UHO.epd") == "UHO.epd"
