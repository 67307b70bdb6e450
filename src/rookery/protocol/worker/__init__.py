"""The nine endpoints that workers call: requests, answers, and what both carry."""
