"""Requests that people send to a run: pause, resume, stop, answer, merge."""
