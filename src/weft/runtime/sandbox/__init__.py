"""Sandboxes of steps: the view of the file system, from the plan and the machine, as a call of bubblewrap."""
