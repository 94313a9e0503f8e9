"""Observers of a run: the live view on a terminal, lines, JSON, and the log of a background run."""
