"""`rookery serve`: the flags of a server, and its start."""

from dataclasses import make_dataclass, replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.core.command import as_words, option
from rookery.core.service import tell_service_manager
from rookery.server.commands.db import SETTINGS_GROUP, DatabaseSettings, setting
from rookery.server.commands.systemd import server_unit
from rookery.server.db.access import refuse_busy_folder
from rookery.server.files.places import shared_folders
from rookery.server.settings import SETTINGS

# The settings that the command line of a server accepts: those declared with a flag.
if TYPE_CHECKING:
    ServeSettings = DatabaseSettings
else:
    ServeSettings = make_dataclass(
        "ServeSettings",
        [
            (
                name,
                Annotated[bool if declared.switch else str | None, setting(name)],
                False if declared.switch else None,
            )
            for name, declared in SETTINGS.items()
            if declared.flag and name not in DatabaseSettings.__dataclass_fields__
        ],
        bases=(DatabaseSettings,),
        frozen=True,
        slots=True,
        kw_only=True,
        namespace={"__module__": __name__},
    )
    Parameter(name="*", group=SETTINGS_GROUP)(ServeSettings)


NOTHING_SET = ServeSettings()


def serve(
    *,
    flags: ServeSettings = NOTHING_SET,
    print_systemd_unit: Annotated[
        bool, option("print a unit that keeps this server running, with these flags")
    ] = False,
) -> int:
    """Start the server, and an embedded PostgreSQL unless another one is named.

    Ctrl-C or SIGTERM stops both; SIGUSR1 writes every thread's stack to stderr.

    examples:

      rookery serve
      rookery serve --host 0.0.0.0 --base-url https://farm.example.org
      rookery serve --database-url postgresql://rookery@db.example.org/rookery
      rookery serve --data /srv/rookery-data --print-systemd-unit > rookery.service
    """
    settings = flags.read()
    if print_systemd_unit:
        data = settings.data.absolute()
        words = as_words(replace(flags, data=str(data)))
        print(server_unit(words, data, shared_folders(settings)), end="")
        return 0
    refuse_busy_folder(settings.data, settings.database_url)
    # Importing the server takes longer than finding out that another one runs here.
    from rookery.server.app.run import run_site

    return run_site(
        settings,
        ready=lambda _address: tell_service_manager("READY=1"),
        leave=lambda: tell_service_manager("STOPPING=1"),
    )
