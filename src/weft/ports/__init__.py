"""What the runtime needs of the world, as protocols; each has one contract suite that all its makers pass."""
