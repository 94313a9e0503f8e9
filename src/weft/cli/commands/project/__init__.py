"""Commands that set up a project and keep it in order."""
