"""The wheel that a server carries."""

import io
import zipfile

from rookery.web.wheel import Wheel, own_wheel, pack


def names(wheel: Wheel) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as made:
        return made.namelist()


def test_equal_files_make_equal_wheels() -> None:
    files = {"rookery/b.py": b"b", "rookery/a.py": b"a"}
    assert pack(files, "1") == pack(dict(reversed(files.items())), "1")


def test_another_file_makes_another_wheel() -> None:
    assert pack({"rookery/a.py": b"a"}, "1").sha256 != pack({"rookery/a.py": b"b"}, "1").sha256


def test_a_wheel_lists_its_files_with_their_hashes() -> None:
    made = pack({"rookery/a.py": b"a"}, "1.2", ("msgspec>=0.19",))
    with zipfile.ZipFile(io.BytesIO(made.content)) as opened:
        record = opened.read("rookery-1.2.dist-info/RECORD").decode()
        metadata = opened.read("rookery-1.2.dist-info/METADATA").decode()
    assert "rookery/a.py,sha256=ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs,1\n" in record
    assert "Requires-Dist: msgspec>=0.19\n" in metadata
    assert made.name == "rookery-1.2-py3-none-any.whl"


def test_our_own_holds_the_package_and_its_locked_requirements() -> None:
    found = names(own_wheel())
    assert "rookery/cli/worker.py" in found
    assert "rookery/worker/renewal/requirements.txt" in found
    assert "rookery/web/templates/base.html" in found
    assert not any("__pycache__" in name for name in found)
