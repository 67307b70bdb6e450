"""The HTTP face: app, middleware, worker and user API, pages."""
