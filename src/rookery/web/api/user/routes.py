"""The addresses of the user API."""

from starlette.routing import BaseRoute, Route

from rookery.web.api.desk import ApiDesk
from rookery.web.api.user.files import FileEndpoints
from rookery.web.api.user.runs import DocumentEndpoints
from rookery.web.api.user.sources import SourceEndpoints
from rookery.web.paths import SOURCES_PREFIX


def user_routes(desk: ApiDesk) -> list[BaseRoute]:
    documents, files, sources = DocumentEndpoints(desk), FileEndpoints(desk), SourceEndpoints(desk)
    return [
        Route("/api/rate_limit", documents.rate_limit, methods=["GET"]),
        Route("/api/active_runs", documents.active_runs, methods=["GET"]),
        Route("/api/finished_runs", documents.finished_runs, methods=["GET"]),
        Route("/api/actions", documents.actions, methods=["POST"]),
        Route("/api/get_run/{run_id}", documents.get_run, methods=["GET"]),
        Route("/api/get_task/{run_id}/{task_id}", documents.get_task, methods=["GET"]),
        Route("/api/get_elo/{run_id}", documents.get_elo, methods=["GET"]),
        Route("/api/calc_elo", documents.calc_elo, methods=["GET"]),
        Route("/api/pgn/{name}", files.pgn, methods=["GET"]),
        Route("/api/run_pgns/{name}", files.run_pgns, methods=["GET"]),
        Route("/api/nn/{name}", files.nn, methods=["GET"]),
        Route("/api/book/{name}", sources.book, methods=["GET"]),
        Route(f"{SOURCES_PREFIX}{{name}}/zipball/{{sha}}", sources.zipball, methods=["GET"]),
        Route("/api/binary/{sha256}", sources.binary, methods=["GET"]),
    ]
