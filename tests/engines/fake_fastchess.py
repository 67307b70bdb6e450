"""Answers as fastchess does, without playing: the first engine wins the first game of each pair."""

import sys
import time
from pathlib import Path


def main(words: list[str]) -> None:
    if "version" in words[0]:
        print("fastchess alpha 1.4.0")
        return
    for word in words:
        if word.startswith("file=") and word.endswith(".pgn"):
            Path(word[5:]).write_text('[Event "fake"]\n\n*\n')
    pairs = int(words[words.index("-rounds") + 1])
    names = [word[5:] for word in words if word.startswith("name=")]
    for number in range(1, 2 * pairs + 1):
        white, black = names if number % 2 else reversed(names)
        sides = f"({white} vs {black})"
        print(f"Started game {number} of {2 * pairs} {sides}")
        end = "1-0 {White mates}" if number % 2 else "1/2-1/2 {Draw by 3-fold repetition}"
        print(f"Finished game {number} {sides}: {end}", flush=True)
        time.sleep(0.001)


if __name__ == "__main__":
    main(sys.argv[1:])
