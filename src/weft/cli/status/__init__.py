"""How `weft status` prints the state of a run."""
