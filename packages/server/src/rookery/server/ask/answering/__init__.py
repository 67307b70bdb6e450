"""Answers from passages: without a model, or by a model behind an HTTP endpoint."""
