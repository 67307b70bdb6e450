"""Invents the people of a farm: their accounts, engines, machines and conversations."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from msgspec.structs import replace as with_fields

from rookery.core.model.engine import EngineRecord, PresetRecord, RecipeRecord
from rookery.core.model.machine import ClaimedAbilities, Machine
from rookery.server.identity.users import APPROVERS as APPROVING
from rookery.server.identity.users import User

NAMES: tuple[str, ...] = (
    *("alva", "birk", "cleo", "dario", "edda", "fenn", "greta"),
    *("hanno", "ines", "jonas", "kaia", "levin", "mira", "nando"),
    *("odile", "pia", "quirin", "rosa", "silas", "tilda", "ulla"),
    *("vito", "wim", "xenia", "yara", "zeno", "amara", "bruno"),
    *("celia", "dimas"),
)
APPROVERS = frozenset({"alva", "dario", "mira"})
BLOCKED_USERS = {"wim": "Sent results of another engine, twice."}
"""The blocked users, with the reason that is shown to them."""
PROCESSORS = (
    ("AMD EPYC 9654 96-Core Processor", "x86-64-avx512icl", 1.10),
    ("AMD Ryzen 9 7950X 16-Core Processor", "x86-64-avx512icl", 1.55),
    ("AMD Ryzen 7 5800X 8-Core Processor", "x86-64-bmi2", 1.30),
    ("Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz", "x86-64-bmi2", 1.05),
    ("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz", "x86-64-vnni256", 0.85),
    ("Apple M2", "apple-silicon", 1.25),
)
CORES = (1, 2, 2, 4, 4, 4, 4, 6, 8, 8, 8, 12, 16, 32)
SYSTEMS = ("Linux 6.1.0-26-amd64", "Linux 5.15.0-122-generic", "Windows 11")
REFERENCE_NPS = 690_000.0
LIMITS = ((8, 2_000), (26, 500))
"""The machine limits of the first 8 and of the next 18 people; the others may have 16 machines."""
TEAMS = {"kestrel": ("birk", "cleo", "edda"), "merlin": ("fenn", "greta")}
"""The members of each team, its leader first. Each team works on the engine of the same name."""


def invent_users(now: datetime, password_hash: str) -> Iterator[User]:
    """Thirty people with the same password; a few are approvers, and two wait for approval of their
    accounts."""
    for number, name in enumerate(NAMES):
        groups = frozenset({APPROVING}) if name in APPROVERS else frozenset[str]()
        address = f"{name}@example.org"
        yield User(
            name=name,
            email=address,
            password_hash=password_hash,
            groups=groups,
            blocked=name in BLOCKED_USERS,
            pending=name in ("celia", "dimas"),
            machine_limit=next((limit for first, limit in LIMITS if number < first), 16),
            created=now - timedelta(days=400 - 13 * number),
            block_reason=BLOCKED_USERS.get(name, ""),
            verified_email=address if number < 10 else "",
            repositories={"Stockfish": f"https://example.org/{name}/Stockfish"}
            if number < 5
            else {},
        )


def invent_engines() -> tuple[EngineRecord, ...]:
    """Two engines besides the built-in ones."""
    presets = (
        PresetRecord("STC", {"tc": "8+0.08", "sprt": '{"elo0": 0.0, "elo1": 5.0}'}),
        PresetRecord("LTC", {"tc": "40+0.4", "sprt": '{"elo0": 0.0, "elo1": 4.0}'}),
    )
    return tuple(
        EngineRecord(
            name=name,
            source=f"https://example.org/{name.lower()}/{name.lower()}",
            recipe=recipe,
            presets=presets,
            team=name.lower(),
        )
        for name, recipe in (
            ("Kestrel", RecipeRecord(kind="make")),
            ("Merlin", RecipeRecord(kind="cargo")),
        )
    )


def invent_machine(chance: Random, number: int) -> Machine:
    """Return a machine of one of the people, most of whom have few; two of three machines run our
    own worker."""
    name, arch, speed = chance.choice(PROCESSORS)
    user = NAMES[min(int(chance.expovariate(5) * len(NAMES)), len(NAMES) - 5)]
    system = "Darwin 23.6.0" if name.startswith("Apple") else chance.choice(SYSTEMS)
    claims = ClaimedAbilities(version="0.1", cpu=name, runner="fastchess", sandbox=True)
    machine = Machine(
        uname=system,
        architecture=("64bit", "ELF"),
        cores=chance.choice(CORES),
        memory=32_768,
        min_threads=1,
        user=user,
        version=325,
        python_version=(3, 12, 3),
        gcc_version=(13, 2, 0),
        compiler="g++" if number % 4 else "clang++",
        key=f"{chance.getrandbits(32):08x}-{number % 65536:04x}-4222-8333-{number:012x}",
        modified=number % 97 == 0,
        arch=arch,
        engine_arch=arch,
        nps=REFERENCE_NPS * speed * chance.uniform(0.85, 1.1),
        near_github_limit=False,
        address=f"198.51.100.{number % 250 + 1}",
        country="?",
    )
    return with_fields(machine, rookery=claims) if number % 3 else machine


@dataclass(frozen=True, slots=True)
class InventedToken:
    """A token of one of the people; its secret is unknown."""

    user: str
    note: str
    worker: bool = False
    age_days: int = 40
    lasting_days: int | None = None
    used_hours_ago: int | None = None
    revoked: bool = False


TOKENS = (
    InventedToken("alva", "laptop", used_hours_ago=3),
    InventedToken("alva", "nightly regression test", age_days=200, used_hours_ago=19),
    InventedToken("alva", "conference in spring", age_days=150, lasting_days=30),
    InventedToken("alva", "old desk machine", age_days=320, used_hours_ago=4000, revoked=True),
    InventedToken("alva", "", worker=True, age_days=90, used_hours_ago=1),
    InventedToken("birk", "CI of Kestrel", age_days=60, lasting_days=365, used_hours_ago=7),
    InventedToken("cleo", "", worker=True, age_days=10),
)
QUESTIONS = (
    (
        "Has anybody tried a bigger razoring margin?",
        "Yes, at depth one. The longest of these tests did not pass at the short time control.",
    ),
    (
        "What passed at long time control lately?",
        "Correction history of the pawn structure, and a smaller margin for singular extensions.",
    ),
    (
        "Why do simplifications have the bounds -1.75 and 0.25?",
        "Because the simpler code need not gain anything: the test rejects what would lose.",
    ),
)
"""The questions that alva has asked, with the answers."""
BLOCK_REASONS = (
    "Too many time losses; is something else running there?",
    "The bench differs from that of everybody else.",
    "Asked the owner by mail on Monday.",
)
