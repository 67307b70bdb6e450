"""Documents that people upload for Ask, and pages of Rookery's documentation that answers refer
to."""

from functools import partial
from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.protocol import v1
from rookery.core.protocol.ask import AskDocument, AskDocumentChange, AskDocumentList
from rookery.core.protocol.codec import BadParameter, Reader
from rookery.server.ask.uploads import LONGEST_NAME, StoredUpload
from rookery.server.boundary.domains import Domain, runs
from rookery.server.files.api import store_body
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import require_bearer, translated_errors
from rookery.server.http.openapi import Operation, described
from rookery.server.http.queries import read_page, read_switch
from rookery.server.http.scope import DOCUMENTS
from rookery.server.people.users import Scope

CHANGE = Reader(AskDocumentChange)
UNSEEN = {"cache-control": "no-store"}
DocumentId = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
OF_DOCUMENT = {"document": DocumentId}
TEXT = "text/plain; charset=utf-8"


@described(
    Operation(
        "Upload a text, Markdown or PDF for questions",
        {200: AskDocument, 201: AskDocument},
        raw_body=True,
        query={"name": v1.Name, "shared": bool},
        bearer=True,
    )
)
@runs(Domain.THREAD, "pieces are written, digested and checked in threads")
async def upload_document(request: Request) -> Response:
    site = site_of(request)
    user = (await require_bearer(request, site.bearers, Scope.SUBMIT)).user.name
    with translated_errors():
        name = _read_name(request)
        shared = read_switch(request.query_params, "shared")
    take = partial(site.documents.upload, name=name, user=user, shared=shared)
    kept, is_new = await store_body(site, request, user, take)
    return json_answer(_entry(kept), 201 if is_new else 200, UNSEEN)


@described(
    Operation(
        "Documents that you uploaded and those that are shared, newest first",
        {200: AskDocumentList},
        query={"page": v1.Page, "size": v1.PageSize},
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_documents(request: Request) -> Response:
    site, user = site_of(request), await _find_reader(request)
    with translated_errors():
        page, size = read_page(request.query_params)
    found = await site.documents.rows.list_seen_by(user, (page - 1) * size, size)
    return json_answer(AskDocumentList(documents=tuple(map(_entry, found))), headers=UNSEEN)


@described(
    Operation("A document and its status", {200: AskDocument}, path=OF_DOCUMENT, bearer=True)
)
@runs(Domain.LOOP, "awaits one query")
async def get_document(request: Request) -> Response:
    return json_answer(_entry(await _find_document(request)), headers=UNSEEN)


@described(
    Operation("The text that was read from a document", {200: TEXT}, path=OF_DOCUMENT, bearer=True)
)
@runs(Domain.LOOP, "awaits two queries")
async def get_document_text(request: Request) -> Response:
    found = await _find_document(request)
    text = await site_of(request).documents.rows.text_of(found.id)
    return Response(text, media_type=TEXT, headers=UNSEEN)


@described(
    Operation(
        "Share a document with everybody, or make it private",
        {200: AskDocument},
        body=AskDocumentChange,
        path=OF_DOCUMENT,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits some queries")
async def change_document(request: Request) -> Response:
    site, user = site_of(request), await _require_owner(request)
    body = await read_body(request.receive)
    with translated_errors():
        wish = CHANGE.read(body)
        found = await site.documents.find_own(_id(request), user)
    changed = await site.documents.share(found, shared=wish.shared)
    return json_answer(_entry(changed), headers=UNSEEN)


@described(Operation("Remove a document", {200: AskDocument}, path=OF_DOCUMENT, bearer=True))
@runs(Domain.THREAD, "its file is removed in a thread")
async def remove_document(request: Request) -> Response:
    site = site_of(request)
    actor = (await require_bearer(request, site.bearers, Scope.SUBMIT)).actor
    with translated_errors():
        found = await site.documents.find_own(_id(request), actor.name, approver=actor.approver)
    await site.documents.remove(found)
    return json_answer(_entry(found), headers=UNSEEN)


async def _find_reader(request: Request) -> str:
    return (await require_bearer(request, site_of(request).bearers, Scope.READ)).user.name


async def _require_owner(request: Request) -> str:
    return (await require_bearer(request, site_of(request).bearers, Scope.SUBMIT)).user.name


async def _find_document(request: Request) -> StoredUpload:
    """A document that the caller may see. Raises NotFound for any other."""
    user = await _find_reader(request)
    with translated_errors():
        return await site_of(request).documents.find(_id(request), user)


def _id(request: Request) -> str:
    return str(request.path_params["document"])


def _read_name(request: Request) -> str:
    """The name of the document. Raises BadParameter."""
    name = request.query_params.get("name", "").strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadParameter(name="name", text="expected the name of the file")
    return name


def _entry(upload: StoredUpload) -> AskDocument:
    return AskDocument(
        id=upload.id,
        name=upload.name,
        user=upload.user,
        size=upload.size,
        sha256=upload.sha256,
        format=upload.format,
        shared=upload.shared,
        created=upload.created,
        status=upload.state,
        problem=upload.problem,
    )


def document_routes(root: str) -> list[BaseRoute]:
    """The routes of documents below a root."""
    every, one = f"{root}{DOCUMENTS}", f"{root}{DOCUMENTS}/{{document}}"
    return [
        Route(every, upload_document, methods=["POST"]),
        Route(every, list_documents, methods=["GET"]),
        Route(one, get_document, methods=["GET"]),
        Route(one, change_document, methods=["PATCH"]),
        Route(one, remove_document, methods=["DELETE"]),
        Route(f"{one}/text", get_document_text, methods=["GET"]),
    ]
