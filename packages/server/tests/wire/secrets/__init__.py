"""Secrets of a private engine are planted, and every address is searched for them."""
