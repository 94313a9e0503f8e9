"""`weft check`: what is known about a plan before it runs, and which slices can start now."""
