"""`weft run`: set up a run, keep it going, and merge what it holds."""
