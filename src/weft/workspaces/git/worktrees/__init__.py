"""The worktree of a slice: created, recorded, reset and removed."""
