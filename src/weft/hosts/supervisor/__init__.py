"""The supervisor: a program that starts and watches the processes of jobs, and outlives the coordinator.

Each run waits for its start. It therefore uses only the standard library, and of that only modules that load fast:
no pathlib, typing, dataclasses, subprocess or asyncio.
"""

BUSY = 75
"""The exit code if another supervisor is alive."""
