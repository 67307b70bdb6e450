"""Applications made with the frameworks people use; all answer the same paths."""
