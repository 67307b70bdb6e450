"""Run creation: submitted args become a plan and a kind, or a fault that names the field."""

from rookery.service.submission.creation import Surroundings, created
from rookery.service.submission.faults import Unresolved
from rookery.service.submission.identity import run_id
from rookery.service.submission.planning import planned
from rookery.service.submission.remarks import remarks_on

__all__ = ["Surroundings", "Unresolved", "created", "planned", "remarks_on", "run_id"]
