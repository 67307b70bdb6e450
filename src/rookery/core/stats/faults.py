"""What makes numbers unusable for a statistic; the docstring of each class is its message."""


class StatisticsFault(ValueError):
    """These numbers cannot be used."""

    def __init__(self) -> None:
        super().__init__(type(self).__doc__)


class UnusableBins(StatisticsFault):
    """Results are 3 counts (losses, draws, wins) or 5 counts of pairs, none of them negative."""


class EqualBounds(StatisticsFault):
    """elo1 must exceed elo0 by at least 0.01."""


class BoundsOutOfRange(StatisticsFault):
    """elo0 and elo1 must be numbers between -1000 and 1000."""


class UnusableErrorRates(StatisticsFault):
    """alpha and beta must be at least 1e-9 each and at most 0.99 together."""


class UnusableBatchSize(StatisticsFault):
    """The batch size must be at least one pair."""


class UnusablePowerQuestion(StatisticsFault):
    """Games and Elo must be above 0, power above alpha and below 1, alpha between 1e-9 and 0.5."""


class UnusablePrior(StatisticsFault):
    """A prior's mean must lie within a million Elo, its sigma between a millionth and a million."""
