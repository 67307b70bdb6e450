"""The small drawings of a table."""

from rookery.server.http.pages.marks import draw_llr_bar, draw_pentanomial


def test_the_bar_grows_from_zero_towards_the_bound_it_nears() -> None:
    up, down = draw_llr_bar(1.5, -3.0, 3.0, 0.0), draw_llr_bar(-3.0, -3.0, 3.0, 0.0)
    assert (up.start, up.length, up.side) == ("50", "25", "up")
    assert (down.start, down.length, down.side) == ("0", "50", "down")


def test_the_bar_ends_at_its_bounds() -> None:
    assert draw_llr_bar(12.0, -3.0, 3.0).length == "50"
    assert draw_llr_bar(float("nan"), -3.0, 3.0).value == "–"


def test_the_sign_is_that_of_the_last_hours_movement() -> None:
    assert draw_llr_bar(1.0, -3.0, 3.0, 0.5).movement == "▲"
    assert draw_llr_bar(1.0, -3.0, 3.0, 1.5).movement == "▼"
    assert draw_llr_bar(1.0, -3.0, 3.0, 1.0).movement == "="
    assert draw_llr_bar(1.0, -3.0, 3.0, None).movement == ""
    assert draw_llr_bar(1.0, -3.0, 3.0, 0.5).moved == "+0.50 in the last hour"


def test_the_tallest_bin_fills_its_height_and_few_pairs_are_still_seen() -> None:
    found = draw_pentanomial((1, 0, 10_000, 20, 5000))
    assert [one.height for one in found.bins] == ["1", "0", "20", "1", "10"]
    assert found.text == "0: 1, ½: 0, 1: 10,000, 1½: 20, 2: 5,000"


def test_no_pairs_make_no_bins() -> None:
    assert {one.height for one in draw_pentanomial((0, 0, 0, 0, 0)).bins} == {"0"}
