"""What engines say of themselves, and output within bounds."""

from rookery.match.introduction import UciOption, read_introduction
from rookery.worker.engines.programs import Output

LINES = (
    "Tiny by Nobody",
    "id name Tiny 1.0",
    "id author Nobody",
    "option name Hash type spin default 16 min 1 max 33554432",
    "option name Clear Hash type button",
    "option name EvalFile type string default <empty>",
    "option name Style type combo default Solid var Solid var Risky",
)


def test_name_and_options_are_read() -> None:
    found = read_introduction(LINES)
    assert found.name == "Tiny 1.0"
    assert found.options == (
        UciOption("Hash", "spin", "16", 1, 33554432),
        UciOption("Clear Hash", "button"),
        UciOption("EvalFile", "string", "<empty>"),
        UciOption("Style", "combo", "Solid"),
    )


def test_a_short_log_is_kept_whole() -> None:
    output = Output(10, 10)
    output.add(b"a line\nand another")
    assert output.text == "a line\nand another"


def test_a_flood_keeps_its_head_and_its_tail() -> None:
    output = Output(10, 10)
    for number in range(1000):
        output.add(b"%03d " % number)
    assert output.text == "000 001 00\n[... 3,980 bytes left out ...]\n7 998 999 "
