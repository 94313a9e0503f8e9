"""The far program, which runs on other machines. It needs Python ≥ 3.11, and git for workspaces.

Only `workspaces` and what it imports may load slow modules such as `pathlib` and `subprocess`: a machine that only
runs commands never needs them.
"""
