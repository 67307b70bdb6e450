"""Workers that are renewed: at SIGHUP, and when they have served long enough."""

import json
import os
import re
import signal
import threading
from pathlib import Path

import pytest

from rookery_asgi import Options
from rookery_asgi.board import CLASSES, COUNTERS, GAUGES, Board, Share
from rookery_asgi.recycling import Bounds, Vitals, draw_bounds, why_replace
from tests.machine import body_of
from tests.serving import APP, Served, ask, begun, eventually, get, read_all, read_response, serve
from tests.test_tls import names_of, write_certificate


def pid_of(served: Served) -> int:
    number: int = json.loads(body_of(ask(served, "/scope")))["state"]["pid"]
    return number


def pids(served: Served) -> set[int]:
    return {pid_of(served) for _ in range(20)}


def served_by(served: Served, count: int) -> set[int]:
    """The workers, once there are that many."""
    assert eventually(lambda: len(pids(served)) == count)
    return pids(served)


def test_sighup_renews_all_workers_and_no_client_is_turned_away() -> None:
    with serve(APP, "--workers", "2") as served:
        before = served_by(served, 2)
        stop, answers = threading.Event(), list[bytes]()

        def ask_on() -> None:
            while not stop.is_set():
                answers.append(body_of(ask(served, "/")))

        asking = threading.Thread(target=ask_on, daemon=True)
        asking.start()
        served.signal(signal.SIGHUP)
        assert eventually(lambda: served.log.count("takes the place of") == 2)
        assert eventually(lambda: pids(served).isdisjoint(before))
        stop.set()
        asking.join()
        assert set(answers) == {b"hello"}
        assert served.stop() == 0


def test_a_worker_that_is_renewed_finishes_its_requests() -> None:
    with serve(APP, "--supervise") as served, served.connect() as sock:
        sock.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        assert begun(served, 1)
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "takes the place of" in served.log)
        assert eventually(lambda: "stopping" in served.log)
        sock.sendall(b"def")
        assert body_of(read_response(sock)) == b"6"
        assert served.stop() == 0


def test_sighup_renews_the_application(tmp_path: Path) -> None:
    module = tmp_path / "renewed.py"
    text = (
        "from tests.machine import answer\nasync def app(s, r, send):\n  await answer(send, b'{}')"
    )
    module.write_text(text.replace("{}", "one"))
    options = ("--supervise", "--app-dir", str(tmp_path), "--lifespan", "off")
    with serve("renewed:app", *options) as served:
        assert body_of(ask(served, "/")) == b"one"
        module.write_text("raise LookupError('on purpose')")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "the old ones go on" in served.log)
        assert body_of(ask(served, "/")) == b"one"
        module.write_text(text.replace("{}", "three"))
        served.signal(signal.SIGHUP)
        assert eventually(lambda: body_of(ask(served, "/")) == b"three")
        assert served.stop() == 0


def test_sighup_renews_the_certificate_of_workers(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    tls = ("--ssl-certfile", cert, "--ssl-keyfile", key)
    with serve(APP, "--workers", "2", *tls) as served:
        assert eventually(lambda: served.log.count("serving on") == 2)
        assert "one.example" in names_of(served)
        Path(cert).write_text("rubbish")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: "the old ones go on" in served.log)
        assert "one.example" in names_of(served)
        write_certificate(tmp_path, "two.example")
        served.signal(signal.SIGHUP)
        assert eventually(lambda: served.log.count("takes the place of") == 2)
        assert "two.example" in names_of(served)
        assert served.stop() == 0


def test_those_that_serve_are_not_given_up_for_one_that_can_not_start(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "one.example")
    tls = ("--ssl-certfile", cert, "--ssl-keyfile", key)
    with serve(APP, "--workers", "2", *tls) as served:
        assert eventually(lambda: served.log.count("serving on") == 2)
        Path(cert).write_text("rubbish")
        os.kill(worker_of(served), signal.SIGKILL)
        assert eventually(lambda: "could not start: tried again" in served.log)
        assert "one.example" in names_of(served)
        write_certificate(tmp_path, "one.example")
        assert eventually(lambda: served.log.count("serving on") == 3)
        assert served.stop() == 0


def worker_of(served: Served) -> int:
    """One of the workers."""
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
    return int(children.read_text().split()[0])


