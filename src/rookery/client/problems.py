"""What can go wrong between us and a server, as sentences."""

from rookery.core.complaint import Complaint

UNAUTHORIZED = 401
WHERE_FROM = " Commands take a token from `rookery login`, --token-file or ROOKERY_TOKEN."


class ApiRefused(Complaint):
    """The server answered, and the answer is no."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        self.text = text
        hint = WHERE_FROM if status == UNAUTHORIZED else ""
        super().__init__(f"The server refuses ({status}): {text}{hint}")


class ApiUnreachable(Complaint):
    """Nobody answers at that address."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"No server answers at {server}: {reason}.")


class UploadCutOff(Complaint):
    """The server stopped listening before a file was sent."""

    def __init__(self, server: str, file: str) -> None:
        super().__init__(
            f"{server} ended the connection while {file} was sent: it may be larger than the server"
            " takes (ROOKERY_UPLOAD_MB there), or the token does not count."
        )


class BadAnswer(Complaint):
    """What answers does not speak this API."""

    def __init__(self, server: str) -> None:
        super().__init__(f"What answers at {server} is not a Rookery server of this version.")
