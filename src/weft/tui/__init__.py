"""`weft top`: a run in the terminal, to look at and to steer."""
