"""Adding a machine: one line to paste, with a token that is made for it."""

from starlette.requests import Request
from starlette.responses import Response

from rookery.boundary.domains import Domain, runs
from rookery.service.tokens import Scope
from rookery.web.kit import kit_of
from rookery.web.ui.page import address_of, go_to, page
from rookery.web.ui.viewer import viewer_of
from rookery.web.ui.views.machines import machines_view

HERE = "/machines/add"
NOTE = "made on the page for adding a machine"


@runs(Domain.THREAD, "the token is written, the page rendered in a thread")
async def add_machine(request: Request) -> Response:
    """A post makes a token and shows it this once."""
    viewer = await viewer_of(request)
    if viewer is None:
        return go_to(f"/login?next={HERE}")
    token, house = "", kit_of(request).house
    if request.method == "POST":
        minted = await house.api.accounts.create_token(
            viewer.name, frozenset({Scope.WORKER}), note=NOTE
        )
        token = minted.secret
    view = machines_view(address_of(request), viewer.name, token, house.fingerprint)
    answer = await page(request, "machines.html", view)
    answer.headers["cache-control"] = "no-store"
    return answer
