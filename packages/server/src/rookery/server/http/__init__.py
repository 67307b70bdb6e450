"""The HTTP face: the site, guards, the APIs of workers and people, what carries HTTP, metrics."""
