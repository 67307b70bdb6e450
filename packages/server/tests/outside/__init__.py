"""The world outside: real git, and a stand-in for GitHub in a process of its own."""
