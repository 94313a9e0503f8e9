"""Merges of slices into groups: integration, conflicts and their resolution."""
