"""Our worker and its match runner."""
