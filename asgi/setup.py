"""Builds the C core; where it can't be built the package installs without it and says so."""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
SENTENCE = "rookery-asgi: no working C compiler was found, so the C core was not built."


class BuildCore(build_ext):
    """A missing compiler is no reason to fail the install of everything else."""

    def build_extension(self, ext: Extension) -> None:
        """Build, or leave the core out with one sentence."""
        if not sys.platform.startswith("linux"):
            print(f"rookery-asgi: the C core needs Linux, not {sys.platform}.", file=sys.stderr)
            return
        try:
            super().build_extension(ext)
        except Exception as error:
            if os.environ.get("ROOKERY_ASGI_REQUIRE_CORE"):
                raise
            print(f"{SENTENCE} ({error})", file=sys.stderr)


def flags(name: str) -> list[str]:
    """Extra compiler or linker flags, for sanitizer builds."""
    return os.environ.get(name, "").split()


setup(
    cmdclass={"build_ext": BuildCore},
    ext_modules=[
        Extension(
            "rookery_asgi._core",
            sources=sorted(str(p.relative_to(HERE)) for p in (HERE / "src/core").glob("*.c")),
            depends=sorted(str(p.relative_to(HERE)) for p in (HERE / "src/core").glob("*.h")),
            define_macros=[("_GNU_SOURCE", "1")],
            extra_compile_args=[
                "-std=c11",
                "-O3",
                "-fvisibility=hidden",
                *flags("ROOKERY_ASGI_CFLAGS"),
            ],
            extra_link_args=flags("ROOKERY_ASGI_LDFLAGS"),
            optional=True,
        )
    ],
)
