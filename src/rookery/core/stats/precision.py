"""How exact the likelihood ratios are, and how far they are searched for."""

CONVERGED = 1e-9
MAX_REFINEMENTS = 10
MAX_NEWTON_STEPS = 100

# Newton squares the error: after a step this small, against the distance to the pole, x is exact.
STEP_THAT_SETTLES = 1e-7
ROUNDING = 4e-16
# Nearer to a pole than this, doubles can't tell a distance from none.
SMALLEST_SHARE = 1e-14

# A target beyond this many sigmas is the same hypothesis: "always wins".
MAX_SIGMAS = 100.0
