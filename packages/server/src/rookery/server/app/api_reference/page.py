"""The reference of the JSON API: every endpoint with its input and output, made from the OpenAPI
document."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request

from rookery.server.http.answers import address_of
from rookery.server.http.pages.pages import Page, Pages

HERE = "/api"
OPEN = "Open to everybody"
TOKEN = "Requires a token"  # noqa: S105 - words
REFERENCE = "#/components/schemas/"
DEEPEST = 4
Schema = Mapping[str, Any]
SHOWN_QUERY = frozenset(
    {"run", "task", "name", "title", "repository", "token", "state", "style", "period"}
)
"""Query parameters shown in examples. Without them a call would be refused or return little."""
WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
}
TITLES = {
    "runs": "Tests",
    "tasks": "Tasks and games",
    "games": "Tasks and games",
    "logs": "Tasks and games",
    "workers": "Machines",
    "actions": "Log",
    "events": "Live events",
    "engines": "Engines",
    "nets": "Files",
    "books": "Files",
    "binaries": "Files",
    "repositories": "Repositories",
    "teams": "Teams",
    "users": "Users",
    "me": "Users",
    "tokens": "Users",
    "contributors": "Users",
    "ask": "Ask",
}


@dataclass(frozen=True, slots=True)
class TypeWords:
    """A type in words, and the schema that it refers to, if any."""

    text: str
    schema: str = ""


Field = tuple[str, TypeWords, bool, str]
"""A parameter or field: its name, its type, whether it is needed, and a note."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation of the document in the words of the page."""

    id: str
    method: str
    path: str
    summary: str
    access: str
    parameters: tuple[Field, ...]
    body: TypeWords | None
    answers: tuple[tuple[str, TypeWords], ...]
    curl: str


pages = Pages()
routes = pages.make_routes


@pages(f"GET {HERE}", "the document is read and the page rendered in a thread")
async def api_page(request: Request) -> Page:
    address = address_of(request)

    def make(make_openapi: Callable[[], bytes]) -> Mapping[str, object]:
        read: Schema = msgspec.json.decode(make_openapi())
        components: Schema = read["components"]["schemas"]
        groups = group_endpoints(read)
        return {
            "address": address,
            "groups": groups,
            "schemas": [describe_schema(name, components[name]) for name in sorted(components)],
            "count": sum(len(endpoints) for _, endpoints in groups),
        }

    return Page("api.html", request.app.state.make_openapi, make=make, key=address)


def group_endpoints(read: Schema) -> Sequence[tuple[str, Sequence[Endpoint]]]:
    """The operations of the document under the titles of the page."""
    groups: defaultdict[str, list[Endpoint]] = defaultdict(list)
    for path, methods in read["paths"].items():
        for method, entry in methods.items():
            found = _make_endpoint(method, path, entry, read["components"]["schemas"])
            groups[_find_title(entry)].append(found)
    order = [*dict.fromkeys(TITLES.values()), "This server"]
    return sorted(groups.items(), key=lambda each: order.index(each[0]))


def _find_title(entry: Schema) -> str:
    return TITLES.get(entry["tags"][0], "This server")


def _make_endpoint(method: str, path: str, entry: Schema, components: Schema) -> Endpoint:
    content = entry.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    raw = "application/octet-stream" in content
    body = _name_type(schema) if schema else TypeWords("the bytes of the file") if raw else None
    return Endpoint(
        id=entry["operationId"],
        method=method.upper(),
        path=path,
        summary=entry["summary"],
        access=_describe_access(entry.get("security", ())),
        parameters=tuple(_list_parameters(entry.get("parameters", ()))),
        body=body,
        answers=tuple(_list_answers(entry["responses"])),
        curl=_make_curl(method, path, entry, schema, components, raw=raw),
    )


def _describe_access(security: Sequence[Schema]) -> str:
    if not security:
        return OPEN
    return "Requires your user name and password" if "password" in security[0] else TOKEN


def _list_parameters(parameters: Sequence[Schema]) -> Iterator[Field]:
    for each in parameters:
        place = "in the path" if each["in"] == "path" else "in the query"
        yield each["name"], _name_type(each["schema"]), each["required"], place


