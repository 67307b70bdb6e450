"""The options of Fledgling, and its evaluation of positions and captures with these options."""

from collections.abc import Iterator, Mapping, Sequence

import chess

# The options: default, least and greatest value of each number, and the switches.

NUMBERS = {
    "Hash": (16, 1, 1024),
    "Threads": (1, 1, 1),
    "MoveOverhead": (30, 0, 5000),
    "Blunder": (0, 0, 100),
    "NodeNoise": (0, 0, 90),
    "Seed": (0, 0, 2**31 - 1),
    "PawnValue": (95, 40, 200),
    "KnightValue": (320, 100, 600),
    "BishopValue": (335, 100, 600),
    "RookValue": (500, 200, 900),
    "QueenValue": (980, 400, 1800),
    "BishopPair": (32, 0, 150),
    "Tempo": (12, 0, 80),
    "Mobility": (4, 0, 30),
    "DoubledPawn": (12, 0, 80),
    "IsolatedPawn": (10, 0, 80),
    "PassedPawn": (9, 0, 60),
    "RookOpenFile": (16, 0, 100),
    "KingShield": (9, 0, 60),
    "PieceSquare": (100, 0, 300),
}
SWITCHES = {"UCI_Chess960": False, "Ponder": False, "Quiescence": True}
DEFAULTS: Mapping[str, int] = {name: default for name, (default, *_) in NUMBERS.items()} | SWITCHES


def option_lines() -> Iterator[str]:
    """Yield the declaration of every option."""
    for name, (default, low, high) in NUMBERS.items():
        yield f"option name {name} type spin default {default} min {low} max {high}"
    for name, is_on in SWITCHES.items():
        yield f"option name {name} type check default {'true' if is_on else 'false'}"


def with_option(options: Mapping[str, int], given: str, text: str) -> dict[str, int]:
    """Return a copy with one option set. Raise ValueError for an unknown option or an invalid
    value."""
    name = next((name for name in options if name.lower() == given.lower()), None)
    if name is None:
        raise ValueError("there is no such option")
    if name in SWITCHES:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return {**options, name: text.lower() == "true"}
    _, low, high = NUMBERS[name]
    return {**options, name: max(low, min(high, int(text)))}


# The evaluation. Two scores are packed into one number, so that a piece costs a single addition:
# the middle game's in the low 16 bits, the endgame's above them.

PAWN_ADVANCE_MIDDLE = (0, 0, 2, 9, 20, 42, 70, 0)
PAWN_ADVANCE_END = (0, 4, 8, 17, 36, 72, 115, 0)
KING_HOME = (24, 34, 20, -6, 0, -8, 32, 26)
FULL_PHASE = 24
"""The sum for all pieces at the start of a game: minor pieces count one, rooks two, queens four."""
HUNT_PER_STEP = 10
"""The bonus for each step that the king is nearer to the enemy king, when that one is alone."""
MAX_PAWN_STRUCTURES = 20_000
NEIGHBOUR_FILES = tuple(
    sum(chess.BB_FILES[near] for near in (file - 1, file + 1) if 0 <= near <= 7)
    for file in range(8)
)


def _squares_ahead(square: int, ranks: range) -> int:
    """Return the squares on a pawn's file and the neighbouring ones on these ranks."""
    files = chess.BB_FILES[square & 7] | NEIGHBOUR_FILES[square & 7]
    return files & sum(chess.BB_RANKS[rank] for rank in ranks)


AHEAD = (
    tuple(_squares_ahead(square, range(square >> 3)) for square in range(64)),
    tuple(_squares_ahead(square, range((square >> 3) + 1, 8)) for square in range(64)),
)
"""The squares on which an enemy pawn keeps a pawn from being passed, for Black and for White."""


def pack(middle: int, end: int) -> int:
    return middle + (end << 16)


def unpack(packed: int) -> tuple[int, int]:
    """Return the scores of the middle game and of the endgame."""
    return ((packed + 0x8000) & 0xFFFF) - 0x8000, (packed + 0x8000) >> 16


