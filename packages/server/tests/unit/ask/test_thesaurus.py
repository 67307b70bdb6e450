"""How a question is widened by words that mean the same."""

from pathlib import Path

import pytest

from rookery.core.errors import Complaint
from rookery.server.ask.thesaurus import (
    MOST_ALTERNATIVES,
    Thesaurus,
    inflect,
    make_thesaurus,
    read_lexicon,
    weigh_equally,
)

GROUPS = ("lmr, late move reduction", "castle > rook")


def find_alternatives(thesaurus: Thesaurus, *terms: str) -> dict[int, set[str]]:
    """The terms of each concept."""
    found: dict[int, set[str]] = {}
    for term, concept, _ in thesaurus.widen(terms).alternatives:
        found.setdefault(concept, set()).add(term)
    return found


@pytest.fixture
def thesaurus() -> Thesaurus:
    return make_thesaurus(GROUPS, frozenset())


def test_a_word_widens_to_the_words_of_its_group(thesaurus: Thesaurus) -> None:
    assert {"lmr", "late", "move", "reduction"} <= find_alternatives(thesaurus, "lmr")[0]


def test_a_phrase_is_a_concept_besides_its_words(thesaurus: Thesaurus) -> None:
    found = find_alternatives(thesaurus, "late", "move", "reductions")
    assert found[3] == {"lmr"}
    assert "lmr" not in found[0] | found[1] | found[2]


def test_a_directed_group_does_not_widen_backwards(thesaurus: Thesaurus) -> None:
    assert "rook" in find_alternatives(thesaurus, "castle")[0]
    assert "castle" not in find_alternatives(thesaurus, "rook")[0]


def test_what_is_added_weighs_less_than_what_was_asked(thesaurus: Thesaurus) -> None:
    alternatives = thesaurus.widen(["lmr"]).alternatives
    assert [each.term for each in alternatives if each.weight == 1] == ["lmr"]
    assert all(0 < each.weight < 1 for each in alternatives[1:])


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("prune", {"prunes", "pruned", "pruning"}),
        ("pruning", {"prune", "pruned", "prunes"}),
        ("tries", {"try", "tried", "trying"}),
        ("dropped", {"drop", "drops", "dropping"}),
        ("x86", set()),
    ],
)
def test_forms_of_a_word_stand_for_it(word: str, forms: set[str]) -> None:
    assert forms <= inflect(word)
    assert word not in inflect(word)


def test_a_question_without_thesaurus_asks_for_each_word_once() -> None:
    assert [each.term for each in weigh_equally(["a", "b", "a"]).alternatives] == ["a", "b"]


def test_what_is_looked_for_is_bounded() -> None:
    thesaurus = read_lexicon().thesaurus
    words = [phrase[0] for phrase in thesaurus.synonyms]
    assert len(thesaurus.widen(words).alternatives) == MOST_ALTERNATIVES


def test_an_operator_adds_groups_of_their_own(tmp_path: Path) -> None:
    extra = tmp_path / "extra.txt"
    extra.write_text("# ours\nflubber, quux factor\n")
    assert "quux" in find_alternatives(read_lexicon(extra).thesaurus, "flubber")[0]
    with pytest.raises(Complaint, match=r"ROOKERY_ASK_THESAURUS.*missing"):
        read_lexicon(tmp_path / "missing.txt")


def test_no_group_of_ours_is_alone() -> None:
    assert all(others for others in read_lexicon().thesaurus.synonyms.values())
