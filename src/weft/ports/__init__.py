"""What the runtime needs from outside, as protocols. All implementations of a port pass one contract suite."""
