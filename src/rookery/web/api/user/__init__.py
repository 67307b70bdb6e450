"""The eleven endpoints that scripts of fishtest read; no one needs an account."""
