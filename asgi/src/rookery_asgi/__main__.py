"""`python -m rookery_asgi`."""

import sys

from rookery_asgi.cli import main

if __name__ == "__main__":
    sys.exit(main())
