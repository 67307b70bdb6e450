"""Which parts of a site endpoints may ask for, by type."""

from collections.abc import Mapping

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.server.app.site import Site
from rookery.server.ask.answers import AskAnswers
from rookery.server.ask.ask import Ask
from rookery.server.ask.indexing import Indexer
from rookery.server.ask.sessions import ChatSessions
from rookery.server.ask.uploads import Uploads
from rookery.server.engines.engines import Engines
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.engines.privacy import Privacy
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.statistics_rows import Statistics
from rookery.server.farm.views import FleetActivity, FleetViews
from rookery.server.farm.visible_runs import VisibleRuns
from rookery.server.files.access import FileAccess
from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import NetStore, ProgramStore
from rookery.server.files.games import GameStore
from rookery.server.files.worker_logs import LogStore
from rookery.server.http.bodies import Streams, UploadPlaces
from rookery.server.http.rendering import Assets
from rookery.server.http.session import SessionCheck
from rookery.server.http.signatures import Features
from rookery.server.http.turns import SearchPlaces
from rookery.server.logs import Log
from rookery.server.machines.hosts import MachineRoster
from rookery.server.machines.wheel import Wheel
from rookery.server.notify.link_mail import LinkMails
from rookery.server.notify.outbox import Channels, Outbox, Subscriptions
from rookery.server.notify.sending import Sender
from rookery.server.notify.webhooks import Webhooks
from rookery.server.people.account_changes import AccountChanges
from rookery.server.people.accounts import Accounts
from rookery.server.people.bearers import Bearers
from rookery.server.people.links import LinkSigner
from rookery.server.people.login import Login, PasswordResets, SignUp
from rookery.server.people.profiles import Profiles
from rookery.server.people.users import Users
from rookery.server.people.worker_credentials import WorkerCredentials
from rookery.server.runs.events_api import EventFeed
from rookery.server.runs.insights_api import Residuals
from rookery.server.settings import Settings
from rookery.server.sources.commits import Archives
from rookery.server.teams.teams import Teams

FEATURES: Mapping[type, str] = {
    AccountChanges: "account_changes",
    Accounts: "accounts",
    Archives: "archives",
    Ask: "ask",
    Assets: "assets",
    Bearers: "bearers",
    BookStore: "books",
    Channels: "channels",
    ChatSessions: "ask.chats",
    Clock: "clock",
    Engines: "engines",
    FileAccess: "file_access",
    Fleet: "fleet",
    FleetActivity: "fleet.activity",
    FleetReads: "reads",
    FleetViews: "fleet.views",
    GameStore: "games",
    GrantedRepositories: "repositories",
    Indexer: "indexer",
    LinkMails: "link_mails",
    LinkSigner: "links",
    Log: "log",
    LogStore: "logs",
    Login: "login",
    MachineRoster: "roster",
    NetStore: "nets",
    Outbox: "outbox",
    PasswordResets: "resets",
    Privacy: "privacy",
    ProgramStore: "programs",
    Profiles: "profiles",
    SearchPlaces: "search_places",
    Sender: "sender",
    SessionCheck: "sessions",
    Settings: "settings",
    SignUp: "sign_up",
    Statistics: "statistics",
    Streams: "streams",
    Subscriptions: "subscriptions",
    Teams: "teams",
    Threads: "threads",
    UploadPlaces: "upload_bodies",
    Uploads: "documents",
    Users: "users",
    VisibleRuns: "visible_runs",
    Webhooks: "webhooks",
    Wheel: "wheel",
    WorkerCredentials: "credentials",
}
"""Where each feature lies in a site."""


def make_features(site: Site) -> Features:
    features = Features(site, FEATURES)
    features.add(Site, site)
    features.add(EventFeed, EventFeed(site))
    features.add(AskAnswers, AskAnswers(site))
    features.add(Residuals, Residuals(site))
    return features
