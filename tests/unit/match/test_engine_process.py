"""An engine's output knows when it was written to."""

import os
import sys
import time

from rookery.match.engine_process import launch_engine, stamped_pipe


def test_the_pipe_is_stamped_when_it_is_written_to_and_not_when_it_is_read() -> None:
    ends = stamped_pipe()
    assert ends is not None
    reading, writing = ends
    os.utime(reading, (1.0, 1.0))
    before = time.time()
    os.write(writing, b"bestmove e2e4\n")
    stamp = os.fstat(reading).st_mtime
    assert before - 1.0 < stamp <= time.time()
    assert os.read(reading, 100) == b"bestmove e2e4\n"
    assert os.fstat(reading).st_mtime == stamp
    os.close(reading)
    os.close(writing)


def test_the_end_of_the_program_is_the_end_of_its_output() -> None:
    process = launch_engine((sys.executable, "-S", "-c", "print('uciok')"), None, {})
    assert process.stdout is not None
    process.wait()
    assert os.read(process.stdout.fileno(), 100) == b"uciok\n"
    assert os.read(process.stdout.fileno(), 100) == b""
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
