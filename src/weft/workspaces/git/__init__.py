"""Slices in git worktrees: made, proven, committed, merged and landed, by the program `git` alone."""
