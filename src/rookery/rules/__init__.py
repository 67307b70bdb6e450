"""What Rookery decides over the model: no I/O, no clock, no chance."""
