"""A UCI engine whose strength depends on two options, with a known best setting, for tuning tests.

In the one position it knows (`FEN`) White mates or stalemates with the next move. It finds the mate
the more surely the nearer its options P and Q are to the best: a game of a single move.
"""

import random
import sys
from math import exp

FEN = "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"
MATE, STALEMATE = "g5g7", "g5g6"
BEST = {"P": 100.0, "Q": 60.0}
WIDTH = 20.0


def main(seed: str) -> None:
    chance = random.Random(seed)
    options = dict.fromkeys(BEST, 0.0)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "uci":
            print("option name P type spin\noption name Q type spin\nuciok", flush=True)
        elif words[0] == "isready":
            print("readyok", flush=True)
        elif words[0] == "setoption":
            options[words[2].upper()] = float(words[4])
        elif words[0] == "go":
            away = sum(((options[name] - best) / WIDTH) ** 2 for name, best in BEST.items())
            move = MATE if chance.random() < exp(-away / 2) else STALEMATE
            print(f"info depth 1 score cp 0 nodes 1\nbestmove {move}", flush=True)
        elif words[0] == "quit":
            return


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "0")
