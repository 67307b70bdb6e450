"""Accounts, tokens, login, teams."""
