"""Who uploads a file, and for which engine."""

from dataclasses import dataclass

from starlette.requests import Request

from rookery.farm.engines import TEAM_MARK
from rookery.files.access import RepeatedUpload
from rookery.people.users import Scope
from rookery.web.callers import require_bearer, translated_errors
from rookery.web.faults import (
    BadRequest,
    Forbidden,
)
from rookery.web.queries import read_name
from rookery.web.site import Site


@dataclass(frozen=True, slots=True)
class Uploader:
    """A user, and the engine that a file is uploaded for; empty where none was named."""

    user: str
    engine: str


async def require_uploader(request: Request, site: Site) -> Uploader:
    """Raises Unauthorized or Forbidden, and NotFound for an engine that the user may not know."""
    user = (await require_bearer(request, site.bearers, Scope.SUBMIT)).user.name
    with translated_errors():
        engine = read_name(request.query_params, "engine")
        site.file_access.check_engine(user, engine)
    return Uploader(user, engine)


async def note_repeat(
    site: Site, uploader: Uploader, file: str, size: int
) -> RepeatedUpload | None:
    """Stores an upload of a file that is there already, where the uploader can't see that; raises
    BodyTooLarge as for a new file. None where the uploader sees the first upload."""
    if not site.file_access.may_see(uploader.user, file):
        repeat = RepeatedUpload(file, uploader.engine, uploader.user, site.clock.now(), size)
        with translated_errors():
            await site.file_access.add_repeat(repeat, limit=site.upload_quota)
    return site.file_access.visible_repeat(uploader.user, file)


def check_name(site: Site, uploader: Uploader, name: str) -> None:
    """Names that begin with a team's and `~` are for that team alone, and what belongs to a private
    engine has such a name; raises Forbidden or BadRequest, whether the name is taken or not."""
    team, mark, _ = name.partition(TEAM_MARK)
    if mark and team not in site.teams.of(uploader.user):
        raise Forbidden("Only members of a team give files that are named after it.")
    owner = site.engines.private.get(uploader.engine)
    if owner is not None and not (mark and team == owner):
        wanted = f"{owner}{TEAM_MARK}{name}"
        raise BadRequest(f"What belongs to a private engine is named after its team: {wanted}.")
