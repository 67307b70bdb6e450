"""Users and teams."""

from urllib.parse import urlencode

from rookery.client.caller import Caller, place
from rookery.protocol import people


class PeopleCalls(Caller):
    """Who has an account, and who shares engines with whom."""

    def users(self) -> people.UserList:
        return self._get(place("users"), people.UserList)

    def sign_up(self, name: str, password: str, email: str) -> people.UserEntry:
        """Ask for an account, which waits until an approver accepts it."""
        body = people.Application(name=name, password=password, email=email)
        return self._post(place("users"), body, people.UserEntry)

    def change_user(self, name: str, wish: people.UserChange) -> people.UserEntry:
        return self._send("PATCH", place("users", name), wish, people.UserEntry)

    def teams(self) -> people.TeamList:
        return self._get(place("teams"), people.TeamList)

    def create_team(self, name: str) -> people.TeamEntry:
        return self._post(place("teams"), people.NewTeam(name=name), people.TeamEntry)

    def join_team(self, team: str, user: str, *, lead: bool = False) -> people.TeamEntry:
        body = people.MemberBody(lead=lead)
        return self._send("PUT", place("teams", team, "members", user), body, people.TeamEntry)

    def leave_team(self, team: str, user: str) -> people.TeamEntry:
        return self._delete(place("teams", team, "members", user), people.TeamEntry)

    def repositories(self) -> people.GrantedList:
        return self._get(place("repositories"), people.GrantedList)

    def grant_repository(self, repository: str, team: str = "") -> people.GrantedRepository:
        body = people.NewGrant(repository=repository, team=team)
        return self._post(place("repositories"), body, people.GrantedRepository)

    def revoke_repository(self, repository: str, team: str = "") -> people.NewGrant:
        query = urlencode({"repository": repository, "team": team})
        return self._delete(f"{place('repositories')}?{query}", people.NewGrant)

    def me(self) -> people.MeEntry:
        return self._get(place("me"), people.MeEntry)

    def change_me(self, wish: people.MeChange) -> people.MeEntry:
        """Password and e-mail address take the present password along."""
        return self._send("PATCH", place("me"), wish, people.MeEntry)

    def tokens(self) -> people.TokenList:
        return self._get(place("tokens"), people.TokenList)

    def make_token(self, wish: people.NewToken) -> people.MadeToken:
        """Takes a transport with name and password: no token makes another."""
        return self._post(place("tokens"), wish, people.MadeToken)

    def revoke_token(self, token_id: str) -> people.TokenEntry:
        return self._delete(place("tokens", token_id), people.TokenEntry)
