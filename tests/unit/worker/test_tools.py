"""The versions of tools, as they print them."""

import pytest

from rookery.worker.system import find_version, version_triple


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("g++ (Debian 12.2.0-14) 12.2.0\nCopyright", "12.2.0"),
        ("GNU Make 4.3\nBuilt for x86_64", "4.3"),
        ("cargo 1.79.0 (ffa9cf99a 2024-06-03)", "1.79.0"),
        ("git version 2.39.5", "2.39.5"),
        ("no version at all", ""),
    ],
)
def test_a_version_is_found_in_what_a_tool_says(said: str, expected: str) -> None:
    assert find_version(said) == expected


def test_a_version_has_three_numbers() -> None:
    assert (version_triple("4.3"), version_triple("12.2.0.1"), version_triple("")) == (
        (4, 3, 0),
        (12, 2, 0),
        (0, 0, 0),
    )
