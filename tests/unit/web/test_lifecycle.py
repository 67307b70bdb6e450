"""The life of the serving process."""

from rookery.web.steps import Lifecycle, Phase


def test_a_process_starts_serves_and_stops() -> None:
    life = Lifecycle()
    phases = [life.phase]
    life.started()
    phases.append(life.phase)
    life.stop()
    phases.append(life.phase)
    assert phases == [Phase.STARTING, Phase.READY, Phase.STOPPING]


def test_a_stopping_process_never_becomes_ready_again() -> None:
    life = Lifecycle()
    life.stop()
    life.started()
    assert life.phase is Phase.STOPPING
