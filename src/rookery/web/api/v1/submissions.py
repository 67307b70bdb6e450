"""From the body of a submission to a run that nobody has taken up yet."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from msgspec import UNSET
from msgspec.structs import replace as with_fields

from rookery.core.engine import STOCKFISH
from rookery.core.run import Run
from rookery.protocol.submission import SUBMISSION, SubmittedArgs
from rookery.service.bearers import Bearer
from rookery.service.holdings import Holdings
from rookery.service.submission import Surroundings, created, planned, remarks_on
from rookery.service.submission.faults import require
from rookery.service.submission.preparation import Preparation, looks_up, rehearsed
from rookery.service.users import User
from rookery.web.api.desk import ApiDesk

P = ParamSpec("P")
T = TypeVar("T")
LARGE_SUBMISSION = 4 * 1024
"""Some dozens of tuned parameters: about a millisecond."""


@dataclass(frozen=True, slots=True)
class MadeRun:
    """A run, and what its author should hear."""

    run: Run
    warnings: tuple[str, ...]


class Submissions:
    """What must be asked for is awaited; the rest is quick, or done in a thread."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    async def made(self, body: bytes, bearer: Bearer) -> MadeRun:
        """A run to be submitted; raises WireFault."""
        preparation = self._preparation(bearer)
        made = await self._prepared(preparation, body, bearer.user)
        await preparation.check_binaries(made.run)
        await self._claim(made.run)
        warnings = await preparation.fetch(made.run)
        run = self._desk.engines.with_records(made.run)
        return MadeRun(run, (*made.warnings, *warnings))

    async def previewed(self, body: bytes, bearer: Bearer) -> MadeRun:
        """A run to be looked at: programs need not be uploaded, sources are not fetched."""
        return await self._prepared(self._preparation(bearer), body, bearer.user)

    def _preparation(self, bearer: Bearer) -> Preparation:
        desk = self._desk
        name = bearer.user.name
        granted = desk.repositories.open_to(name)
        return Preparation(desk.sources, desk.privacy.catalogue(name), granted)

    async def _prepared(self, preparation: Preparation, body: bytes, user: User) -> MadeRun:
        desk, owner, large = self._desk, user.name, len(body) > LARGE_SUBMISSION
        args = _from_own_repository(await self._aside(large, SUBMISSION.read, body), user)
        _check_seen(args, owner, desk.holdings)
        book = await preparation.book(args.book)
        around = replace(
            desk.around,
            catalogue=preparation.catalogue,
            book=book,
            speed_of=desk.speeds.median,
        )
        if looks_up(args):
            # Nobody outside is asked for a submission that would be refused all the same.
            await self._aside(large, planned, rehearsed(args), owner, around)
            args = await preparation.prepared(args)
        made = await self._aside(large, self._made, args, owner, around)
        return MadeRun(made.run, (*made.warnings, *await self._missing_nets(args)))

    async def _missing_nets(self, args: SubmittedArgs) -> list[str]:
        """Workers will look for them here, in vain."""
        desk, names = self._desk, dict.fromkeys((*args.new_nets, *args.base_nets))
        if desk.nets_elsewhere:
            return []
        return [
            f"nets: {name} is not kept here"
            for name in names
            if await desk.nets.by_name(name) is None
        ]

    async def _claim(self, run: Run) -> None:
        """The submitter's own programs become the engine's, and with that as private as it is."""
        desk = self._desk
        for side in run.plan.sides:
            if side.binary and desk.engines.catalogue.record(side.engine).private:
                binary = await desk.sources.binaries.rows.by_hash(side.binary)
                if binary is not None and binary.user == run.plan.owner:
                    await desk.holdings.add(side.binary, side.engine)

    def _made(self, args: SubmittedArgs, owner: str, around: Surroundings) -> MadeRun:
        desk = self._desk
        run = created(args, owner, around, now=desk.clock.now(), chance=desk.chance)
        return MadeRun(run, remarks_on(run, around.book))

    async def _aside(
        self, large: bool, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if large:
            return await self._desk.threads.cpu(work, *args, **kwargs)
        return work(*args, **kwargs)


def _from_own_repository(args: SubmittedArgs, user: User) -> SubmittedArgs:
    """A branch that comes from nowhere in particular is looked for where its author keeps theirs;
    what it plays against stays where the engine's record says. A tune is one program."""
    own = user.repositories.get(args.new_engine or STOCKFISH.name)
    if not own or args.tests_repo or args.new_repo or args.new_binary:
        return args
    if args.spsa is UNSET:
        return with_fields(args, new_repo=own)
    return with_fields(args, new_repo=own, base_repo=args.base_repo or own)


def _check_seen(args: SubmittedArgs, owner: str, holdings: Holdings) -> None:
    """A file of somebody else's private engine is to the submitter as if it were not there."""
    for field, file in (("new_binary", args.new_binary), ("base_binary", args.base_binary)):
        seen = file is UNSET or holdings.sees(owner, file)
        require(seen, field, "no program of this hash was uploaded here")
    for field, nets in (("new_nets", args.new_nets), ("base_nets", args.base_nets)):
        require(all(holdings.sees(owner, net) for net in nets), field, "there is no such net here")
    require(holdings.sees(owner, args.book), "book", "there is no such book here")
