"""The coordinator's side of other machines: connections, calls, jobs, output."""
