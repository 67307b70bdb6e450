"""Settings: one value from environment and flags; what is wrong is named."""

from dataclasses import fields
from pathlib import Path

import pytest

from rookery.server.settings import (
    SETTINGS,
    Settings,
    SettingsError,
    flag_name,
    read_secret_files,
    variable_name,
)
from tests.twins.sites import make_site


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1"])
def test_a_forwarded_address_counts_from_loopback_only_where_a_proxy_is_named(peer: str) -> None:
    def seen(settings: Settings) -> str:
        return make_site(settings).proxies.client(peer, ["198.51.100.9"])

    assert seen(Settings()) == peer
    assert seen(Settings(trusted_proxies=(peer,))) == "198.51.100.9"


def test_only_what_git_can_do_is_a_scheme() -> None:
    assert Settings.read({"ROOKERY_GIT_SCHEMES": "https, ssh"}).git_schemes == ("https", "ssh")
    with pytest.raises(SettingsError, match="ROOKERY_GIT_SCHEMES takes some of https"):
        Settings.read({"ROOKERY_GIT_SCHEMES": "ftp"})


def test_what_is_declared_without_a_purpose_is_no_setting() -> None:
    fixed = {entry.name for entry in fields(Settings)} - set(SETTINGS)
    assert "head_seconds" in fixed
    with pytest.raises(SettingsError, match="ROOKERY_HEAD_SECONDS is not a setting"):
        Settings.read({"ROOKERY_HEAD_SECONDS": "1"})


def test_without_anything_given_the_defaults_hold() -> None:
    assert Settings.read({"PATH": "/bin"}).port == 8000


def test_a_variable_sets_its_field() -> None:
    assert Settings.read({"ROOKERY_PORT": "9000"}).port == 9000


def test_a_flag_wins_over_a_variable() -> None:
    assert Settings.read({"ROOKERY_PORT": "9000"}, {"port": "9001"}).port == 9001


def test_a_flag_that_was_not_given_leaves_the_variable() -> None:
    assert Settings.read({"ROOKERY_HOST": "::1"}, {"host": None}).host == "::1"


def test_an_unknown_variable_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(SettingsError, match=r"ROOKERY_PROT is not a setting.*ROOKERY_PORT"):
        Settings.read({"ROOKERY_PROT": "1"})


@pytest.mark.parametrize(
    "name",
    [
        "ROOKERY_PYTHON",
        "ROOKERY_NO_APT",
        "ROOKERY_TOKEN",
        "ROOKERY_ACCOUNT",
        "ROOKERY_WORKER_HOME",
    ],
)
def test_a_variable_of_another_command_is_no_mistake(name: str) -> None:
    assert Settings.read({name: "x"}) == Settings()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("port", "eighty"),
        ("port", "70000"),
        ("port", "-1"),
        ("port", "٣"),
        ("data", ""),
        ("host", " "),
        ("base_url", "example.org"),
        ("base_url", "http://example.org/path"),
        ("log_format", "xml"),
        ("access_log", "maybe"),
        ("threadpool_tokens", "1"),
        ("database_url", "mysql://x"),
    ],
)
def test_a_bad_value_stops_and_names_the_variable(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=variable_name(name)):
        Settings.read({variable_name(name): text})


def test_a_bad_flag_is_named_as_the_flag() -> None:
    with pytest.raises(SettingsError, match="--port takes"):
        Settings.read({}, {"port": "x"})


def test_a_password_in_a_bad_database_url_is_not_shown() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read({"ROOKERY_DATABASE_URL": "mysql://me:secret@host"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["http://h:abc", "http://h:99999", "h:8000", "http://h/x"])
def test_an_address_that_nobody_could_call_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="ROOKERY_INTERNAL_URL takes an address"):
        Settings.read({"ROOKERY_INTERNAL_URL": address})


@pytest.mark.parametrize("address", ["http://h", "http://[::1]:8000", "https://a.b:8443/"])
def test_an_address_may_name_a_port(address: str) -> None:
    assert Settings.read({"ROOKERY_INTERNAL_URL": address}).internal_url == address.rstrip("/")


@pytest.mark.parametrize("name", ["WEB_CONCURRENCY", "UVICORN_WORKERS"])
def test_more_than_one_process_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name}=4.*exactly one"):
        Settings.read({name: "4"})


def test_a_relative_data_folder_becomes_absolute() -> None:
    assert Settings.read({}, {"data": "here"}).data == Path.cwd() / "here"


def test_lists_are_split_at_commas() -> None:
    given = Settings.read({"ROOKERY_ALLOWED_HOSTS": "a.example, b.example,"})
    assert given.allowed_hosts == ("a.example", "b.example")


def test_a_flag_is_named_like_its_field() -> None:
    assert flag_name("threadpool_tokens") == "--threadpool-tokens"


def test_a_secret_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("postgresql://anna:5ecret@db/games\n")
    read = read_secret_files({"ROOKERY_DATABASE_URL_FILE": str(tmp_path / "secret")})
    assert Settings.read(read).database_url == "postgresql://anna:5ecret@db/games"


def test_a_secret_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ROOKERY_SMTP_PASSWORD_FILE.*No such file"):
        read_secret_files({"ROOKERY_SMTP_PASSWORD_FILE": str(tmp_path / "none")})


def test_a_secret_is_given_once() -> None:
    both = {"ROOKERY_GITHUB_TOKEN": "a", "ROOKERY_GITHUB_TOKEN_FILE": "/dev/null"}
    with pytest.raises(SettingsError, match="both set"):
        read_secret_files(both)
