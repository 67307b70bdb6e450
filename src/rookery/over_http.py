"""What our calls over HTTP have in common, whoever makes them: where they go, and why they fail."""

import urllib.error
import urllib.parse
import urllib.request


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """What proves who we are goes to the server it was meant for, and nowhere else."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def is_web_address(address: str) -> bool:
    """urllib would read files too."""
    return urllib.parse.urlsplit(address).scheme in ("http", "https")


def cause_of(error: Exception) -> Exception:
    """What is inside of urllib's own error, which says little."""
    inner = error.reason if isinstance(error, urllib.error.URLError) else error
    return inner if isinstance(inner, Exception) else error


def reason_of(error: Exception) -> str:
    """Why a call failed, in a few words."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "it takes too long"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__
