"""Why a person's wish about a run is refused; the docstring of each class is its message."""

from rookery.core.fault import Fault


class RunFault(Fault):
    """this can't be done with the run"""


class NotYours(RunFault):
    """only the run's owner or an approver may do this"""


class NotApprover(RunFault):
    """only an approver may do this"""


class OwnRun(RunFault):
    """nobody approves a run of their own"""


class TooOld(RunFault):
    """the run is older than {days} days"""


class WrongStage(RunFault):
    """a run that is {stage} can't be asked to {move}"""


class StillPlaying(RunFault):
    """the run is not finished yet"""


class HasFailed(RunFault):
    """the run was stopped by an error; start it again first"""


class NotFailed(RunFault):
    """the run was not stopped by an error"""


class AlreadyDecided(RunFault):
    """the run is decided: there is nothing left to play"""


class NothingToPurge(RunFault):
    """results of a run of kind {kind} can't be taken out"""


class BadGames(RunFault):
    """the number of games must be a multiple of {step} from 0 to {most}"""


class FixedGames(RunFault):
    """{why}"""


class ForeignTask(RunFault):
    """the task belongs to another worker"""
