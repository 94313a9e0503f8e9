"""The life of a slice in git: where it starts, what its steps change, how it continues."""
