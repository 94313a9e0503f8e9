"""The supervisor: a program of its own that starts the processes of jobs, watches them, and outlives who asked.

Each run waits for its start. So it needs the standard library only, and of that only what loads fast: no pathlib,
no typing, no dataclasses, no subprocess, no asyncio.
"""

BUSY = 75
"""Exit code: another one is alive."""
