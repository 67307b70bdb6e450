"""What every request passes through, as pure ASGI: one module for each."""
