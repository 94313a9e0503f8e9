"""A project on disk: its files, its plan, its configuration, and what the user has approved."""
