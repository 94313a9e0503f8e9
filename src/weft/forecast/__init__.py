"""Forecasts: many runs of a plan in virtual time, each with its own luck, and what follows from them.

The engine of a run is also the engine here. `rehearsal` prepares the plan, `estimates` says how long each piece of
work takes, `virtual_run` plays one replication, and `summary` and `advice` read the outcomes.
"""
