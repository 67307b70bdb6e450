"""Templates rendered by themselves, for tests of what a page says about its values."""

import re
from html import unescape

from rookery.server.app.routes import add_filters
from rookery.server.http.rendering import Frame, Templates, read_assets

_ASSETS = read_assets()


def render(template: str, view: object, frame: Frame = Frame()) -> str:  # noqa: B008 - frozen
    """The page or part as HTML."""
    templates = Templates(_ASSETS)
    add_filters(templates)
    return templates.render(template, frame, view)


def read_words(html: str) -> str:
    """The words that a reader sees, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
