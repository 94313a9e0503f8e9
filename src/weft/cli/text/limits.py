"""Output of `weft resume --limits`."""

from weft.app.control.usage_limits import EndedLimits, end_limits
from weft.app.record.journal import open_book
from weft.cli.output import note, show_json, show_lines
from weft.cli.plan_options import directory
from weft.terms import FINISHED


def end_usage_limits(*, as_json: bool) -> None:
    with open_book(directory()) as recorded_run:
        ended = end_limits(recorded_run)
    if as_json:
        show_json(
            {
                "run": ended.run,
                "agents": list(ended.agents),
                "changed": ended.changed,
                "alive": ended.alive,
                "state": ended.state,
            }
        )
        return
    show_lines([_line(ended)])
    if ended.agents and not ended.alive:
        note(f"no coordinator works on it now; to resume it, type: {ended.start_command}")


def _line(ended: EndedLimits) -> str:
    agents = " and ".join(ended.agents)
    if ended.state in FINISHED:
        return f"run {ended.run} is {ended.state}; there is no usage limit to end"
    if not agents:
        return f"no agent of run {ended.run} has a usage limit"
    if ended.alive:
        return f"the usage limit of {agents} is ended; what waited for it continues"
    return f"the usage limit of {agents} ends when run {ended.run} continues"
