"""The addresses of the JSON API."""

from starlette.routing import BaseRoute, Route

from rookery.web.scope import BINARIES_PATH, BOOKS_PATH, NETS_PATH, SIGN_UP_PATH, TOKENS_PATH
from rookery.web.site import Site
from rookery.web.v1.engines import EngineEndpoints
from rookery.web.v1.events import EventEndpoints
from rookery.web.v1.files import BookEndpoints, NetEndpoints, UploadEndpoints
from rookery.web.v1.insights import InsightEndpoints
from rookery.web.v1.lists import EvidenceEndpoints, ListEndpoints
from rookery.web.v1.machines import MachineEndpoints
from rookery.web.v1.me import MeEndpoints
from rookery.web.v1.moves import MoveEndpoints
from rookery.web.v1.people import RepositoryEndpoints, TeamEndpoints, UserEndpoints
from rookery.web.v1.runs import RunEndpoints

ROOT = "/api/v1"
ONE = f"{ROOT}/runs/{{run_id}}"
BOOK = f"{BOOKS_PATH}/{{name}}"
ENGINE = f"{ROOT}/engines/{{name}}"
USER = f"{SIGN_UP_PATH}/{{user}}"
MACHINE = f"{ROOT}/workers/{{worker}}"
TEAM = f"{ROOT}/teams/{{team}}"
MEMBER = f"{TEAM}/members/{{user}}"


def v1_routes(site: Site) -> list[BaseRoute]:
    return [
        *_run_routes(site),
        *_fleet_routes(site),
        *_people_routes(site),
        *_engine_routes(site),
        *_file_routes(site),
    ]


def _run_routes(site: Site) -> list[BaseRoute]:
    runs, moves, insights = RunEndpoints(site), MoveEndpoints(site), InsightEndpoints(site)
    return [
        Route(f"{ROOT}/runs", runs.create, methods=["POST"]),
        Route(f"{ROOT}/runs", runs.listing, methods=["GET"]),
        Route(f"{ROOT}/runs/preview", runs.preview, methods=["POST"]),
        Route(ONE, runs.one, methods=["GET"]),
        Route(f"{ONE}/summary.txt", runs.summary, methods=["GET"]),
        Route(f"{ONE}/diagnosis", insights.diagnosis, methods=["GET"]),
        Route(f"{ONE}/residuals", insights.residuals, methods=["GET"]),
        Route(f"{ONE}/samples", insights.samples, methods=["GET"]),
        Route(f"{ONE}/bad_tasks", insights.bad_tasks, methods=["GET"]),
        Route(f"{ONE}/provenance", insights.provenance, methods=["GET"]),
        Route(f"{ONE}/games", insights.games, methods=["GET"]),
        Route(f"{ONE}/approve", moves.approve, methods=["POST"]),
        Route(f"{ONE}/withdraw", moves.withdraw, methods=["POST"]),
        Route(f"{ONE}/reopen", moves.reopen, methods=["POST"]),
        Route(f"{ONE}/stop", moves.stop, methods=["POST"]),
        Route(f"{ONE}/modify", moves.modify, methods=["POST"]),
        Route(f"{ONE}/purge", moves.purge, methods=["POST"]),
        Route(f"{ONE}/delete", moves.delete, methods=["POST"]),
        Route(f"{ONE}/restore", moves.restore, methods=["POST"]),
    ]


def _fleet_routes(site: Site) -> list[BaseRoute]:
    events, lists, evidence = EventEndpoints(site), ListEndpoints(site), EvidenceEndpoints(site)
    machines = MachineEndpoints(site)
    return [
        Route(f"{ROOT}/events", events.events, methods=["GET"]),
        Route(f"{ROOT}/tasks", lists.tasks, methods=["GET"]),
        Route(f"{ROOT}/workers", machines.listing, methods=["GET"]),
        Route(MACHINE, machines.one, methods=["GET"]),
        Route(f"{MACHINE}/block", machines.block, methods=["POST"]),
        Route(f"{MACHINE}/unblock", machines.unblock, methods=["POST"]),
        Route(f"{ROOT}/actions", lists.actions, methods=["GET"]),
        Route(f"{ROOT}/contributors", lists.contributors, methods=["GET"]),
        Route(f"{ROOT}/games", evidence.games, methods=["GET"]),
        Route(f"{ROOT}/logs", evidence.logs, methods=["GET"]),
        Route(f"{ROOT}/logs/{{log_id:int}}", evidence.log, methods=["GET"]),
    ]


def _people_routes(site: Site) -> list[BaseRoute]:
    lists, users, teams = ListEndpoints(site), UserEndpoints(site), TeamEndpoints(site)
    me = MeEndpoints(site)
    repositories = RepositoryEndpoints(site)
    return [
        Route(f"{ROOT}/me", me.me, methods=["GET"]),
        Route(f"{ROOT}/me", me.change, methods=["PATCH"]),
        Route(TOKENS_PATH, me.tokens, methods=["GET"]),
        Route(TOKENS_PATH, me.create_token, methods=["POST"]),
        Route(f"{TOKENS_PATH}/{{token_id}}", me.revoke_token, methods=["DELETE"]),
        Route(SIGN_UP_PATH, lists.users, methods=["GET"]),
        Route(SIGN_UP_PATH, users.create, methods=["POST"]),
        Route(USER, users.one, methods=["GET"]),
        Route(USER, users.change, methods=["PATCH"]),
        Route(USER, users.reject, methods=["DELETE"]),
        Route(f"{ROOT}/teams", teams.listing, methods=["GET"]),
        Route(f"{ROOT}/teams", teams.create, methods=["POST"]),
        Route(TEAM, teams.one, methods=["GET"]),
        Route(MEMBER, teams.join, methods=["PUT"]),
        Route(MEMBER, teams.leave, methods=["DELETE"]),
        Route(f"{ROOT}/repositories", repositories.listing, methods=["GET"]),
        Route(f"{ROOT}/repositories", repositories.grant, methods=["POST"]),
        Route(f"{ROOT}/repositories", repositories.revoke, methods=["DELETE"]),
    ]


def _engine_routes(site: Site) -> list[BaseRoute]:
    engines = EngineEndpoints(site)
    return [
        Route(f"{ROOT}/engines", engines.listing, methods=["GET"]),
        Route(ENGINE, engines.one, methods=["GET"]),
        Route(ENGINE, engines.put, methods=["PUT"]),
        Route(ENGINE, engines.remove, methods=["DELETE"]),
        Route(f"{ENGINE}/versions", engines.versions, methods=["GET"]),
        Route(f"{ENGINE}/restore", engines.restore, methods=["POST"]),
    ]


def _file_routes(site: Site) -> list[BaseRoute]:
    """What people give to be played with."""
    uploads, books, nets = UploadEndpoints(site), BookEndpoints(site), NetEndpoints(site)
    return [
        Route(BOOKS_PATH, books.listing, methods=["GET"]),
        Route(BOOK, books.one, methods=["GET"]),
        Route(BOOK, books.put, methods=["PUT"]),
        Route(BOOK, books.remove, methods=["DELETE"]),
        Route(NETS_PATH, nets.listing, methods=["GET"]),
        Route(NETS_PATH, nets.give, methods=["POST"]),
        Route(f"{NETS_PATH}/{{name}}", nets.remove, methods=["DELETE"]),
        Route(BINARIES_PATH, uploads.binary, methods=["POST"]),
    ]
