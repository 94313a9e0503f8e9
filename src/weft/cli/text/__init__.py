"""How results are printed for people."""
