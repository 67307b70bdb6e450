"""What a text is cut into: terms, cleaned text, passages, snippets."""

import time

import pytest

from rookery.server.ask.words import (
    LONGEST_PASSAGE,
    clean_text,
    count_terms,
    cut_passages,
    list_terms,
    make_snippet,
    read_stop_words,
)

STOP_WORDS = read_stop_words()
MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Tweak LMR at depth 7", ["tweak", "lmr", "depth", "7"]),
        ("futilityMargin", ["futilitymargin", "futility", "margin"]),
        ("see_ge UCIOption", ["see_ge", "see", "ge", "ucioption", "uci", "option"]),
        ("has the King been there?", ["king"]),
        ("Schöne Züge, naïve", ["schöne", "züge", "naïve"]),
        ("x" * 65, []),
    ],
)
def test_terms_are_words_and_the_parts_of_names(text: str, terms: list[str]) -> None:
    assert list_terms(text, STOP_WORDS) == terms


def test_a_word_of_the_title_counts_for_three() -> None:
    counts = count_terms("Razoring", "razoring at low depth", STOP_WORDS)
    assert counts == {"razoring": 4, "low": 1, "depth": 1}


def test_statistics_and_links_are_dropped_and_kept_beside_the_text() -> None:
    clean = clean_text(
        "Tweak the margin, see https://example.org/a for why.\r\n\n"
        "Passed STC:\nLLR: 2.95 (-2.94,2.94) <0.00,2.00>\nTotal: 45792 W: 11973 L: 11623 D: 22196\n"
        "https://example.org/tests/view/1\n\ncloses https://example.org/pull/2\n\nBench: 1234567\n"
    )
    assert (
        clean.text.split("\n") == ["Tweak the margin, see  for why.", "", "Passed STC:", "", ""][:3]
    )
    assert [line.partition(":")[0] for line in clean.statistics] == ["LLR", "Total", "Bench"]
    assert clean.links == (
        "https://example.org/a",
        "https://example.org/tests/view/1",
        "https://example.org/pull/2",
    )


def test_marks_and_control_characters_of_strangers_do_not_survive() -> None:
    assert clean_text("a\0b\x1b[31m \ue000c\ue001 \ud800").text == "a b [31m  c  ?"


def test_passages_end_with_a_paragraph() -> None:
    paragraphs = [" ".join([f"word{number}"] * 90) for number in range(5)]
    passages = cut_passages("\n\n".join(paragraphs))
    assert passages == ["\n\n".join(paragraphs[:2]), "\n\n".join(paragraphs[2:4]), paragraphs[4]]
    assert cut_passages("") == [""]


@pytest.mark.parametrize(
    "text", ["word " * 5_000, "a,b" * 20_000, "." * 100_000, "line of it\n" * 4_000]
)
def test_no_passage_is_long_whatever_the_text(text: str) -> None:
    passages = cut_passages(text)
    assert max(len(list_terms(passage, frozenset())) for passage in passages) <= 3 * LONGEST_PASSAGE
    assert max(map(len, passages)) <= 6_000
    assert sum(map(len, passages)) >= len(text.strip()) * 0.95


@pytest.mark.parametrize(
    "text", ["a" * MEGABYTE, "LLR" + " " * MEGABYTE, "http://" * (MEGABYTE // 7), "\n \n" * 300_000]
)
def test_time_is_in_proportion_to_the_text(text: str) -> None:
    began = time.process_time()
    clean = clean_text(text)
    for passage in cut_passages(clean.text):
        make_snippet(passage, frozenset(list_terms(passage, STOP_WORDS)))
    assert time.process_time() - began < 10


def test_a_snippet_shows_where_most_terms_stand() -> None:
    text = "razoring " + "filler " * 100 + "the futilityMargin of razoring here."
    snippet = make_snippet(text, frozenset({"razoring", "margin"}))
    assert snippet.startswith("… filler")
    assert snippet.endswith("the \ue000futilityMargin\ue001 of \ue000razoring\ue001 here.")


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    assert make_snippet("word " * 50, frozenset()) == "word " * 40 + "…"
    assert make_snippet("", frozenset({"word"})) == ""
