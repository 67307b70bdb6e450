"""GET /api/calc_elo."""

import asyncio

import pytest

from tests.twins.sites import open_site

PAIRS = "LL=10789&LD=19328&DDWL=33806&WD=19402&WW=10543"
GAMES = "W=65388&D=56553&L=65804"


def asked(query: str) -> tuple[int, dict[str, object]]:
    async def ask() -> tuple[int, dict[str, object]]:
        async with open_site() as site:
            answer = await site.browser.get(f"/api/calc_elo?{query}")
            return answer.status_code, answer.json()

    return asyncio.run(ask())


def test_pairs_without_bounds_give_the_estimate_of_a_fixed_number_of_games() -> None:
    status, found = asked(PAIRS)
    assert status == 200
    assert found["elo"] == pytest.approx(-0.7735773359, abs=1e-9)
    assert found["LOS"] == pytest.approx(0.1176588580, abs=1e-9)
    assert set(found) == {"elo", "ci", "LOS"}


def test_single_games_are_taken_where_pairs_are_not_complete() -> None:
    _, found = asked(f"{GAMES}&LL=3")
    assert found["elo"] == pytest.approx(-0.7698390909, abs=1e-9)


def test_bounds_make_it_the_estimate_of_a_sequential_test() -> None:
    _, found = asked(f"{PAIRS}&elo0=-1.75&elo1=0.25")
    assert found["elo"] == pytest.approx(-0.7545069556, abs=1e-9)
    assert found["ci"] == pytest.approx([-2.0559571772, 0.5654208397], abs=1e-9)
    assert found["LLR"] == pytest.approx(-0.6271679157, abs=1e-9)
    assert (found["a"], found["b"]) == pytest.approx((-2.9444389792, 2.9444389792), abs=1e-9)


@pytest.mark.parametrize("model", ["BayesElo", "logistic", "normalized"])
def test_each_model_is_known(model: str) -> None:
    assert asked(f"{PAIRS}&elo0=-3&elo1=1&elo_model={model}")[0] == 200


@pytest.mark.parametrize(
    "query",
    [
        "",
        "W=1&D=2",
        "W=-1&D=0&L=0",
        "W=1.5&D=0&L=0",
        "W=0&D=0&L=0",
        "W=4294967297&D=0&L=0",
        f"{PAIRS}&elo0=0&elo1=0.4",
        f"{PAIRS}&elo0=0&elo1=11",
        f"{PAIRS}&elo0=0&elo1=2&elo_model=other",
        f"{PAIRS}&elo0=nan&elo1=2",
    ],
)
def test_what_makes_no_sense_is_a_400_that_names_the_path(query: str) -> None:
    status, said = asked(query)
    assert status == 400
    assert str(said["error"]).startswith("/api/calc_elo: ")
