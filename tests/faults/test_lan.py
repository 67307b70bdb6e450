"""The network that proofs cut: what passes between two hosts, and what does not."""

import subprocess
import sys

from tests.faults.lan import in_namespace
from tests.places import PROJECT

TRY = """
import subprocess, sys
from tests.faults.lan import CUT, Line, lan

def ping(one, other, seconds=60):
    words = [sys.executable, "-c", SEND, other.address, str(seconds)]
    return subprocess.run([*one.prefix, *words]).returncode == 0

SEND = '''
import socket, sys
with socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[2])) as line:
    line.sendall(b"x" * 100_000)
    sys.exit(line.recv(1) != b"!")
'''
ANSWER = '''
import socket, sys
with socket.create_server((sys.argv[1], 7000)) as door:
    print(flush=True)
    while True:
        line, _ = door.accept()
        with line:
            left = 100_000
            while left and (piece := line.recv(left)):
                left -= len(piece)
            line.sendall(b"!")
'''
with lan(["one", "two", "three"]) as net:
    one, two, three = net.hosts.values()
    words = [*two.prefix, sys.executable, "-c", ANSWER, two.address]
    answering = subprocess.Popen(words, stdout=subprocess.PIPE)
    answering.stdout.readline()
    told = [ping(one, two)]
    net.change("one", "two", CUT)
    told += [ping(one, two, seconds=1), ping(three, two)]
    net.change("one", "two", Line(seconds=0.01, loss=0.02))
    told += [ping(one, two)]
    net.mend()
    told += [ping(one, two)]
    answering.kill()
    answering.wait()
print(told)
"""


def test_a_cut_line_carries_nothing_and_the_others_go_on() -> None:
    done = subprocess.run(
        in_namespace([sys.executable, "-c", TRY]),
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[True, False, True, True, True]", done.stderr[-2000:]
