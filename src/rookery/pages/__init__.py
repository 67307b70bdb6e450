"""The pages that people see in a browser: one module per page."""
