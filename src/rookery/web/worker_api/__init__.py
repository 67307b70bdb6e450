"""The nine calls of workers: the wire translated to the rules and back."""
