"""What Rookery decides: pure values and rules, standard library alone."""
