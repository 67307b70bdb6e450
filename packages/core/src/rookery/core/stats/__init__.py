"""SPRT, Elo, residuals, outlook and SPSA: pure arithmetic."""
