"""Other machines, as the coordinator of a run sees them."""
