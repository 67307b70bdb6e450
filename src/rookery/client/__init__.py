"""The API client that the command line and scripts use."""
