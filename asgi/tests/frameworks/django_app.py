"""Django's ASGI handler, with settings in this one file."""

from collections.abc import AsyncIterator

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

settings.configure(
    ROOT_URLCONF=__name__,
    SECRET_KEY="not a secret",
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
)
django.setup()


def hello(request: HttpRequest) -> HttpResponse:
    return HttpResponse("hello", content_type="text/plain")


async def echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse(request.body)


async def ticks() -> AsyncIterator[str]:
    for i in range(5):
        yield f"tick {i}\n"


async def stream(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(ticks())


urlpatterns = [path("", hello), path("echo", echo), path("stream", stream)]
app = get_asgi_application()
