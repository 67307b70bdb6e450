"""Engines' sources: git, GitHub, mirrors, archives, and who may use the server's credentials."""
