"""Why the fleet does not answer a call as asked; the docstring of each class is its message."""

from rookery.core.faults import RunFault


class UnknownRun(RunFault):
    """there is no run {run}"""


class UnknownTask(RunFault):
    """run {run} has no task {task}"""


class UnknownMachine(RunFault):
    """there is no machine {machine}"""


class NoTune(RunFault):
    """the run tunes no parameters"""


class Rebuilding(Exception):
    """The fleet is being read from the database; nothing can be told until that is done."""
