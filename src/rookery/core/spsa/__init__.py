"""Tuning by simultaneous perturbation (SPSA): set-up, perturbations, results, advice, outcome."""

from rookery.core.spsa.advice import Concern, Remark, remarks
from rookery.core.spsa.faults import SpsaFault
from rookery.core.spsa.flips import joint_signature, pack, packed_size, signature, unpack
from rookery.core.spsa.folding import Batch, fold, fold_all, sampling_period
from rookery.core.spsa.lines import read_lines
from rookery.core.spsa.outcome import (
    LineStyle,
    as_lines,
    as_mapping,
    as_options,
    as_pairs,
    as_setoption,
    engine_values,
    late_mean,
)
from rookery.core.spsa.parameter import Kind, Line, Parameter, Steps, parameter_for
from rookery.core.spsa.perturbation import Draw, Issued, Perturbation, perturb, perturb_final
from rookery.core.spsa.schedule import Schedule, schedule_for
from rookery.core.spsa.tune import Sample, Tune, set_up

__all__ = [
    "Batch",
    "Concern",
    "Draw",
    "Issued",
    "Kind",
    "Line",
    "LineStyle",
    "Parameter",
    "Perturbation",
    "Remark",
    "Sample",
    "Schedule",
    "SpsaFault",
    "Steps",
    "Tune",
    "as_lines",
    "as_mapping",
    "as_options",
    "as_pairs",
    "as_setoption",
    "engine_values",
    "fold",
    "fold_all",
    "joint_signature",
    "late_mean",
    "pack",
    "packed_size",
    "parameter_for",
    "perturb",
    "perturb_final",
    "read_lines",
    "remarks",
    "sampling_period",
    "schedule_for",
    "set_up",
    "signature",
    "unpack",
]
