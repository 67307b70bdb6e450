#!/usr/bin/env python3
"""What ten endpoints for programs cost: processor time per call, without the middleware.

Usage: PYTHONPATH=src:. python benchmarks/endpoints.py [--calls 1000] [--rounds 12]

Each call goes through the route of an app in memory: the caller is found by a token, parameters are
read, and the answer is encoded. Prints the smallest mean of the rounds, in microseconds.
"""

import argparse
import asyncio
import secrets
import time
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message

from rookery.server.app.routes import create_app
from rookery.server.http.inventory import named_routes
from rookery.server.http.scope import Audience, RequestInfo, set_request_info, set_session
from rookery.server.http.session import Session
from rookery.server.identity.users import ORDINARY, mint
from tests.people import OLGA
from tests.twins.people import MemoryUsers
from tests.twins.sites import make_site, running


@dataclass(frozen=True, slots=True)
class Case:
    """A call of one route."""

    route: str
    query: bytes = b""
    body: bytes = b""


PATH = {"team": "gulls", "user": "olga", "name": "Stockfish"}
CASES = (
    Case("GET /api/v1/teams"),
    Case("GET /api/v1/teams/{team}"),
    Case("PUT /api/v1/teams/{team}/members/{user}", body=b'{"lead":true}'),
    Case("GET /api/v1/engines"),
    Case("GET /api/v1/engines/{name}"),
    Case("GET /api/v1/actions", b"action=new_run&page=1&size=20"),
    Case("GET /api/v1/me"),
    Case("GET /api/v1/contributors", b"page=1&size=20"),
    Case("GET /api/v1/notifications", b"page=1"),
    Case("GET /api/v1/repositories"),
)


async def call(app: Starlette, route: Route, case: Case, secret: str) -> int:
    """Call a route once. Returns the status."""
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": case.body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "method": case.route.split()[0],
        "path": "/",
        "path_params": PATH,
        "query_string": case.query,
        "headers": [(b"authorization", f"Bearer {secret}".encode())],
        "app": app,
        "state": {},
    }
    set_session(scope, Session.empty())
    set_request_info(scope, RequestInfo("r", 0.0, "127.0.0.1", False, Audience.PROGRAM))
    await route.app(scope, receive, send)
    return statuses[0]


async def measure(calls: int, rounds: int) -> None:
    site = make_site(users=MemoryUsers(OLGA))
    app = create_app(site)
    routes = {name: route for name, route in named_routes(app.routes) if isinstance(route, Route)}
    minted = mint(OLGA.name, ORDINARY, now=site.clock.now(), chance=secrets.token_bytes)
    await site.tokens.add(minted.token)
    async with running(site):
        await site.load()
        await site.teams.create("gulls", (await site.bearers.find_bearer(minted.secret)).actor)
        for case in CASES:
            assert await call(app, routes[case.route], case, minted.secret) == 200, case
            best = float("inf")
            for _ in range(rounds):
                began = time.process_time()
                for _ in range(calls):
                    await call(app, routes[case.route], case, minted.secret)
                best = min(best, (time.process_time() - began) / calls)
            print(f"{case.route:45}{best * 1e6:7.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=12)
    flags = parser.parse_args()
    asyncio.run(measure(flags.calls, flags.rounds))


if __name__ == "__main__":
    main()
