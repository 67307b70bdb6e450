"""Rookery's documentation as pages: the Markdown files with links between them.

HTML in a text is shown as text, and pictures by their descriptions. Links to source files outside
of the documentation are not shown as links.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from starlette.responses import PlainTextResponse, Response

from rookery.server.ask.corpus import DocPage
from rookery.server.ask.indexing import Indexer
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.pages import Page, Pages

HERE = "/docs"
FIRST = ("why", "quickstart", "first-engine", "engines", "worker", "operate", "api", "ask")
"""The pages that most people read, in this order. The others follow by name."""
ELSEWHERE = ("http://", "https://", "mailto:", "#", "/")
NO_SIGNS = re.compile(r"[^\w\- ]")


READ_ONCE = "the files are read once, in a thread; rendered in a thread"
pages = Pages()
routes = pages.make_routes


@pages(f"GET {HERE}", READ_ONCE)
async def first_page(indexer: Indexer) -> Page | Response:
    return await doc_page(FIRST[0], indexer)


@pages(f"GET {HERE}/{{name}}", READ_ONCE)
async def doc_page(name: str, indexer: Indexer) -> Page | Response:
    docs = {page.name: page for page in (await indexer.load_pages()).values()}
    page = docs.get(name.removesuffix(".md"))
    if page is None:
        raise NotFound("There is no such page.")
    if name.endswith(".md"):
        return PlainTextResponse(page.text)

    def make(page: DocPage) -> Mapping[str, object]:
        body, sections = render_doc(page, docs)
        ordered = sorted(docs, key=lambda each: (_find_rank(each), each))
        return {
            "name": page.name,
            "title": find_title(page),
            "body": body,
            "sections": sections,
            "pages": [(each, find_title(docs[each])) for each in ordered],
        }

    return Page("docs.html", page, make=make, key=(name, page.text))


def render_doc(
    page: DocPage, pages: Mapping[str, DocPage]
) -> tuple[Markup, Sequence[tuple[str, str]]]:
    """A page of the documentation as HTML, and the ids and titles of its sections."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = markdown.parse(page.text)
    sections = tuple(_name_headings(tokens))
    _drop_empty_headings(tokens)
    for token in tokens:
        token.children = [*_turn_links(token.children or (), pages)]
        if token.type == "table_open":
            # A wide table can be scrolled, also by keyboard.
            token.attrSet("tabindex", "0")
    html = markdown.renderer.render(tokens, markdown.options, {})
    return Markup(html), sections  # noqa: S704 - HTML in the text was made text


def find_title(page: DocPage) -> str:
    first = page.text.partition("\n")[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else page.name


def _find_rank(name: str) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _name_headings(tokens: Iterable[Token]) -> Iterator[tuple[str, str]]:
    """Give headings the ids that links in Markdown use, and yield those of the second level."""
    opened: Token | None = None
    for token in tokens:
        if opened is not None:
            title = "".join(each.content for each in token.children or ())
            name = NO_SIGNS.sub("", title.lower()).replace(" ", "-")
            opened.attrSet("id", name)
            if opened.tag == "h2":
                yield name, title
        opened = token if token.type == "heading_open" else None


def _drop_empty_headings(tokens: Sequence[Token]) -> None:
    """Turn empty header cells of tables, such as a corner, into ordinary cells."""
    for before, cell, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type == "th_open" and not cell.content:
            before.tag = after.tag = "td"


def _turn_links(tokens: Iterable[Token], pages: Mapping[str, DocPage]) -> Iterator[Token]:
    leads = True
    for token in tokens:
        if token.type == "image":
            yield Token("text", "", 0, content=token.content)
            continue
        if token.type == "link_open":
            address = find_address(str(token.attrGet("href") or ""), pages)
            leads = bool(address)
            token.attrSet("href", address)
        if leads or not token.type.startswith("link_"):
            yield token


def find_address(address: str, pages: Mapping[str, DocPage]) -> str:
    """The address of a link's target on this server; empty if the target is not a page here."""
    if address.startswith(ELSEWHERE):
        return address
    file, _, place = address.partition("#")
    name = file.removesuffix(".md")
    if name not in pages or name == file:
        return ""
    return f"{HERE}/{name}#{place}" if place else f"{HERE}/{name}"
