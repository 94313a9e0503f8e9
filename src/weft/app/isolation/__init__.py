"""Where slices work: the repository of a plan, sandboxes, and the checkouts that are watched."""