def _square_bonus(piece: int, file: int, rank: int) -> tuple[int, int]:
    """Return the bonus of a white piece on a square, in the middle game and in the endgame."""
    centre = 7 - (abs(2 * file - 7) + abs(2 * rank - 7)) // 2
    at_home, in_centre = rank == 0, file in (3, 4)
    if piece == chess.PAWN:
        centre_pawn = 16 * (in_centre and rank in (3, 4)) - 14 * (in_centre and rank == 1)
        return PAWN_ADVANCE_MIDDLE[rank] + centre_pawn, PAWN_ADVANCE_END[rank]
    if piece == chess.KNIGHT:
        return 9 * centre - 32 - 12 * at_home, 6 * centre - 22
    if piece == chess.BISHOP:
        return 4 * centre - 10 - 10 * at_home, 3 * centre - 9
    if piece == chess.ROOK:
        seventh = 18 * (rank == 6)
        return 3 * min(file, 7 - file) - 5 + seventh, seventh // 2
    if piece == chess.QUEEN:
        return centre - 3, 5 * centre - 15
    return KING_HOME[file] if at_home else -22 * min(rank, 4), 11 * centre - 36


class Evaluation:
    """The evaluation in centipawns for the side to move: material, squares, pawns, mobility, king
    safety."""

    def __init__(self, options: Mapping[str, int]) -> None:
        names = ("PawnValue", "KnightValue", "BishopValue", "RookValue", "QueenValue")
        self.piece_values = (0, *(options[name] for name in names), 0)
        white = [self._square_table(piece, options["PieceSquare"]) for piece in chess.PIECE_TYPES]
        # Black sees the board mirrored: square 56 is its a1.
        black = [tuple(table[square ^ 56] for square in range(64)) for table in white]
        self._square_tables = (black, white)
        self._bishop_pair = pack(options["BishopPair"], options["BishopPair"])
        self._mobility = pack(options["Mobility"], options["Mobility"])
        self._open_file = pack(options["RookOpenFile"], options["RookOpenFile"] // 2)
        self._king_shield = pack(options["KingShield"], 0)
        self._doubled = pack(-options["DoubledPawn"], -options["DoubledPawn"] * 3 // 2)
        self._isolated = pack(-options["IsolatedPawn"], -options["IsolatedPawn"])
        passed = [options["PassedPawn"] * rank * rank for rank in range(8)]
        self._passed = [pack(bonus // 8, bonus // 4) for bonus in passed]
        self._tempo = options["Tempo"]
        self._pawn_scores: dict[tuple[int, int], int] = {}

    def __call__(self, board: chess.Board) -> int:
        black, white = board.occupied_co
        packed = self._pawns(board.pawns & white, board.pawns & black)
        packed += self._pieces(board, white, self._square_tables[True])
        packed -= self._pieces(board, black, self._square_tables[False])
        middle, end = unpack(packed if board.turn else -packed)
        minor, rooks = (board.knights | board.bishops).bit_count(), board.rooks.bit_count()
        phase = min(FULL_PHASE, minor + 2 * rooks + 4 * board.queens.bit_count())
        return (middle * phase + end * (FULL_PHASE - phase)) // FULL_PHASE + self._tempo

    def _square_table(self, piece: int, percent: int) -> tuple[int, ...]:
        worth = self.piece_values[piece]
        bonuses = (_square_bonus(piece, square & 7, square >> 3) for square in range(64))
        return tuple(
            pack(worth + middle * percent // 100, worth + end * percent // 100)
            for middle, end in bonuses
        )

    def _pieces(self, board: chess.Board, own: int, tables: Sequence[Sequence[int]]) -> int:
        own_pawns, king = board.pawns & own, board.kings & own
        score = _table_sum(own_pawns, tables[0]) + _table_sum(board.queens & own, tables[4])
        score += tables[5][king.bit_length() - 1]
        shield = chess.BB_KING_ATTACKS[king.bit_length() - 1] & own_pawns
        score += self._king_shield * shield.bit_count()
        if (board.bishops & own).bit_count() > 1:
            score += self._bishop_pair
        if board.occupied == own | board.kings:
            distance = chess.square_distance(chess.lsb(board.kings), chess.msb(board.kings))
            score += pack(0, HUNT_PER_STEP * (7 - distance))
        # A queen's mobility does not count, because that would bring her out too early.
        reached, attacks = 0, board.attacks_mask
        for kind, table in zip(
            (board.knights, board.bishops, board.rooks), tables[1:4], strict=True
        ):
            pieces = kind & own
            while pieces:
                square = (pieces & -pieces).bit_length() - 1
                score += table[square]
                reached += (attacks(square) & ~own).bit_count()
                if kind == board.rooks and not own_pawns & chess.BB_FILES[square & 7]:
                    score += self._open_file
                pieces &= pieces - 1
        return score + self._mobility * reached

    def _pawns(self, white: int, black: int) -> int:
        """Return the pawn structure from White's point of view. It is cached because it changes
        rarely."""
        known = self._pawn_scores.get((white, black))
        if known is None:
            if len(self._pawn_scores) >= MAX_PAWN_STRUCTURES:
                self._pawn_scores.clear()
            known = self._pawns_of(white, black, True) - self._pawns_of(black, white, False)
            self._pawn_scores[white, black] = known
        return known

    def _pawns_of(self, own: int, other: int, colour: chess.Color) -> int:
        score = 0
        for file in range(8):
            count = (own & chess.BB_FILES[file]).bit_count()
            score += max(0, count - 1) * self._doubled
            if not own & NEIGHBOUR_FILES[file]:
                score += count * self._isolated
        for square in chess.scan_forward(own):
            if not other & AHEAD[colour][square]:
                score += self._passed[square >> 3 if colour else 7 - (square >> 3)]
        return score


def _table_sum(pieces: int, table: Sequence[int]) -> int:
    score = 0
    while pieces:
        score += table[(pieces & -pieces).bit_length() - 1]
        pieces &= pieces - 1
    return score


# Captures and promotions: generating them, their order, and which lose material.

ORDER_VALUES = (0, 1, 3, 3, 5, 9, 20)
"""Rough values by piece type, used only for the order and for losing captures."""


def captures(board: chess.Board) -> list[chess.Move]:
    """Capture without en passant: of the most valuable piece by the least valuable one first."""
    found = list(board.generate_legal_moves(chess.BB_ALL, board.occupied_co[not board.turn]))
    if len(found) > 1:
        found.sort(key=lambda move: (_gain(board, move) << 15) + move_code(move), reverse=True)
    return found


def queen_promotions(board: chess.Board) -> Iterator[chess.Move]:
    """Promotions to a queen without a capture."""
    seventh_rank = chess.BB_RANK_7 if board.turn else chess.BB_RANK_2
    if pawns := board.pawns & board.occupied_co[board.turn] & seventh_rank:
        for move in board.generate_legal_moves(pawns, ~board.occupied):
            if move.promotion == chess.QUEEN:
                yield move


def loses_material(board: chess.Board, move: chess.Move) -> bool:
    """Whether a capture gives more than it takes, and the other side can recapture."""
    taken = ORDER_VALUES[board.piece_type_at(move.to_square) or 0]
    taker = ORDER_VALUES[board.piece_type_at(move.from_square) or 0]
    return taker > taken and board.is_attacked_by(not board.turn, move.to_square)


def _gain(board: chess.Board, move: chess.Move) -> int:
    taken = ORDER_VALUES[board.piece_type_at(move.to_square) or 0]
    taker = ORDER_VALUES[board.piece_type_at(move.from_square) or 0]
    return 32 * (taken + ORDER_VALUES[move.promotion or 0]) - taker


def move_code(move: chess.Move) -> int:
    """Return the number of a move, by which moves of equal value are ordered the same
    everywhere."""
    return (move.promotion or 0) << 12 | move.from_square << 6 | move.to_square
