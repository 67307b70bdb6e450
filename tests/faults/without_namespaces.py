"""Runs a command as root in an environment where user namespaces are forbidden, as in many
containers.

    without_namespaces.py COMMAND...

If started by real root, the other accounts exist there; otherwise root is the only account.
"""

import os
import sys
from pathlib import Path

from rookery.server.db.embedded.processes import unshare_user


def map_accounts(pid: int, uid: int, gid: int) -> None:
    count = 65536 if uid == 0 else 1
    if uid != 0:
        Path(f"/proc/{pid}/setgroups").write_text("deny")
    Path(f"/proc/{pid}/uid_map").write_text(f"0 {uid} {count}")
    Path(f"/proc/{pid}/gid_map").write_text(f"0 {gid} {count}")


def main() -> None:
    pid, uid, gid = os.getpid(), os.geteuid(), os.getegid()
    hears, tells = os.pipe()
    outside = os.fork()
    if outside == 0:
        os.read(hears, 1)
        map_accounts(pid, uid, gid)
        os._exit(0)
    unshare_user()
    os.write(tells, b"!")
    assert os.waitpid(outside, 0)[1] == 0
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    os.execv(sys.argv[1], sys.argv[1:])


main()
