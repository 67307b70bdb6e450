"""A real server process with in-memory twins: python -m tests.wire.app_under_test PORT"""

import asyncio
import sys

from rookery.logs import logger, start_logs
from rookery.web.app import create_app
from rookery.web.listening import Place
from rookery.web.server import loop_factory, serve
from tests.wire.houses import make_house, make_user
from tests.wire.slow_routes import slow_routes


def main(port: int) -> int:
    writer = start_logs(style="json")
    house = make_house(log=logger())
    app = create_app(house, slow_routes())

    async def run() -> int:
        await make_user(house)
        return await serve(
            app,
            house,
            Place("127.0.0.1", port),
            say=lambda address: print(address, flush=True),
            farewell=writer.stop,
        )

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        code = runner.run(run())
    writer.stop()
    return code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
