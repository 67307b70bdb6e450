"""Documents that people upload for Ask, and pages of Rookery's documentation that answers refer
to."""

from collections.abc import AsyncIterator
from typing import Annotated

from msgspec import Meta

from rookery.core.protocol.ask import AskDocument, AskDocumentChange, AskDocumentList
from rookery.core.protocol.codec import BadParameter
from rookery.server.ask.uploads import LONGEST_NAME, StoredUpload, Uploads
from rookery.server.http.bodies import UploadPlaces
from rookery.server.http.endpoint import LOOP, THREAD, UNSEEN, Answer, Endpoints
from rookery.server.http.query_values import Paging
from rookery.server.http.scope import ASK_ROOT, DOCUMENTS
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import Scope

DocumentId = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
DocumentName = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
ONE = f"{DOCUMENTS}/{{document}}"

api = Endpoints(ASK_ROOT, "", headers=UNSEEN)


@api(
    f"POST {DOCUMENTS}",
    THREAD,
    "pieces are written, digested and checked in threads",
    scope=Scope.SUBMIT,
    status=(200, 201),
)
async def upload_document(
    documents: Uploads,
    places: UploadPlaces,
    caller: Caller,
    pieces: AsyncIterator[bytes],
    name: DocumentName = "",
    shared: bool = False,
) -> Answer[AskDocument]:
    """Upload a text, Markdown or PDF for questions."""
    user, named = caller.user.name, _check_name(name)
    async with places.place(user):
        kept, is_new = await documents.upload(pieces, name=named, user=user, shared=shared)
    return Answer(_entry(kept), 201 if is_new else 200)


@api(f"GET {DOCUMENTS}", LOOP, "awaits one query", scope=Scope.READ)
async def list_documents(documents: Uploads, caller: Caller, paging: Paging) -> AskDocumentList:
    """Documents that you uploaded and those that are shared, newest first."""
    found = await documents.rows.list_seen_by(caller.user.name, paging.first, paging.size)
    return AskDocumentList(documents=tuple(map(_entry, found)))


@api(f"GET {ONE}", LOOP, "awaits one query", scope=Scope.READ)
async def get_document(documents: Uploads, caller: Caller, document: DocumentId) -> AskDocument:
    """A document and its status."""
    return _entry(await documents.find(document, caller.user.name))


@api(f"GET {ONE}/text", LOOP, "awaits two queries", scope=Scope.READ)
async def get_document_text(documents: Uploads, caller: Caller, document: DocumentId) -> str:
    """The text that was read from a document."""
    found = await documents.find(document, caller.user.name)
    return await documents.rows.text_of(found.id)


@api(f"PATCH {ONE}", LOOP, "awaits some queries", scope=Scope.SUBMIT)
async def change_document(
    documents: Uploads, caller: Caller, document: DocumentId, wish: AskDocumentChange
) -> AskDocument:
    """Share a document with everybody, or make it private."""
    found = await documents.find_own(document, caller.user.name)
    return _entry(await documents.share(found, shared=wish.shared))


@api(f"DELETE {ONE}", THREAD, "its file is removed in a thread", scope=Scope.SUBMIT)
async def remove_document(documents: Uploads, caller: Caller, document: DocumentId) -> AskDocument:
    """Remove a document."""
    actor = caller.actor
    found = await documents.find_own(document, actor.name, approver=actor.approver)
    await documents.remove(found)
    return _entry(found)


def _check_name(text: str) -> str:
    """The name of the document. Raises BadParameter."""
    name = text.strip()
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
