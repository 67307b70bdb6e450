"""Writes the opening book in the package, from the lines of moves below.

The lines are well-known openings, a few moves deep and level enough that either side can win:
    python scripts/demo_book.py > packages/core/src/rookery/core/books/rookery-demo.epd
"""

import sys

import chess

LINES = """
e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6
e4 e5 Nf3 Nc6 Bb5 a6 Bxc6 dxc6
e4 e5 Nf3 Nc6 Bb5 Nf6 O-O Nxe4
e4 e5 Nf3 Nc6 Bb5 f5 Nc3 fxe4
e4 e5 Nf3 Nc6 Bc4 Bc5 c3 Nf6
e4 e5 Nf3 Nc6 Bc4 Nf6 d3 Be7
e4 e5 Nf3 Nc6 Bc4 Nf6 Ng5 d5
e4 e5 Nf3 Nc6 Bc4 Bc5 b4 Bxb4
e4 e5 Nf3 Nc6 d4 exd4 Nxd4 Nf6
e4 e5 Nf3 Nc6 d4 exd4 Nxd4 Bc5
e4 e5 Nf3 Nc6 Nc3 Nf6 Bb5 Nd4
e4 e5 Nf3 Nf6 Nxe5 d6 Nf3 Nxe4
e4 e5 Nf3 Nf6 d4 Nxe4 Bd3 d5
e4 e5 Nf3 d6 d4 exd4 Nxd4 Nf6
e4 e5 Nc3 Nf6 f4 d5 fxe5 Nxe4
e4 e5 Bc4 Nf6 d3 c6 Nf3 d5
e4 e5 f4 exf4 Nf3 g5 h4 g4
e4 e5 f4 d5 exd5 exf4 Nf3 Nf6
e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6
e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 g6
e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 Nc6
e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 e6
e4 c5 Nf3 d6 Bb5+ Bd7 Bxd7+ Qxd7
e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 Nf6 Nc3 e5
e4 c5 Nf3 Nc6 d4 cxd4 Nxd4 g6
e4 c5 Nf3 Nc6 Bb5 g6 O-O Bg7
e4 c5 Nf3 e6 d4 cxd4 Nxd4 a6
e4 c5 Nf3 e6 d4 cxd4 Nxd4 Nc6
e4 c5 Nc3 Nc6 g3 g6 Bg2 Bg7
e4 c5 c3 Nf6 e5 Nd5 d4 cxd4
e4 c5 c3 d5 exd5 Qxd5 d4 Nf6
e4 c5 d4 cxd4 c3 dxc3 Nxc3 Nc6
e4 e6 d4 d5 Nc3 Nf6 Bg5 Be7
e4 e6 d4 d5 Nc3 Bb4 e5 c5
e4 e6 d4 d5 Nd2 Nf6 e5 Nfd7
e4 e6 d4 d5 Nd2 c5 exd5 exd5
e4 e6 d4 d5 e5 c5 c3 Nc6
e4 e6 d4 d5 exd5 exd5 Nf3 Nf6
e4 c6 d4 d5 Nc3 dxe4 Nxe4 Bf5
e4 c6 d4 d5 Nc3 dxe4 Nxe4 Nd7
e4 c6 d4 d5 e5 Bf5 Nf3 e6
e4 c6 d4 d5 exd5 cxd5 c4 Nf6
e4 c6 Nf3 d5 Nc3 Bg4 h3 Bxf3
e4 d6 d4 Nf6 Nc3 g6 Nf3 Bg7
e4 d6 d4 Nf6 Nc3 g6 f4 Bg7
e4 g6 d4 Bg7 Nc3 d6 Be3 a6
e4 d5 exd5 Qxd5 Nc3 Qa5 d4 Nf6
e4 d5 exd5 Nf6 d4 Nxd5 Nf3 g6
e4 Nf6 e5 Nd5 d4 d6 Nf3 Bg4
e4 Nf6 e5 Nd5 c4 Nb6 d4 d6
d4 d5 c4 e6 Nc3 Nf6 Bg5 Be7
d4 d5 c4 e6 Nc3 Nf6 cxd5 exd5
d4 d5 c4 e6 Nf3 Nf6 g3 Be7
d4 d5 c4 e6 Nc3 c5 cxd5 exd5
d4 d5 c4 c6 Nf3 Nf6 Nc3 e6
d4 d5 c4 c6 Nf3 Nf6 Nc3 dxc4
d4 d5 c4 c6 cxd5 cxd5 Nc3 Nf6
d4 d5 c4 dxc4 Nf3 Nf6 e3 e6
d4 d5 c4 e5 dxe5 d4 Nf3 Nc6
d4 d5 Nf3 Nf6 Bf4 c5 e3 Nc6
d4 d5 Nf3 Nf6 e3 e6 Bd3 c5
d4 Nf6 c4 e6 Nc3 Bb4 e3 O-O
d4 Nf6 c4 e6 Nc3 Bb4 Qc2 O-O
d4 Nf6 c4 e6 Nf3 b6 g3 Ba6
d4 Nf6 c4 e6 Nf3 b6 g3 Bb7
d4 Nf6 c4 e6 Nf3 Bb4+ Bd2 Qe7
d4 Nf6 c4 g6 Nc3 Bg7 e4 d6 Nf3 O-O
d4 Nf6 c4 g6 Nc3 Bg7 e4 d6 f3 O-O
d4 Nf6 c4 g6 Nc3 d5 cxd5 Nxd5
d4 Nf6 c4 g6 Nc3 d5 Nf3 Bg7
d4 Nf6 c4 g6 g3 Bg7 Bg2 d5
d4 Nf6 c4 c5 d5 e6 Nc3 exd5
d4 Nf6 c4 c5 d5 b5 cxb5 a6
d4 Nf6 c4 e5 dxe5 Ng4 Nf3 Bc5
d4 Nf6 Bg5 Ne4 Bf4 c5 f3 Qa5+
d4 Nf6 Nf3 e6 Bg5 c5 e3 Be7
d4 f5 g3 Nf6 Bg2 g6 Nf3 Bg7
d4 f5 c4 Nf6 g3 e6 Bg2 Be7
d4 d6 Nf3 Bg4 c4 Nd7 e4 e5
d4 e6 c4 Bb4+ Bd2 Bxd2+ Qxd2 Nf6
c4 e5 Nc3 Nf6 Nf3 Nc6 g3 d5
c4 e5 g3 Nf6 Bg2 d5 cxd5 Nxd5
c4 c5 Nf3 Nf6 Nc3 d5 cxd5 Nxd5
c4 c5 g3 g6 Bg2 Bg7 Nc3 Nc6
c4 Nf6 Nc3 e6 e4 d5 e5 d4
c4 Nf6 Nc3 g6 e4 d6 d4 Bg7
c4 e6 Nf3 d5 g3 Nf6 Bg2 Be7
c4 c6 Nf3 d5 b3 Nf6 g3 Bf5
Nf3 d5 g3 Nf6 Bg2 c6 O-O Bg4
Nf3 d5 c4 d4 b4 f6 e3 e5
Nf3 Nf6 c4 b6 g3 Bb7 Bg2 e6
Nf3 Nf6 g3 g6 Bg2 Bg7 O-O O-O
Nf3 c5 c4 Nf6 Nc3 e6 g3 b6
g3 d5 Bg2 e5 d3 Nf6 Nf3 Nc6
b3 e5 Bb2 Nc6 e3 Nf6 Bb5 Bd6
f4 d5 Nf3 g6 e3 Bg7 Be2 Nf6
"""


def position(line: str) -> str:
    board = chess.Board()
    for move in line.split():
        board.push_san(move)
    return f"{board.fen(en_passant='fen')}\n"


if __name__ == "__main__":
    sys.stdout.writelines(map(position, LINES.strip().splitlines()))
