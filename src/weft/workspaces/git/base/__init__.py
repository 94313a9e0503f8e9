"""Git itself: the program, refs, objects, indexes, merges in memory, and the registrations of worktrees."""
