"""The machine as programs see it."""

from rookery.worker.engines.toolchain import best_architecture, host_identity


def test_a_machine_knows_itself_again() -> None:
    assert host_identity() == host_identity()


def test_an_old_makefile_gets_an_architecture_that_it_knows() -> None:
    known = "x86-64 armv8 ppc-64 riscv64 loongarch64 apple-silicon armv7 x86-32 e2k"
    assert best_architecture(known) in known.split()
