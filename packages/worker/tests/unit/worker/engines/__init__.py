"""How a worker comes by its engines."""
