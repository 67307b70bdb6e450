"""Engines' sources: git, GitHub, mirrors, archives, and the repositories that the server's
credentials may open."""
