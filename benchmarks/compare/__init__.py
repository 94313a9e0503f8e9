"""Ours beside other tools, in one run: ratios, each with the bar it has to pass."""
