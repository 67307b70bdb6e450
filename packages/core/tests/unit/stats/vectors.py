"""Known results: what an established farm's statistics say about the same counts."""

P = (10789, 19328, 33806, 19402, 10543)
P_GAMES = (65804, 56553, 65388)
Q = (39, 2226, 31451, 2412, 40)

BATCHES = ((1, 3, 8, 3, 1), (1, 7, 14, 8, 2), (1, 9, 21, 13, 4), (2, 11, 27, 19, 5))
