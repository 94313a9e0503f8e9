"""From links between files to a tree of groups."""
