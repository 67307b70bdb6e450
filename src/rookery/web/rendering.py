"""Pages from templates: a frozen view model goes in, one call in a thread gives the text."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2

from rookery import __version__
from rookery.web.assets import Assets
from rookery.web.session import Flash, Session

FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page has around its content."""

    user: str = ""
    csrf: str = ""
    flashes: tuple[Flash, ...] = ()
    version: str = __version__


def frame_of(session: Session, flashes: tuple[Flash, ...] = ()) -> Frame:
    """The frame for a visitor, with the messages to show."""
    user = session.user
    return Frame(user, session.csrf_token() if user else "", flashes)


class Templates:
    """The templates of the site. `render` is called in threads only."""

    def __init__(
        self,
        assets: Assets,
        *,
        simulated_fleet: bool = False,
        trouble: Callable[[], str] = str,
    ) -> None:
        """`trouble` is what every page has to tell of the server's disk."""
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(FOLDER),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals["asset"] = assets.address
        self._environment.globals["trouble"] = trouble
        self._environment.globals["simulated_fleet"] = simulated_fleet

    def render(self, name: str, frame: Frame, view: object) -> str:
        return self._environment.get_template(name).render(frame=frame, view=view)
