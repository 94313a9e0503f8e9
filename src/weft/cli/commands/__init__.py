"""The commands: one module each, with the name of the command, in the folder of what the command is for."""
