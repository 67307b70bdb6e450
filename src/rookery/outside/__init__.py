"""What Rookery asks of the world outside: git servers and GitHub. All of it blocks.

Addresses come from people who submit runs, so that each is looked at before anybody connects.
"""
