"""Which tests `scripts/test --quick` takes a change to touch."""

from scripts.quick import Change, Selection, describe, list_imports, select

TESTS = {
    "packages/server/tests/storage/test_teams.py": "from rookery.server.teams.teams import Teams\n",
    "packages/server/tests/storage/test_users.py": "import rookery.server.people.users\n",
    "packages/server/tests/wire/test_team_pages.py": "from tests.people import (\n    OLGA,\n)\n",
    "packages/server/tests/unit/teams/test_teams.py": "from rookery.server.teams.teams import A\n",
    "tests/acceptance/test_teams.py": "",
    "tests/faults/test_kills.py": "from tests.faults import campaign\n",
}
TEAMS = "packages/server/src/rookery/server/teams"


def selected(*files: str, most: int = 9) -> Selection:
    return select(Change(files, "the last commit"), TESTS, most)


def test_a_changed_module_selects_the_tests_named_for_its_folder() -> None:
    assert selected(f"{TEAMS}/teams.py").run == (
        "packages/server/tests/storage/test_teams.py",
        "packages/server/tests/wire/test_team_pages.py",
    )


def test_a_changed_module_selects_what_imports_it() -> None:
    users = "packages/server/src/rookery/server/people/users.py"
    assert selected(users).run == ("packages/server/tests/storage/test_users.py",)


def test_a_folder_without_tests_of_its_name_is_tested_as_the_one_above() -> None:
    assert len(selected(f"{TEAMS}/badges/page.html").run) == 2


def test_tests_of_many_processes_are_left_out_until_they_change_themselves() -> None:
    assert selected(f"{TEAMS}/teams.py").left_out == ("tests/acceptance/test_teams.py",)
    assert selected("tests/acceptance/test_teams.py").run == ("tests/acceptance/test_teams.py",)


def test_a_changed_helper_selects_what_imports_it() -> None:
    assert selected("tests/people.py").run == ("packages/server/tests/wire/test_team_pages.py",)
    assert selected("tests/faults/campaign.py").left_out == ("tests/faults/test_kills.py",)


def test_what_does_not_fit_into_the_time_is_named() -> None:
    found = selected(f"{TEAMS}/teams.sql", most=1)
    assert len(found.run) == 1
    said = describe(Change((f"{TEAMS}/teams.sql",), "the last commit"), found)
    assert "  leaves out packages/server/tests/wire/test_team_pages.py" in said.splitlines()


def test_a_change_of_the_docs_selects_nothing() -> None:
    assert selected("docs/operate.md") == Selection((), ())


def test_names_imported_over_several_lines_are_imports() -> None:
    text = "from tests.faults import (\n    campaign,\n    kills as k,\n)\nimport os.path\n"
    assert {"tests.faults", "tests.faults.campaign", "os.path"} <= set(list_imports(text))
