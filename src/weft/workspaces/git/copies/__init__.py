"""Copies of worktrees on other machines."""
