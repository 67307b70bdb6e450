"""One module for each page; none knows another."""
