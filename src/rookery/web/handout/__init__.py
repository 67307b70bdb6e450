"""What a server hands out to machines that want to work for it: its own wheel, and scripts."""
