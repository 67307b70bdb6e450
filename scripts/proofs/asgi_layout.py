#!/usr/bin/env python3
"""Compares the ASGI server's declarations of Mongoose with the header of the pinned cymongoose.

The header is fetched with the source distribution into a temporary folder. Needs gcc. Exit 0 when
every offset is the same.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "asgi/src/core"
WHEEL = "0.2.5"
CONNECTION = {
    "next": "next", "mgr": "mgr", "loc": "local", "rem": "remote", "fd": "fd", "id": "id",
    "recv": "recv", "send": "send", "prof": "prof", "rtls": "rtls", "fn": "fn",
    "fn_data": "fn_data", "pfn": "pfn", "pfn_data": "pfn_data", "data": "data",
}  # fmt: skip
MANAGER = {
    "conns": "conns", "dns4": "dns4", "dns6": "dns6", "mdns": "mdns", "dnstimeout": "dns_timeout",
    "use_dns6": "use_dns6", "nextid": "next_id", "userdata": "userdata", "tls_ctx": "tls_ctx",
    "mqtt_id": "mqtt_id", "active_dns_requests": "dns_requests",
    "active_mdns_requests": "mdns_requests", "timers": "timers", "epoll_fd": "epoll_fd",
}  # fmt: skip


def checks() -> str:
    """One static assertion per field."""
    lines = []
    for struct, ours, fields in (
        ("mg_connection", "mongoose_conn", CONNECTION),
        ("mg_mgr", "mongoose_mgr", MANAGER),
    ):
        for theirs, mine in fields.items():
            same = f"offsetof(struct {struct}, {theirs}) == offsetof({ours}, {mine})"
            lines.append(f'_Static_assert({same}, "{struct}.{theirs}");')
    lines += [
        '_Static_assert(sizeof(struct mg_mgr) <= sizeof(mongoose_mgr), "room for the manager");',
        '_Static_assert(sizeof(((mongoose_conn *) 0)->data) == MG_DATA_SIZE, "room for data");',
        '_Static_assert(MONGOOSE_EV_OPEN == MG_EV_OPEN, "open");',
        '_Static_assert(MONGOOSE_EV_CLOSE == MG_EV_CLOSE, "close");',
    ]
    return "\n".join(lines)


def main() -> int:
    """Compile the assertions against the real header."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary",
             "cymongoose", "-d", name, f"cymongoose=={WHEEL}"],
            check=True, capture_output=True,
        )  # fmt: skip
        with tarfile.open(next(folder.glob("*.tar.gz"))) as tar:
            tar.extractall(folder, filter="data")
        header = next(folder.rglob("mongoose.h"))
        source = folder / "check.c"
        source.write_text(f'#include "{header}"\n#include "mongoose_abi.h"\n{checks()}\n')
        command = ["gcc", "-std=gnu11", "-DMG_TLS=MG_TLS_BUILTIN", f"-I{CORE}", "-fsyntax-only"]
        done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    print(
        done.stderr
        or f"{len(CONNECTION) + len(MANAGER)} fields are where cymongoose {WHEEL} has them"
    )
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
