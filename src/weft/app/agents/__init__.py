"""The agents that a project can use: what is installed, whether it answers, and how to ask it something."""
