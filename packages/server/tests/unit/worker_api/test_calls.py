"""What the calls of workers make of what was sent."""

from rookery.server.worker_api.calls import normalize_complaint


def test_complaints_are_equal_whatever_the_compiler() -> None:
    text = "Wrong bench in stockfish-{}-old, user expected: 7 but worker got: 8"
    sha = "eb447fe60d8facdc6741ec928fbf92351a6ceb44"
    one = normalize_complaint(text.format(f"{sha}-g++_12_2_0-25b32ad706"))
    other = normalize_complaint(text.format(f"{sha}-clang++_17_0_1-0000000000"))
    assert one == other
    assert one != normalize_complaint(text.format(f"{sha}-g++").replace("got: 8", "got: 9"))
    assert normalize_complaint("anything else") == "anything else"
