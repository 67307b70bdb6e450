"""The command line: a module per command or group of commands, and what they share."""
