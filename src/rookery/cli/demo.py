"""The first test of a new installation: the bundled engine against a weakened copy of itself.

It is made so that it is decided within a few minutes on two cores: the base plays any legal move in
three of a hundred positions, which costs it some hundred Elo, the bounds are wide, and each pair of
games is reported at once.
"""

import msgspec

from rookery.service.bearers import Bearer
from rookery.service.tokens import ORDINARY
from rookery.service.users import User
from rookery.web.api.v1.submissions import Submissions
from rookery.web.house import House

BENCH = "30939"
"""What Fledgling counts on every machine."""
SUBMISSION = {
    "new_engine": "Fledgling",
    "base_engine": "Fledgling",
    "new_tag": "careful",
    "base_tag": "careless",
    "resolved_new": "0" * 40,
    "resolved_base": "0" * 40,
    "new_signature": BENCH,
    "base_signature": BENCH,
    "tests_repo": "https://example.org/fledgling",
    "new_options": "Hash=16 NodeNoise=30 Seed=1",
    "base_options": "Hash=16 NodeNoise=30 Seed=2 Blunder=3",
    "tc": "N=200",
    "book": "rookery-demo.epd",
    "num_games": 4000,
    "sprt": {"elo0": 0, "elo1": 30, "batch_size": 1},
    "info": "A first look: does not blundering gain Elo? (It should.)",
}


async def begin_demo(house: House, owner: User) -> str:
    """The id of the run, which is approved and may be played at once."""
    bearer = Bearer(owner, ORDINARY)
    made = await Submissions(house.api).made(msgspec.json.encode(SUBMISSION), bearer)
    await house.fleet.submit(made.run, approver=owner.name)
    return made.run.id
