"""Tells the server that a task can't be played, with all that helps to find out why."""

from msgspec import UNSET, UnsetType

from rookery.boundary.offload import Threads
from rookery.protocol.fields import LONGEST_MESSAGE
from rookery.protocol.worker.requests import LONGEST_LOG, Failure
from rookery.worker.session.conversation import Conversation, TaskName
from rookery.worker.session.faults import Refused, TaskFailed, Unreachable, WrongBench
from rookery.worker.session.identity import Identity
from rookery.worker.session.reporting import Patience, insist
from rookery.worker.session.watching import Watcher

HEAD_SHARE = 0.75
"""The first compiler error stands at the head of a log, the last words at its end."""
CUT = "\n[...]\n"


class Complaints:
    """About one task."""

    def __init__(
        self,
        talk: Conversation,
        identity: Identity,
        name: TaskName,
        threads: Threads,
        watch: Watcher,
    ) -> None:
        self._talk = talk
        self._identity = identity
        self._name = name
        self._threads = threads
        self._watch = watch

    async def tell(self, failed: TaskFailed, patience: Patience) -> None:
        """A wrong bench is the run's; everything else ends this task alone."""
        message, more = self.message(failed)
        wrong = isinstance(failed, WrongBench)
        call = self._talk.stop_run if wrong else self._talk.failed
        info = self._identity.info
        try:
            await insist(
                lambda: call(info, self._name, message, more), patience, self._threads, self._watch
            )
        except Refused as refused:
            self._watch.say(f"The server says: {refused}")
        except Unreachable as error:
            self._watch.say(f"The server could not be told: {error}")

    def message(self, failed: TaskFailed) -> tuple[str, Failure | UnsetType]:
        """In full to a server of ours; to another the beginning and the end, within the message."""
        if self._identity.house:
            bench = failed.found if isinstance(failed, WrongBench) else 0
            return failed.sentence, Failure(log=cut(failed.log, LONGEST_LOG), bench=bench)
        text = f"{failed.sentence}\n{failed.log}".strip()
        return cut(text, LONGEST_MESSAGE), UNSET


def cut(text: str, most: int) -> str:
    """Three quarters from its head, the rest from its end."""
    if len(text) <= most:
        return text
    head = int(most * HEAD_SHARE)
    return text[:head] + CUT + text[len(text) - (most - head - len(CUT)) :]
