r"""Has a request carried out by the process that is primary, here or elsewhere, until one answers.

    here --answered-------------------------------------------> done
     ^ \--no primary any more, or memory is lost--> elsewhere --/
     \---------this process is primary by then--------/

Theory of operation. A process may step down, or find that it is no longer primary, in the middle of
a request that waits for work or for a commit. No answer has been sent then, so the request is made
again in the process that is primary now: a worker's call may be repeated, and a command has a key
by which the next primary recognises it. A request that another instance has forwarded is returned
to that instance, which repeats it: none is forwarded twice. A process that is alone can't ask
another one, and tells the client to try again.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

from rookery.server.http.faults import RETRIED_AT_NEXT_PRIMARY, NotPrimary
from rookery.server.http.scope import RequestInfo

if TYPE_CHECKING:
    from rookery.server.app.site import Site

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")

MOST_ATTEMPTS = 8
"""How often this process tries one request. An attempt fails when the process stops being primary
or loses its memory."""


class Repeatable(Protocol[A_co]):
    """A request that can be carried out again from its beginning."""

    @property
    def info(self) -> RequestInfo: ...

    async def do_here(self) -> A_co:
        """Carry it out in this process."""
        ...

    async def ask_primary(self, spent: float) -> A_co | None:
        """Have it carried out by another process, after attempts in this one that took `spent`
        seconds. None if this process has become primary."""
        ...

    def may_repeat(self) -> bool:
        """Whether it can be carried out again after a failed attempt in this process."""
        ...


async def carry_out_at_primary(request: Repeatable[A], site: "Site") -> A:
    """The outcome at the process that is primary, even if another one becomes primary
    meanwhile."""
    failed: Exception = NotPrimary()
    spent = 0.0
    for _ in range(MOST_ATTEMPTS):
        if not site.forwarder.is_ready():
            outcome = await request.ask_primary(spent)
            if outcome is not None:
                return outcome
        # Time spent waiting for work is not time spent on the request.
        began = site.clock.seconds() - request.info.waited
        try:
            return await request.do_here()
        except RETRIED_AT_NEXT_PRIMARY as error:
            if not request.may_repeat():
                raise
            failed = error
        spent += site.clock.seconds() - request.info.waited - began
    raise failed
