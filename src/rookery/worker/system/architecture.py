"""The processor in the words of Stockfish's Makefile, by which runs choose machines."""

from rookery.worker.system.port import Cpu

AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
ICE_LAKE = {
    "avx512cd",
    "avx512_vbmi2",
    "avx512_vpopcntdq",
    "avx512_bitalg",
    "avx512_vnni",
    "avx512ifma",
    "avx512vbmi",
    "vpclmulqdq",
    "gfni",
    "vaes",
}
X86_64 = (
    ("x86-64-avx512icl", {*AVX512, *ICE_LAKE, "bmi2"}),
    ("x86-64-vnni512", {*AVX512, "avx512_vnni", "bmi2"}),
    ("x86-64-avx512", {*AVX512, "bmi2"}),
    ("x86-64-avxvnni", {"avx_vnni", "avx2", "bmi2"}),
    ("x86-64-bmi2", {"avx2", "bmi2"}),
    ("x86-64-avx2", {"avx2"}),
    ("x86-64-sse41-popcnt", {"sse4_1", "popcnt"}),
    ("x86-64-ssse3", {"ssse3"}),
    ("x86-64-sse3-popcnt", {"sse3", "popcnt"}),
    ("x86-64", set[str]()),
)
"""The best first."""
OTHERS = {
    "riscv64": "riscv64",
    "loongarch64": "loongarch64",
    "ppc64": "ppc-64",
    "ppc64le": "ppc-64",
    "armv7l": "armv7",
    "i686": "x86-32",
    "e2k": "e2k",
}


def architecture(cpu: Cpu, system: str) -> str:
    """One of the names that fishtest knows; `unknown` for anything else."""
    machine = cpu.machine.lower()
    if machine in ("arm64", "aarch64"):
        if system == "macos":
            return "apple-silicon"
        return "armv8-dotprod" if "asimddp" in cpu.flags else "armv8"
    if machine not in ("x86_64", "amd64"):
        return OTHERS.get(machine, "unknown")
    flags = cpu.flags | ({"sse3"} if "pni" in cpu.flags else set())
    return next(name for name, needed in X86_64 if needed <= flags)
