"""Keeps engines and builds apart from the rest of a volunteer's machine."""
