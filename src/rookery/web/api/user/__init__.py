"""The eleven endpoints that scripts of fishtest read (contract 6); no one needs an account."""
