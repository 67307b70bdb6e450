"""Isolates engines and builds from the rest of a volunteer's machine."""
