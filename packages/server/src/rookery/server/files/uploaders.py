"""Who uploads a file, and for which engine."""

from dataclasses import dataclass

from rookery.server.app.site import Site
from rookery.server.engines.engines import TEAM_MARK
from rookery.server.files.access import RepeatedUpload
from rookery.server.http.faults import BadRequest, Forbidden


@dataclass(frozen=True, slots=True)
class Uploader:
    """A user, and the engine that a file is uploaded for; empty if none was named."""

    user: str
    engine: str


def find_uploader(site: Site, user: str, engine: str) -> Uploader:
    """The uploader of a file for an engine. Raises UnknownEngine for one that the user may not
    see."""
    site.file_access.check_engine(user, engine)
    return Uploader(user, engine)


async def note_repeat(
    site: Site, uploader: Uploader, file: str, size: int
) -> RepeatedUpload | None:
    """Store another upload of a known file for an uploader who can't see the first one; raises
    QuotaExceeded as for a new file. Returns the uploader's own upload, or None if they see the
    first one."""
    if not site.file_access.may_see(uploader.user, file):
        repeat = RepeatedUpload(file, uploader.engine, uploader.user, site.clock.now(), size)
        await site.file_access.add_repeat(repeat, limit=site.upload_quota)
    return site.file_access.visible_repeat(uploader.user, file)


def check_name(site: Site, uploader: Uploader, name: str) -> None:
    """Check a file's name. Names that begin with a team and `~` are reserved for that team, and
    files of a private engine need such a name. Raises Forbidden or BadRequest, whether or not the
    name exists."""
    team, mark, _ = name.partition(TEAM_MARK)
    if mark and team not in site.teams.of(uploader.user):
        raise Forbidden("Only members of a team may upload files that are named after it.")
    owner = site.engines.private.get(uploader.engine)
    if owner is not None and not (mark and team == owner):
        wanted = f"{owner}{TEAM_MARK}{name}"
        raise BadRequest(f"Files of a private engine are named after its team: {wanted}.")
