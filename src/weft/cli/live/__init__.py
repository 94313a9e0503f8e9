"""The parts of what is seen of a run while it runs."""
