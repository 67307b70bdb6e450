"""How a worker comes to a machine from its own server, and is brought up to date by it."""
