"""The kinds of test on pages, each in one module: its words, figures, drawings, and its part of the
form of a new run. Other code looks a kind up here once and asks what it finds."""

from collections.abc import Mapping
from typing import Any

from rookery.core.model.kinds import Fixed, Kind, SprtTest, SpsaTuning
from rookery.server.show.kinds.fixed import FixedPage
from rookery.server.show.kinds.kind_page import KindPage
from rookery.server.show.kinds.sprt import SprtPage
from rookery.server.show.kinds.spsa import SpsaPage

__all__ = ["FORM_PAGES", "page_of"]

_PAGES: Mapping[type[Kind], Any] = {SprtTest: SprtPage, Fixed: FixedPage, SpsaTuning: SpsaPage}
FORM_PAGES: Mapping[str, type[KindPage]] = {page.form.choice: page for page in _PAGES.values()}
"""The kinds by their choice in the form of a new run, in the order in which they are offered."""


def page_of(kind: Kind) -> KindPage:
    found: KindPage = _PAGES[type(kind)](kind)
    return found
