"""Sequential tests and tunes as fishtest's documents, for those who play and those who look on."""

from msgspec import UNSET, UnsetType

from rookery.core.kinds import SprtTest, SpsaTuning
from rookery.core.run import Run
from rookery.core.spsa import Tune, as_lines
from rookery.protocol.encoding import finite
from rookery.protocol.user.sprt import OvershootDocument, SprtDocument
from rookery.protocol.user.spsa import SpsaDocument, spsa_document


def sprt_of(run: Run) -> SprtDocument | UnsetType:
    """`args.sprt`; absent where the run is something else."""
    kind = run.kind
    if not isinstance(kind, SprtTest):
        return UNSET
    spec, state = kind.spec, kind.state
    return SprtDocument(
        alpha=spec.alpha,
        beta=spec.beta,
        elo0=spec.elo0,
        elo1=spec.elo1,
        elo_model=spec.model.value,
        state=state.verdict.value,
        llr=finite(state.llr),
        batch_size=spec.batch_size,
        lower_bound=spec.lower,
        upper_bound=spec.upper,
        overshoot=_overshoot(kind),
        lost_samples=state.lost_samples if state.overshoot is None else UNSET,
        illegal_update=UNSET if state.illegal_update is None else state.illegal_update,
    )


def _overshoot(kind: SprtTest) -> OvershootDocument | UnsetType:
    found = kind.state.overshoot
    if found is None:
        return UNSET
    return OvershootDocument(
        last_update=found.last_update,
        skipped_updates=found.skipped_updates,
        ref0=found.ref0,
        m0=found.m0,
        sq0=found.sq0,
        ref1=found.ref1,
        m1=found.m1,
        sq1=found.sq1,
    )


def spsa_of(run: Run) -> SpsaDocument | UnsetType:
    """`args.spsa` without its history; absent where the run is something else."""
    if not isinstance(run.kind, SpsaTuning):
        return UNSET
    tune = run.kind.tune
    return spsa_document(tune, raw_parameters(tune))


def raw_parameters(tune: Tune) -> str:
    """The lines that the tune was made from, in one form."""
    return "\n".join(as_lines(tune, [parameter.line.start for parameter in tune.parameters]))
