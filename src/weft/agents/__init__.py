"""Agents: one module for each kind, listed in `adapters`."""
