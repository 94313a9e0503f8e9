"""Pools, the requests that wait for them, and which request is served next."""
