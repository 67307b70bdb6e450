"""The nine calls of workers: read, carried out by the farm, answered once committed."""
