"""What the app makes for itself out of the house; endpoints and middleware are given it."""

from dataclasses import dataclass
from typing import cast

from starlette.requests import Request

from rookery.service.fleet.ports import Contribution
from rookery.service.login import Login
from rookery.service.remembered import Remembered
from rookery.web.assets import Assets
from rookery.web.cookie import Seal
from rookery.web.house import House
from rookery.web.readiness import Readiness
from rookery.web.rendering import Templates
from rookery.web.standing import Standing
from rookery.web.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Kit:
    """One per app."""

    house: House
    assets: Assets
    templates: Templates
    traffic: Traffic
    seal: Seal
    readiness: Readiness
    standing: Standing
    login: Login
    contributions: Remembered[str, tuple[Contribution, ...]]
    """By run, for a moment: they are summed up over all its tasks."""


def kit_of(request: Request) -> Kit:
    return cast("Kit", request.app.state.kit)
