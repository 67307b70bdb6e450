"""The user API: what scripts of the fishtest community read, without authentication."""
