"""Whatever parses strangers' text takes a time that grows with its length and no faster."""

import re
from functools import partial

import pytest

from tests.slow_texts import PARSERS, Parser, Shape, plain_shapes, too_steep

SIZE = 2_000
FLOOR = 0.02
"""Seconds for sixteen thousand characters; a square of them takes several times as long."""


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_the_time_per_character_stays_flat(parser: Parser) -> None:
    steep = {shape: too_steep(parser, shape, SIZE, FLOOR) for shape in plain_shapes(parser)}
    assert not {shape: ratio for shape, ratio in steep.items() if ratio}


def test_a_parser_that_goes_back_again_and_again_is_found() -> None:
    strip = partial(re.sub, r"\{[^}]*\}", "")
    shape = Shape("", ("{",), "")
    assert too_steep(Parser("slow", strip), shape, SIZE, FLOOR)
    assert not too_steep(Parser("quick", len), shape, SIZE, FLOOR)
