"""The nine calls of workers: translate between the wire format and the rules."""
