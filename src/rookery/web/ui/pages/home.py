"""The start page: what this is and how it is doing."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.web.kit import kit_of
from rookery.web.ui.page import page


@dataclass(frozen=True, slots=True)
class HomeView:
    """`trouble` is empty when everything works."""

    trouble: str
    role: str
    address: str


@runs(Domain.THREAD, "loads on the loop, rendered in a thread")
async def home(request: Request) -> Response:
    kit = kit_of(request)
    view = HomeView(
        trouble=await kit.readiness.reason_against(),
        role="Primary" if kit.house.is_primary() else "Secondary",
        address=kit.house.base_url or str(request.base_url).rstrip("/"),
    )
    return await page(request, "home.html", view)
