"""All endpoints for programs, module by module."""

from rookery.server.ask import api as ask
from rookery.server.ask import chat_api as chat
from rookery.server.ask import documents_api as documents
from rookery.server.contributors import api as contributors
from rookery.server.engines import api as engines
from rookery.server.engines import repositories_api as repositories
from rookery.server.files import api as files
from rookery.server.fishtest import files_api as user_files
from rookery.server.fishtest import runs_api as user_runs
from rookery.server.http.endpoint import Endpoints
from rookery.server.log import api as actions
from rookery.server.machines import api as machines
from rookery.server.notify import api as notifications
from rookery.server.people import api as users
from rookery.server.people import me_api as me
from rookery.server.runs import api as runs
from rookery.server.runs import commands_api as run_commands
from rookery.server.runs import events_api as events
from rookery.server.runs import insights_api as run_insights
from rookery.server.runs import tasks_api as tasks
from rookery.server.servers import api as server
from rookery.server.servers import probes
from rookery.server.teams import api as teams

ENDPOINTS: tuple[Endpoints, ...] = (
    run_commands.api,
    run_commands.commands,
    runs.api,
    run_insights.api,
    events.api,
    tasks.api,
    machines.api,
    machines.commands,
    actions.api,
    contributors.api,
    server.api,
    server.itself,
    me.api,
    notifications.api,
    users.api,
    teams.api,
    repositories.api,
    engines.api,
    files.api,
    ask.only_here,
    ask.api,
    chat.api,
    documents.api,
    user_runs.api,
    user_runs.open_api,
    user_files.api,
    probes.api,
    probes.figures,
)
