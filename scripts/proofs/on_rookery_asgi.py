"""Every test of Rookery passes when it is served by rookery-asgi instead of uvicorn.

    scripts/prove on_rookery_asgi [TIER ...]

Runs the tiers of scripts/test as it runs them, but in an environment that has both servers. A test
process refuses to start where the other server is not available. What the tests say goes to stderr.
"""

import argparse
import contextlib
import sys
from dataclasses import replace
from pathlib import Path

from scripts.lanes import PATIENCE, Lanes, Outcome, Stage
from scripts.stages import CHAINS, ON_ROOKERY_ASGI, tier
from scripts.together import python

HANGS_SECONDS = 1800
NAMES = {stage.tier for chain in CHAINS for stage in chain if stage.tier}
TIERS = {name: tier(name, HANGS_SECONDS) for name in sorted(NAMES)}


def carried(tier: Stage, interpreter: Path) -> Stage:
    """The stage of the same tests on the other server; a slow stage does not fail here, only a
    hanging one."""
    return replace(
        tier,
        budget=HANGS_SECONDS // PATIENCE,
        command=(str(interpreter), *tier.command[1:]),
        variables=tier.variables | ON_ROOKERY_ASGI,
    )


def line(outcome: Outcome) -> str:
    counts = ", ".join(f"{number} {what}" for what, number in outcome.counts.items())
    ended = counts if outcome.ok else f"{counts or 'nothing counted'}, DID NOT HOLD"
    return f"{outcome.stage.name:12} {ended}, {outcome.seconds:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove on_rookery_asgi", description=__doc__)
    parser.add_argument("tiers", nargs="*", metavar="TIER")
    names = parser.parse_args().tiers or list(TIERS)
    if unknown := [name for name in names if name not in TIERS]:
        parser.error(f"there is no tier {unknown[0]}; there are {', '.join(TIERS)}")
    with contextlib.redirect_stdout(sys.stderr):
        interpreter = python()
        chains = [(carried(TIERS[name], interpreter),) for name in names]
        outcomes = Lanes().run_chains(chains)
    for outcome in outcomes:
        print(line(outcome))
    return 0 if all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
