"""`rookery` that logs whether each password it hashes is the right one: hashing_serve.py WORDS

Workers send right passwords and strangers wrong ones, so this shows whose passwords were hashed.
Nothing of this is in the server itself.
"""

import json
import os
import sys

from rookery.cli.main import main
from rookery.server.identity.passwords import Passwords

EVENT = "password_hashed"


def log_hashes() -> None:
    verify = Passwords._verify

    def logged(self: Passwords, hashed: str, password: str) -> bool:
        right = verify(self, hashed, password)
        line = json.dumps({"event": EVENT, "level": "info", "right": right})
        os.write(2, f"{line}\n".encode())
        return right

    setattr(Passwords, "_verify", logged)  # noqa: B010 - a class of the server's, for this proof


if __name__ == "__main__":
    log_hashes()
    sys.exit(main(sys.argv[1:]))
