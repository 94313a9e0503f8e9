"""`weft agents --probe`: asks, and shows on a terminal for whom it waits."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from weft.app.agents.overview import AgentStatus, PlanAgents
from weft.app.agents.probes import probe, to_probe
from weft.cli.output import Progress, note, show_json, show_lines
from weft.cli.text.agents import probed_data, probed_lines

EXIT_SILENT = 1


def ask(
    found: PlanAgents,
    seen: Sequence[AgentStatus],
    *,
    named: bool,
    model: str | None,
    timeout: float,
    as_json: bool,
) -> int:
    asked = to_probe(found, seen, os.environ, named=named, model=model)
    names = [one.name for one in asked.agents]
    if names:
        note(f"asking for one word each, which may cost a little: {', '.join(names)}")
    with _watching(names) as has_ended:
        told = probe(
            found, asked.agents, os.environ, timeout=timeout, tell=lambda one: has_ended(one.agent.name)
        )
    if as_json:
        show_json(probed_data(told, asked.missing))
    else:
        show_lines(probed_lines(told, asked.missing))
    return 0 if not asked.missing and all(one.has_answered for one in told) else EXIT_SILENT


class _Asking(Progress):
    """Says for whom it waits."""

    def says(self, names: Sequence[str]) -> None:
        self._draw(f"waiting for {', '.join(names)}")


@contextmanager
def _watching(names: Sequence[str]) -> Generator[Callable[[str], None]]:
    """A line on a terminal that names those who have not answered yet; elsewhere nobody watches."""
    stream = sys.stderr
    if not names or stream is None or not stream.isatty():
        yield lambda _name: None
        return
    asking, left = _Asking(stream), list(names)

    def has_ended(name: str) -> None:
        left.remove(name)
        if left:
            asking.says(left)

    try:
        asking.says(left)
        yield has_ended
    finally:
        asking.clear()
