"""Kinds of runs. Each has its own module; the rest of Rookery knows only the protocol `Kind`."""

from rookery.core.kinds.fixed import Fixed
from rookery.core.kinds.kind import Folded, Kind, Report
from rookery.core.kinds.sprt import SprtTest
from rookery.core.kinds.spsa import SpsaTuning

__all__ = ["Fixed", "Folded", "Kind", "Report", "SprtTest", "SpsaTuning"]
