"""The nine endpoints of workers, called in this very process."""
