"""Output of `weft agents`: the table of agents, and the answers to `--probe`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from weft.agents.shared.text import last_line
from weft.app.agents.overview import AgentStatus, PlanAgents, abilities, reported_spending
from weft.app.agents.question import AgentReply
from weft.app.views.wording.words import span
from weft.cli.terminal import Row
from weft.plan.prices import dollars
from weft.terms import MICRO

_HEAD = ("agent", "version", "where", "key or login", "can", "tells")


# --- the agents ---


def overview_lines(plan_agents: PlanAgents, statuses: Sequence[AgentStatus]) -> Iterator[str]:
    usable = [status for status in statuses if status.is_installed and not status.needs_more]
    if usable:
        yield from _table([_HEAD, *map(_row, usable)])
    missing = (status for status in statuses if not status.is_installed)
    yield from _list("not installed:", ((status, status.install) for status in missing))
    signed_out = (status for status in usable if status.signs == ())
    yield from _list("no key or login was seen:", ((status, status.sign_in) for status in signed_out))
    incomplete = (status for status in statuses if status.needs_more)
    yield from _list("for agents of a plan:", ((status, _missing_setting(status)) for status in incomplete))
    if plan_agents.shown and any(status.is_of_plan for status in statuses):
        yield f"agents of {plan_agents.shown} come first, each with what it uses in brackets"


def _row(status: AgentStatus) -> tuple[str, ...]:
    keys = "its own matter" if status.signs is None else ", ".join(status.signs) or "none seen"
    return (
        _name(status),
        status.version or ("?" if status.place else ""),
        status.place or status.program or ("its command" if status.requires == "command" else "part of Weft"),
        keys,
        ", ".join(abilities(status)),
        ", ".join(reported_spending(status)),
    )


def _name(status: AgentStatus) -> str:
    """Returns the agent's name; for an agent of a plan, with its adapter and model."""
    if not status.is_of_plan:
        return status.use
    uses = status.use if status.agent.model is None else f"{status.use}, {status.agent.model}"
    return f"{status.agent.name} ({uses})"


def _missing_setting(status: AgentStatus) -> str:
    return f"needs `{status.requires}`"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        yield Row(text, hang=4)


def _list(title: str, rows: Iterable[tuple[AgentStatus, str]]) -> Iterator[str]:
    indented = [("", _name(status), text) for status, text in rows]
    if indented:
        yield title
        yield from map(str, _table(indented))  # plain strings are not folded, so that commands can be copied


def overview_data(plan_agents: PlanAgents, statuses: Sequence[AgentStatus]) -> dict[str, object]:
    return {"plan": plan_agents.shown or None, "agents": [_status_data(status) for status in statuses]}


def _status_data(status: AgentStatus) -> dict[str, object]:
    can = set(abilities(status))
    return {
        "name": status.agent.name,
        "use": status.use,
        "model": status.agent.model,
        "of_plan": status.is_of_plan,
        "program": status.program,
        "installed": status.is_installed,
        "where": status.place,
        "version": status.version,
        "install": None if status.is_installed else status.install,
        "keys": None if status.signs is None else list(status.signs),
        "sign_in": status.sign_in or None,
        "resumes": "resume" in can,
        "forks": "fork" in can,
        "reads_only": "read-only" in can,
        "tells": list(reported_spending(status)),
    }


# --- the answers to a probe ---


def probe_lines(replies: Sequence[AgentReply], missing: Sequence[AgentStatus]) -> Iterator[str]:
    yield from _table(
        [
            *map(_answer, replies),
            *((_name(status), "no answer", _not_installed(status)) for status in missing),
        ]
    )


def _answer(reply: AgentReply) -> tuple[str, ...]:
    if reply.has_answered:
        return reply.agent.name, "answered", ", ".join(_spent(reply))
    return reply.agent.name, "no answer", "; ".join(filter(None, (reply.message, _limited(reply))))


def _spent(reply: AgentReply) -> Iterator[str]:
    yield f"in {span(reply.seconds)}"
    yield "tokens unknown" if reply.tokens is None else f"{reply.tokens:,} tokens"
    yield "cost unknown" if reply.cost is None else dollars(reply.cost)


def _limited(reply: AgentReply) -> str:
    return "" if reply.until is None else f"limited until {_time(reply.until)}"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _not_installed(status: AgentStatus) -> str:
    return f"{status.program} is not installed; type: {status.install}"


def probe_data(replies: Sequence[AgentReply], missing: Sequence[AgentStatus]) -> dict[str, object]:
    absent = [
        {"name": status.agent.name, "answered": False, "message": _not_installed(status)}
        for status in missing
    ]
    return {"agents": [*map(_probed_data, replies), *absent]}


def _probed_data(reply: AgentReply) -> dict[str, object]:
    return {
        "name": reply.agent.name,
        "use": reply.agent.use,
        "model": reply.agent.model,
        "answered": reply.has_answered,
        "outcome": None if reply.how is None else str(reply.how),
        "message": reply.message or None,
        "answer": last_line(reply.answer) or None,
        "seconds": round(reply.seconds, 3),
        "tokens": reply.tokens,
        "cost_usd": None if reply.cost is None else reply.cost / MICRO,
        "until": reply.until,
    }
