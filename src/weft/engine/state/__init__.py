"""What the engine remembers of a run."""
