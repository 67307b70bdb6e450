"""Who plays what next: eligibility, order, the index that finds it fast, task sizes, diagnosis."""
