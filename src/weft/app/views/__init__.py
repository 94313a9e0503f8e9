"""A run as people see it, folded from its events."""
