"""Output within bounds."""

from rookery.worker.engines.programs import Output


def test_a_short_log_is_kept_whole() -> None:
    output = Output(10, 10)
    output.add(b"a line\nand another")
    assert output.text == "a line\nand another"


def test_a_flood_keeps_its_head_and_its_tail() -> None:
    output = Output(10, 10)
    for number in range(1000):
        output.add(b"%03d " % number)
    assert output.text == "000 001 00\n[... 3,980 bytes left out ...]\n7 998 999 "
