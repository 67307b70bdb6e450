"""Recognises questions that refer to the previous one: "and at long time control?", "did it pass?".

No model is used: if a question is short or begins with a pronoun, the rare words of the previous
question are searched for as well.
"""

from collections.abc import Sequence

from rookery.core.protocol.ask import ChatMessage

FEW_WORDS = 4
EARLIER_TERMS = 5
REFERRING_WORDS = frozenset({"it", "its", "that", "them", "they", "this", "those", "these", "same"})
"""Words that may refer to something said before."""
FOLLOW_UP_WORDS = REFERRING_WORDS | {
    "and", "any", "but", "did", "does", "he", "her", "his", "how", "or", "she", "so", "their",
    "then", "was", "were", "what", "which", "why",
}  # fmt: skip
"""First words of questions that may continue an earlier one."""


def find_referenced_question(question: str, history: Sequence[ChatMessage]) -> str:
    """Return the earlier question that this one refers to, or an empty text."""
    earlier = [message.text for message in history if message.role == "user"]
    if not earlier or not is_leaning(question):
        return ""
    # A chain of short questions refers to the last complete one.
    whole = [text for text in earlier if not is_leaning(text)]
    return (whole or earlier)[-1]


def is_leaning(question: str) -> bool:
    words = [word.strip("?!.,;:'\"()").lower() for word in question.split()]
    words = [word for word in words if word]
    if len(words) <= FEW_WORDS:
        return True
    return words[0] in REFERRING_WORDS or (
        words[0] in FOLLOW_UP_WORDS and bool(REFERRING_WORDS & set(words))
    )