def _list_answers(responses: Schema) -> Iterator[tuple[str, TypeWords]]:
    for code, answer in responses.items():
        if code == "default":
            continue
        for media, content in answer["content"].items():
            found = content.get("schema")
            yield code, _name_type(found) if found else TypeWords(media)


def _name_type(schema: Schema) -> TypeWords:
    if "$ref" in schema:
        name = str(schema["$ref"]).removeprefix(REFERENCE)
        return TypeWords(name, name)
    if "enum" in schema:
        return TypeWords("one of " + ", ".join(map(str, schema["enum"])))
    if "anyOf" in schema:
        parts = [_name_type(each) for each in schema["anyOf"] if each.get("type") != "null"]
        named = next((part.schema for part in parts if part.schema), "")
        return TypeWords(" or ".join(part.text for part in parts), named)
    return _name_plain(schema)


def _name_plain(schema: Schema) -> TypeWords:
    kind = schema.get("type", "")
    if kind == "array":
        items = schema.get("items")
        inner = _name_type(items) if isinstance(items, dict) else TypeWords("values")
        return TypeWords(f"list of {inner.text}", inner.schema)
    if kind == "object":
        more = schema.get("additionalProperties")
        inner = _name_type(more) if isinstance(more, dict) and more else TypeWords("values")
        return TypeWords(f"object of {inner.text}", inner.schema)
    word = "time" if schema.get("format") == "date-time" else WORDS.get(str(kind), "anything")
    return TypeWords(word)


def describe_schema(name: str, schema: Schema) -> tuple[str, str, Sequence[Field], TypeWords]:
    """A type's name, its description, and its fields or, without fields, what it is."""
    needed = schema.get("required", ())
    fields = [
        (field, _name_type(each), field in needed, _describe_default(each))
        for field, each in schema.get("properties", {}).items()
    ]
    text = " ".join(str(schema.get("description", "")).split())
    return name, text, fields, TypeWords("") if fields else _name_type(schema)


def _describe_default(schema: Schema) -> str:
    default = schema.get("default")
    if default in (None, "", [], {}):
        return ""
    return f"default {msgspec.json.encode(default).decode()}"


# Makes examples that can be pasted into a shell.


def _make_curl(
    method: str,
    path: str,
    entry: Schema,
    schema: Schema | None,
    components: Schema,
    *,
    raw: bool,
) -> str:
    parts = ["curl"]
    access = _describe_access(entry.get("security", ()))
    if access == TOKEN:
        parts.append('-H "Authorization: Bearer $TOKEN"')
    elif access != OPEN:
        parts.append("-u NAME")
    if method != "get":
        parts.append(f"-X {method.upper()}")
    if raw:
        parts.append("--data-binary @FILE")
    if schema:
        example = msgspec.json.encode(_make_example(schema, components, DEEPEST)).decode()
        quoted = example.replace("'", "'\\''")
        parts.append(f"-H 'Content-Type: application/json' -d '{quoted}'")
    place = re.sub(r"[{](\w+)[}]", lambda found: found[1].upper(), path)
    query = "&".join(_list_query(entry.get("parameters", ()), components))
    address = f'"$ROOKERY{place}?{query}"' if query else f"$ROOKERY{place}"
    return " ".join((*parts, address))


def _list_query(parameters: Sequence[Schema], components: Schema) -> Iterator[str]:
    """The query of an example. Words in capitals stand for the reader's own values."""
    for each in parameters:
        if each["in"] == "query" and each["name"] in SHOWN_QUERY:
            example = _make_example(each["schema"], components, DEEPEST)
            value = each["name"].upper() if example == "text" else example
            yield f"{each['name']}={value}"


def _make_example(schema: Schema, components: Schema, depth: int) -> object:
    """An example value with the required fields only."""
    if "$ref" in schema:
        return _make_example(components[schema["$ref"].removeprefix(REFERENCE)], components, depth)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _make_example(schema["anyOf"][0], components, depth)
    kind = schema.get("type")
    if kind == "object" and depth:
        fields = schema.get("properties", {})
        return {
            name: _make_example(fields[name], components, depth - 1)
            for name in schema.get("required", ())
        }
    simple: Mapping[object, object] = {"integer": 1, "number": 1.0, "boolean": True, "array": []}
    return simple.get(kind, {} if kind == "object" else "text")
