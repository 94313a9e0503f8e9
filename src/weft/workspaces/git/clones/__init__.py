"""Clones for sandboxed steps, and the one entrance for foreign work."""
