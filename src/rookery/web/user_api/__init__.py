"""The user endpoints of the fishtest server."""