def test_a_worker_is_renewed_after_its_number_of_requests() -> None:
    with serve(APP, "--limit-max-requests", "20") as served:
        first = pid_of(served)
        for _ in range(20):
            ask(served, "/")
        assert eventually(lambda: f"worker {first} is renewed: it has had" in served.log)
        assert eventually(lambda: pid_of(served) != first)
        assert served.stop() == 0


def test_a_worker_is_renewed_at_its_age() -> None:
    with serve(APP, "--limit-worker-age", "1.5") as served:
        first = pid_of(served)
        assert eventually(lambda: f"worker {first} is renewed: it is" in served.log)
        assert eventually(lambda: pid_of(served) != first)


def test_a_worker_that_has_grown_is_renewed() -> None:
    with serve(APP, "--limit-worker-memory", "150000000") as served:
        first = pid_of(served)
        with served.connect() as sock:
            sock.sendall(get("/megabyte?200", "Connection: close"))
            assert eventually(lambda: f"worker {first} is renewed: it takes" in served.log)
            assert len(read_all(sock)) > 200_000_000
        assert eventually(lambda: pid_of(served) != first)
        assert served.stop() == 0


@pytest.mark.parametrize(
    ("vitals", "why"),
    [
        (Vitals(9, 9, 9), None),
        (Vitals(10, 0, 0), "it has had 10 requests"),
        (Vitals(0, 10, 0), "it is 10 seconds old"),
        (Vitals(0, 0, 10), "it takes 10 bytes"),
    ],
)
def test_a_bound_that_is_reached_is_the_reason(vitals: Vitals, why: str | None) -> None:
    assert why_replace(vitals, Bounds(10, 10.0, 10)) == why
    assert why_replace(vitals, Bounds()) is None


def test_workers_differ_in_how_many_requests_they_may_have() -> None:
    options = Options(limit_max_requests=100, limit_max_requests_jitter=50)
    drawn = {draw_bounds(options).requests for _ in range(200)}
    assert len(drawn) > 10
    assert min(drawn) >= 100
    assert max(drawn) <= 150
    assert draw_bounds(Options(limit_max_requests_jitter=50)).requests == 0


def metric(served: Served, name: str) -> int:
    said = ask(served, "/metrics").decode()
    found = re.search(rf"^rookery_asgi_{re.escape(name)} (\d+)$", said, re.MULTILINE)
    assert found is not None
    return int(found.group(1))


def test_metrics_are_those_of_all_workers_and_of_those_that_have_gone() -> None:
    missing = 'responses_total{class="4xx"}'
    with serve(APP, "--workers", "2", "--metrics-path", "/metrics") as served:
        before = served_by(served, 2)
        for _ in range(30):
            ask(served, "/nowhere")
        assert eventually(lambda: metric(served, missing) == 30)
        served.signal(signal.SIGHUP)
        assert eventually(lambda: pids(served).isdisjoint(before))
        assert eventually(lambda: metric(served, "workers") == 2)
        assert metric(served, missing) == 30
        assert served.stop() == 0


def test_sums_never_fall_when_a_worker_ends() -> None:
    board = Board.create(4)
    names = dict.fromkeys((*COUNTERS, *GAUGES), 1)
    counters = {**names, "responses": (1,) * CLASSES}
    Share(board, 1).put(counters)
    Share(board, 2).put(counters)
    assert board.is_ready(1)
    total = Share(board, 1).total(counters)
    assert (total["requests"], total["open"], total["workers"]) == (2, 2, 2)
    board.retire(2)
    assert not board.is_ready(2)
    total = Share(board, 1).total(counters)
    assert (total["requests"], total["open"], total["workers"]) == (2, 1, 1)
    assert total["responses"] == (2,) * CLASSES


def test_a_second_signal_to_the_supervisor_does_not_wait_for_requests() -> None:
    options = ("--workers", "2", "--timeout-graceful-shutdown", "600")
    with serve(APP, *options) as served, served.connect() as sock:
        served_by(served, 2)
        sock.sendall(get("/never"))
        assert eventually(lambda: any(begins(served) for _ in range(10)))
        served.signal(signal.SIGTERM)
        assert eventually(lambda: served.log.count("stopping") == 2)
        served.signal(signal.SIGTERM)
        assert served.wait() == 0


def begins(served: Served) -> bool:
    found: dict[str, int] = json.loads(body_of(ask(served, "/notes")))
    return found["begun"] == 1
