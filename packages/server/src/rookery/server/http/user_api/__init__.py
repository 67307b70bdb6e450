"""The endpoints of fishtest's user API."""
