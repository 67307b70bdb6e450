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
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.events import Bus
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.hosts import MachineRoster
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.statistics import Speeds
from rookery.server.farm.statistics_rows import Statistics
from rookery.server.farm.views import FleetActivity, FleetViews
from rookery.server.files.access import FileAccess
from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import NetStore, ProgramStore
from rookery.server.files.game_insights import GameInsightsReader
from rookery.server.files.games import GameStore
from rookery.server.files.worker_logs import LogStore
from rookery.server.http.bodies import Places, Streams, UploadPlaces
from rookery.server.http.fragments import SharedParts
from rookery.server.http.rendering import Assets, Templates
from rookery.server.http.session import SessionCheck
from rookery.server.http.signatures import Features
from rookery.server.http.steps import Readiness
from rookery.server.http.turns import SearchPlaces, Turns
from rookery.server.identity.accounts import Accounts
from rookery.server.identity.bearers import Bearers
from rookery.server.identity.links import LinkSigner
from rookery.server.identity.login import Login, PasswordResets
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.sign_up import SignUp
from rookery.server.identity.users import Users
from rookery.server.identity.worker_credentials import WorkerCredentials
from rookery.server.logs import Log
from rookery.server.machines.wheel import Wheel
from rookery.server.notify.link_mail import LinkMails
from rookery.server.notify.outbox import Channels, Outbox, Subscriptions
from rookery.server.notify.sending import Sender
from rookery.server.notify.webhooks import Webhooks
from rookery.server.people.account_changes import AccountChanges
from rookery.server.runs.approvals import PendingApprovals
from rookery.server.runs.events_api import EventFeed, EventReaders
from rookery.server.runs.insights_api import Residuals
from rookery.server.runs.live import LivePages
from rookery.server.runs.run.contributions import KeptContributions
from rookery.server.settings import Settings
from rookery.server.sources.commits import Archives, Commits
from rookery.server.sources.diffs import Diffs
from rookery.server.sources.github import SourceAccess
from rookery.server.sources.progress import ProgressKeeping
from rookery.server.sources.reviews import Reviews
from rookery.server.teams.teams import Teams

FEATURES: Mapping[type, str] = {
    AccountChanges: "account_changes",
    Accounts: "accounts",
    Archives: "archives",
    Ask: "ask",
    Assets: "assets",
    Bearers: "bearers",
    BookStore: "books",
    Bus: "bus",
    Channels: "channels",
    ChatSessions: "ask.chats",
    Clock: "clock",
    Commits: "commits",
    Diffs: "diffs",
    Engines: "engines",
    FileAccess: "file_access",
    Fleet: "fleet",
    FleetActivity: "fleet.activity",
    FleetReads: "reads",
    FleetViews: "fleet.views",
    GameInsightsReader: "game_insights",
    GameStore: "games",
    GrantedRepositories: "repositories",
    Indexer: "indexer",
    KeptContributions: "contributions",
    LinkMails: "link_mails",
    LinkSigner: "links",
    Log: "log",
    Login: "login",
    LogStore: "logs",
    MachineRoster: "roster",
    NetStore: "nets",
    Outbox: "outbox",
    PasswordResets: "resets",
    PendingApprovals: "approvals",
    Places: "event_places",
    Privacy: "privacy",
    Profiles: "profiles",
    ProgramStore: "programs",
    ProgressKeeping: "progress_keeping",
    Readiness: "readiness",
    Reviews: "reviews",
    SearchPlaces: "search_places",
    Sender: "sender",
    SessionCheck: "sessions",
    Settings: "settings",
    SharedParts: "shared_parts",
    SignUp: "sign_up",
    SourceAccess: "outside",
    Speeds: "speeds",
    Statistics: "statistics",
    Streams: "streams",
    Subscriptions: "subscriptions",
    Teams: "teams",
    Templates: "templates",
    Threads: "threads",
    Turns: "turns",
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
    features.add(AskAnswers, AskAnswers(site))
    features.add(EventReaders, features.make(EventReaders))
    features.add(EventFeed, features.make(EventFeed))
    features.add(LivePages, features.make(LivePages))
    features.add(Residuals, features.make(Residuals))
    return features
