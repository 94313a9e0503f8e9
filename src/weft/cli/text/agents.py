"""How `weft agents` tells which agents there are, and what they answered."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from weft.agents.shared.text import last_line
from weft.app.agents.overview import AgentStatus, PlanAgents, abilities, tells
from weft.app.agents.question import AgentReply
from weft.cli.terminal import Row
from weft.cli.wording.words import span
from weft.plan.prices import dollars

_HEAD = ("agent", "version", "where", "key or login", "can", "tells")
_PARTS_OF_WEFT = frozenset({"builtin", "scripted"})


# --- what there is ---


def overview_lines(found: PlanAgents, seen: Sequence[AgentStatus]) -> Iterator[str]:
    there = [one for one in seen if one.is_installed and not one.needs_more]
    if there:
        yield from _table([_HEAD, *map(_row, there)])
    yield from _list("not installed:", ((one, one.install) for one in seen if not one.is_installed))
    unseen = (one for one in there if one.signs == ())
    yield from _list("no key or login was seen:", ((one, one.sign_in) for one in unseen))
    needing = (one for one in seen if one.needs_more)
    yield from _list("for agents of a plan:", ((one, _more(one)) for one in needing))
    if found.shown and any(one.is_of_plan for one in seen):
        yield f"agents of {found.shown} come first, each with what it uses in brackets"


def _row(one: AgentStatus) -> tuple[str, ...]:
    keys = "its own matter" if one.signs is None else ", ".join(one.signs) or "none seen"
    return (
        _name(one),
        one.version or ("?" if one.place else ""),
        one.place or one.program or ("part of Weft" if one.use in _PARTS_OF_WEFT else "its command"),
        keys,
        ", ".join(abilities(one)),
        ", ".join(tells(one)),
    )


def _name(one: AgentStatus) -> str:
    """With what it uses, and which model, where a plan says so."""
    if not one.is_of_plan:
        return one.use
    uses = one.use if one.agent.model is None else f"{one.use}, {one.agent.model}"
    return f"{one.agent.name} ({uses})"


def _more(one: AgentStatus) -> str:
    return "needs `script`" if one.use == "scripted" else "needs `command`"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        yield Row(text, hang=4)


def _list(title: str, rows: Iterable[tuple[AgentStatus, str]]) -> Iterator[str]:
    told = [("", _name(one), said) for one, said in rows]
    if told:
        yield title
        yield from map(str, _table(told))  # a command that is folded cannot be copied


def overview_data(found: PlanAgents, seen: Sequence[AgentStatus]) -> dict[str, object]:
    return {"plan": found.shown or None, "agents": [_seen_data(one) for one in seen]}


def _seen_data(one: AgentStatus) -> dict[str, object]:
    can = set(abilities(one))
    return {
        "name": one.agent.name,
        "use": one.use,
        "model": one.agent.model,
        "of_plan": one.is_of_plan,
        "program": one.program,
        "installed": one.is_installed,
        "where": one.place,
        "version": one.version,
        "install": None if one.is_installed else one.install,
        "keys": None if one.signs is None else list(one.signs),
        "sign_in": one.sign_in or None,
        "resumes": "resume" in can,
        "forks": "fork" in can,
        "reads_only": "read-only" in can,
        "tells": list(tells(one)),
    }


# --- what they answered ---


def probed_lines(told: Sequence[AgentReply], missing: Sequence[AgentStatus]) -> Iterator[str]:
    yield from _table([*map(_answer, told), *((_name(one), "no answer", _not_there(one)) for one in missing)])


def _answer(one: AgentReply) -> tuple[str, ...]:
    if one.has_answered:
        return one.agent.name, "answered", ", ".join(_spent(one))
    return one.agent.name, "no answer", "; ".join(filter(None, (one.message, _limited(one))))


def _spent(one: AgentReply) -> Iterator[str]:
    yield f"in {span(one.seconds)}"
    yield "tokens unknown" if one.tokens is None else f"{one.tokens:,} tokens"
    yield "cost unknown" if one.cost is None else dollars(one.cost)


def _limited(one: AgentReply) -> str:
    return "" if one.until is None else f"limited until {_time(one.until)}"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _not_there(one: AgentStatus) -> str:
    return f"{one.program} is not installed; type: {one.install}"


def probed_data(told: Sequence[AgentReply], missing: Sequence[AgentStatus]) -> dict[str, object]:
    absent = [{"name": one.agent.name, "answered": False, "message": _not_there(one)} for one in missing]
    return {"agents": [*map(_probed_data, told), *absent]}


def _probed_data(one: AgentReply) -> dict[str, object]:
    return {
        "name": one.agent.name,
        "use": one.agent.use,
        "model": one.agent.model,
        "answered": one.has_answered,
        "outcome": None if one.how is None else str(one.how),
        "message": one.message or None,
        "answer": last_line(one.answer) or None,
        "seconds": round(one.seconds, 3),
        "tokens": one.tokens,
        "cost_usd": None if one.cost is None else one.cost / 1_000_000,
        "until": one.until,
    }
