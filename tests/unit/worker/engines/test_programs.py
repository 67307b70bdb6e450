"""What engines say of themselves."""

from rookery.worker.engines.programs import UciOption, read_introduction

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
