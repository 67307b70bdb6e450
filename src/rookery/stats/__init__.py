"""SPRT, Elo, residuals, outlook and SPSA: arithmetic alone."""
