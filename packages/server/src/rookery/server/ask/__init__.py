"""Retrieval and chat over the history of tests."""
