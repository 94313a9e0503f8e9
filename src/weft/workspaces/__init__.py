"""Where slices work: a directory of their own, or the plan's."""
