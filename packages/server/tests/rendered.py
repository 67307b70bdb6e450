"""Templates rendered by themselves, for tests of what a page says about its values."""

import re
from html import unescape

import jinja2

from rookery.server.app.routes import add_filters
from rookery.server.http.pages.formatting import FILTERS
from rookery.server.http.rendering import Frame, Templates, read_assets, read_template
from rookery.server.show.filters import RUN_FILTERS

_ASSETS = read_assets()


def render(template: str, view: object, frame: Frame = Frame()) -> str:  # noqa: B008 - frozen
    """The page or part as HTML."""
    templates = Templates(_ASSETS)
    add_filters(templates)
    return templates.render(template, frame, view)


def render_macro(template: str, name: str, *values: object) -> str:
    """What a macro shows of these values."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {**FILTERS, **RUN_FILTERS}
    macro = getattr(environment.get_template(template).module, name)
    return str(macro(*values))


def read_words(html: str) -> str:
    """The words that a reader sees, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
