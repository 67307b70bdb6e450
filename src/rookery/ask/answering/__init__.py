"""Answers from passages: without a model, or by one behind an HTTP endpoint."""
