"""The addresses of the JSON API."""

from starlette.routing import BaseRoute, Route

from rookery.server.ask import api as ask
from rookery.server.ask import chat_api as chat
from rookery.server.ask import documents_api as documents
from rookery.server.engines import api as engines
from rookery.server.files import api as files
from rookery.server.http.scope import (
    ASK_ROOT,
    BINARIES_PATH,
    BOOKS_PATH,
    NETS_PATH,
    SIGN_UP_PATH,
    TOKENS_PATH,
)
from rookery.server.log import api as actions
from rookery.server.machines import api as machines
from rookery.server.notify import api as notifications
from rookery.server.people import api as people
from rookery.server.people import me_api as me
from rookery.server.runs import api as runs
from rookery.server.runs import commands_api as run_commands
from rookery.server.runs import events_api as events
from rookery.server.runs import insights_api as run_insights
from rookery.server.runs import tasks_api as tasks
from rookery.server.servers import api as server

ROOT = "/api/v1"
ONE = f"{ROOT}/runs/{{run_id}}"
BOOK = f"{BOOKS_PATH}/{{name}}"
ENGINE = f"{ROOT}/engines/{{name}}"
USER = f"{SIGN_UP_PATH}/{{user}}"
MACHINE = f"{ROOT}/workers/{{worker}}"
TEAM = f"{ROOT}/teams/{{team}}"
MEMBER = f"{TEAM}/members/{{user}}"
TOLD = f"{ROOT}/notifications"
CHANNELS = f"{TOLD}/channels"


def v1_routes() -> list[BaseRoute]:
    return [
        *_run_routes(),
        *_fleet_routes(),
        *_people_routes(),
        *_engine_routes(),
        *_file_routes(),
        *_ask_routes(),
    ]


def _run_routes() -> list[BaseRoute]:
    return [
        Route(f"{ROOT}/runs", run_commands.create_run, methods=["POST"]),
        Route(f"{ROOT}/runs", runs.list_runs, methods=["GET"]),
        Route(f"{ROOT}/runs/preview", run_commands.preview_run, methods=["POST"]),
        Route(ONE, runs.get_run, methods=["GET"]),
        Route(f"{ONE}/summary.txt", runs.summarize_run, methods=["GET"]),
        Route(f"{ONE}/diagnosis", run_insights.diagnose_run, methods=["GET"]),
        Route(f"{ONE}/residuals", run_insights.list_residuals, methods=["GET"]),
        Route(f"{ONE}/samples", run_insights.list_samples, methods=["GET"]),
        Route(f"{ONE}/tune", run_insights.get_tune, methods=["GET"]),
        Route(f"{ONE}/bad_tasks", run_insights.list_bad_tasks, methods=["GET"]),
        Route(f"{ONE}/provenance", run_insights.list_provenance, methods=["GET"]),
        Route(f"{ONE}/games", run_insights.list_run_games, methods=["GET"]),
        Route(f"{ONE}/approve", run_commands.approve_run, methods=["POST"]),
        Route(f"{ONE}/withdraw", run_commands.withdraw_run, methods=["POST"]),
        Route(f"{ONE}/reopen", run_commands.reopen_run, methods=["POST"]),
        Route(f"{ONE}/stop", run_commands.stop_run, methods=["POST"]),
        Route(f"{ONE}/modify", run_commands.modify_run, methods=["POST"]),
        Route(f"{ONE}/purge", run_commands.purge_run, methods=["POST"]),
        Route(f"{ONE}/delete", run_commands.delete_run, methods=["POST"]),
        Route(f"{ONE}/restore", run_commands.restore_run, methods=["POST"]),
        Route(f"{ONE}/follow", notifications.follow_run, methods=["POST"]),
        Route(f"{ONE}/unfollow", notifications.unfollow_run, methods=["POST"]),
    ]


