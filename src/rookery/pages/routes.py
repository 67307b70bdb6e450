"""The addresses of the pages."""

from starlette.routing import BaseRoute, Route

from rookery.pages.accounts import login, logout, sign_up
from rookery.pages.home import home, home_live
from rookery.pages.machines import add_machine
from rookery.pages.page import asset
from rookery.pages.run import old_address, run_live, run_page
from rookery.pages.run_moves import move_run

ONE = "/runs/{run_id}"


def page_routes() -> list[BaseRoute]:
    return [
        Route("/", home, methods=["GET"]),
        Route("/live", home_live, methods=["GET"]),
        Route("/login", login, methods=["GET", "POST"]),
        Route("/signup", sign_up, methods=["GET", "POST"]),
        Route("/logout", logout, methods=["POST"]),
        Route(ONE, run_page, methods=["GET"]),
        Route(f"{ONE}/live", run_live, methods=["GET"]),
        Route(f"{ONE}/{{move}}", move_run, methods=["POST"]),
        Route("/machines/add", add_machine, methods=["GET", "POST"]),
        Route("/tests/view/{run_id}", old_address, methods=["GET"]),
        Route("/static/{digest}/{name}", asset, methods=["GET"]),
    ]
