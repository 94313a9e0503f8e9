"""The commands: one module each, with the name of the command."""
