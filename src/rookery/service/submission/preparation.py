"""What has to be looked up before a submission can become a run: by the rows, never by guessing."""

from dataclasses import dataclass

from msgspec import UNSET

from rookery.protocol.submission import SubmittedArgs
from rookery.service.sources.binaries import Binaries
from rookery.service.submission.faults import require


@dataclass(frozen=True, slots=True)
class Preparation:
    """Asks for what a submission names; what is there already costs no call."""

    binaries: Binaries

    async def prepared(self, args: SubmittedArgs) -> SubmittedArgs:
        """The submission with nothing left to look up; raises WireFault."""
        for field, found in (("new_binary", args.new_binary), ("base_binary", args.base_binary)):
            if found is not UNSET:
                known = await self.binaries.by_hash(found) is not None
                require(known, field, "no program of this hash was uploaded here")
        return args