def _fleet_routes() -> list[BaseRoute]:
    return [
        Route(f"{ROOT}/events", events.stream_events, methods=["GET"]),
        Route(f"{ROOT}/tasks", tasks.list_tasks, methods=["GET"]),
        Route(f"{ROOT}/workers", machines.list_machines, methods=["GET"]),
        Route(MACHINE, machines.get_machine, methods=["GET"]),
        Route(f"{MACHINE}/block", machines.block_machine, methods=["POST"]),
        Route(f"{MACHINE}/unblock", machines.unblock_machine, methods=["POST"]),
        Route(f"{ROOT}/actions", actions.list_actions, methods=["GET"]),
        Route(f"{ROOT}/contributors", people.list_contributors, methods=["GET"]),
        Route(f"{ROOT}/games", tasks.list_games, methods=["GET"]),
        Route(f"{ROOT}/logs", tasks.list_logs, methods=["GET"]),
        Route(f"{ROOT}/logs/{{log_id:int}}", tasks.get_log, methods=["GET"]),
        Route(f"{ROOT}/server", server.get_server, methods=["GET"]),
    ]


def _people_routes() -> list[BaseRoute]:
    return [
        Route(f"{ROOT}/me", me.get_me, methods=["GET"]),
        Route(f"{ROOT}/me", me.change_me, methods=["PATCH"]),
        Route(TOKENS_PATH, me.list_tokens, methods=["GET"]),
        Route(TOKENS_PATH, me.create_token, methods=["POST"]),
        Route(f"{TOKENS_PATH}/{{token_id}}", me.revoke_token, methods=["DELETE"]),
        Route(f"{ROOT}/unsubscribe", notifications.unsubscribe_at_once, methods=["POST"]),
        Route(TOLD, notifications.list_told, methods=["GET"]),
        Route(CHANNELS, notifications.list_channels, methods=["GET"]),
        Route(CHANNELS, notifications.add_channel, methods=["POST"]),
        Route(f"{CHANNELS}/{{channel_id:int}}", notifications.remove_channel, methods=["DELETE"]),
        Route(SIGN_UP_PATH, people.list_users, methods=["GET"]),
        Route(SIGN_UP_PATH, people.create_user, methods=["POST"]),
        Route(USER, people.get_user, methods=["GET"]),
        Route(USER, people.change_user, methods=["PATCH"]),
        Route(USER, people.reject_user, methods=["DELETE"]),
        Route(f"{ROOT}/teams", people.list_teams, methods=["GET"]),
        Route(f"{ROOT}/teams", people.create_team, methods=["POST"]),
        Route(TEAM, people.get_team, methods=["GET"]),
        Route(MEMBER, people.add_member, methods=["PUT"]),
        Route(MEMBER, people.remove_member, methods=["DELETE"]),
        Route(f"{ROOT}/repositories", people.list_repositories, methods=["GET"]),
        Route(f"{ROOT}/repositories", people.grant_repository, methods=["POST"]),
        Route(f"{ROOT}/repositories", people.revoke_repository, methods=["DELETE"]),
    ]


def _engine_routes() -> list[BaseRoute]:
    return [
        Route(f"{ROOT}/engines", engines.list_engines, methods=["GET"]),
        Route(ENGINE, engines.get_engine, methods=["GET"]),
        Route(ENGINE, engines.put_engine, methods=["PUT"]),
        Route(ENGINE, engines.remove_engine, methods=["DELETE"]),
        Route(f"{ENGINE}/versions", engines.list_versions, methods=["GET"]),
        Route(f"{ENGINE}/restore", engines.restore_engine, methods=["POST"]),
    ]


def _file_routes() -> list[BaseRoute]:
    """The routes of uploaded files."""
    return [
        Route(BOOKS_PATH, files.list_books, methods=["GET"]),
        Route(BOOK, files.get_book, methods=["GET"]),
        Route(BOOK, files.put_book, methods=["PUT"]),
        Route(BOOK, files.remove_book, methods=["DELETE"]),
        Route(NETS_PATH, files.list_nets, methods=["GET"]),
        Route(NETS_PATH, files.upload_net, methods=["POST"]),
        Route(f"{NETS_PATH}/{{name}}", files.remove_net, methods=["DELETE"]),
        Route(BINARIES_PATH, files.upload_binary, methods=["POST"]),
    ]


def _ask_routes() -> list[BaseRoute]:
    """The routes of questions, conversations and documents, also at the addresses that chat
    programs expect."""
    parts = (ask.ask_routes, chat.chat_routes, documents.document_routes)
    return [
        Route(f"{ASK_ROOT}/similar", ask.find_similar, methods=["GET"]),
        *(route for root in (ASK_ROOT, "") for part in parts for route in part(root)),
    ]
