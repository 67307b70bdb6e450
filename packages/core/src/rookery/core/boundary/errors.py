"""What the boundary refuses: each error is a class and its docstring is the message."""

import inspect


class BoundaryError(Exception):
    """Something was refused between the event loop and the threads."""

    def __str__(self) -> str:
        sentence = inspect.getdoc(type(self)) or type(self).__name__
        return " ".join([" ".join(sentence.split()), *map(str, self.args)])


class Undeclared(BoundaryError):
    """These parts of the app do not declare where they run (LOOP, LOOP CPU, THREAD or STREAM):"""


class Overloaded(BoundaryError):
    """Too many calls already wait for this kind of thread:"""


class GivenUp(BoundaryError):
    """Nobody waits for this call any longer."""


class GateFull(BoundaryError):
    """The gate is full; try again later:"""


class BridgeError(BoundaryError):
    """The call from a thread to the loop did not complete."""


class OnTheLoop(BridgeError):
    """The bridge was called on the loop's own thread, which it would block for ever;
    await the coroutine instead."""


class OnAnotherLoop(BridgeError):
    """The bridge was called on a thread that runs another event loop, which it would block;
    call it from a plain thread."""


class BridgeClosed(BridgeError):
    """The bridge is closed: the loop is stopping."""


class BridgeFull(BridgeError):
    """All places of the bridge were taken for the whole time limit, in seconds:"""


class BridgeTimeout(BridgeError, TimeoutError):
    """The coroutine did not end within its time limit and was cancelled; seconds:"""


class CrossingCancelled(BridgeError):
    """The coroutine was cancelled on the loop, but not by its caller."""


class NotACoroutineFunction(BridgeError, TypeError):
    """The bridge takes a coroutine function and its arguments, not"""
