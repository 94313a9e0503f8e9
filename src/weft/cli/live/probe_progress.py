"""`weft agents --probe`: probes agents, and shows on a terminal which answers are missing."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from weft.app.agents.overview import AgentStatus, PlanAgents
from weft.app.agents.probes import probe, to_probe
from weft.cli.output import ProgressLine, note, show_json, show_lines
from weft.cli.text.agents import probe_data, probe_lines

EXIT_SILENT = 1


def ask(
    plan_agents: PlanAgents,
    statuses: Sequence[AgentStatus],
    *,
    named: bool,
    model: str | None,
    timeout: float,
    as_json: bool,
) -> int:
    """Probes the agents, prints the answers and returns the exit code."""
    selection = to_probe(plan_agents, statuses, os.environ, named=named, model=model)
    names = [agent.name for agent in selection.agents]
    if names:
        # Before the calls, not after: the user can still interrupt before anything is spent.
        note(f"calling each agent once, which may cost a little: {', '.join(names)}")
    with _show_progress(names) as has_ended:
        replies = probe(
            plan_agents,
            selection.agents,
            os.environ,
            timeout=timeout,
            on_reply=lambda reply: has_ended(reply.agent.name),
        )
    if as_json:
        show_json(probe_data(replies, selection.missing))
    else:
        show_lines(probe_lines(replies, selection.missing))
    return 0 if not selection.missing and all(reply.has_answered for reply in replies) else EXIT_SILENT


class _ProbeProgress(ProgressLine):
    """A progress line that names the agents without an answer."""

    def show(self, names: Sequence[str]) -> None:
        self._draw(f"waiting for {', '.join(names)}")


@contextmanager
def _show_progress(names: Sequence[str]) -> Generator[Callable[[str], None]]:
    """Yields a function that takes an agent off the progress line; without a terminal it does nothing."""
    stream = sys.stderr
    if not names or stream is None or not stream.isatty():
        yield lambda _name: None
        return
    asking, unanswered = _ProbeProgress(stream), list(names)

    # One event loop in this thread receives all replies, so the list needs no lock.
    def has_ended(name: str) -> None:
        unanswered.remove(name)
        if unanswered:
            asking.show(unanswered)

    try:
        asking.show(unanswered)
        yield has_ended
    finally:
        asking.clear()
