"""From many files to a tree of parts: what belongs together, what comes first, what may collide."""
