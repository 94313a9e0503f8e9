"""Carriers: the ways to the machines of a host."""
