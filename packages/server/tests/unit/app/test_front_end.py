"""What is fetched for the pages: by which lock, and what is told of its licences."""

import json
from pathlib import Path

from rookery.server.app.front_end import NPM, list_licences


def test_the_lock_names_digests_and_no_address() -> None:
    packages = json.loads((NPM / "package-lock.json").read_text())["packages"]
    fetched = [package for name, package in packages.items() if name]
    assert all(package["integrity"].startswith("sha512-") for package in fetched)
    assert not any("resolved" in package for package in fetched)


def test_every_package_is_named_with_its_source_and_the_text_of_its_licence(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "@owls" / "strix"
    folder.mkdir(parents=True)
    place = {"url": "git+https://example.org/strix"}
    known = {"name": "@owls/strix", "version": "1.2", "license": "MIT", "repository": place}
    (folder / "package.json").write_text(json.dumps(known))
    (folder / "LICENSE").write_text("do as you like")
    text = list_licences(tmp_path)
    for words in ("@owls/strix 1.2", "Licence: MIT", "example.org/strix", "do as you like"):
        assert words in text
