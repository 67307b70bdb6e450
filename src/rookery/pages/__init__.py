"""What people see in a browser: a module per page."""
