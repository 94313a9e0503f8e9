"""Runs of a net as sentences about the plan."""

from collections.abc import Iterable, Iterator

from weft.plan.compile.parts import HOST, Act, Role, Shape

_ENDINGS = {
    "done": "is done",
    "failed": "fails",
    "cancelled": "is cancelled",
    "lost": "is lost",
    "infra": "cannot be started",
    "aborted": "ends the pipeline",
    "asked": "asks a person",
    "conflict": "meets a conflict",
    "held": "is held",
}

_MOVES = {
    Role.SKIP: "is skipped",
    Role.WAIT: "has what it waited for",
    Role.LAUNCH: "is launched",
    Role.ENTER: "begins",
    Role.LEAVE: "waits for a person and returns its slot",
    Role.RETURN: "has its slot again",
    Role.STOP: "is not started",
}
"""What happens to a step, apart from running."""

_OWN = {
    Role.BEGIN: "its workspace",
    Role.MERGE: "its merge",
    Role.RESOLVE: "the agent that resolves its conflict",
    Role.LAND: "its landing",
    Role.RUN: "its check",
}
"""What Weft does for a subplan, as the subject of a sentence."""

_OWN_MOVES = {
    Role.STOP: "it is not started",
    Role.CLOSE: "its steps have ended",
    Role.DROP: "it is not merged",
}

_POOLS = {
    "turn": "the turn of its serial group",
    "branch": "the branch it is merged into",
    "async steps": "max_concurrency",
}


def in_words(shape: Shape, path: str, trace: Iterable[str]) -> Iterator[str]:
    """Yields each firing as a sentence; `trace` names transitions of the unfolded net of the shape."""
    acts: dict[str, Act] = dict(zip(map(str, shape.net.transition_ids), shape.acts, strict=True))
    for fired in trace:
        name, part = _split(fired, acts)
        yield f"{path}: {_sentence(acts[name], part)}"


def _split(fired: str, acts: dict[str, Act]) -> tuple[str, str]:
    """Returns the transition, and the suffix that unfolding has added to its name."""
    if fired in acts:
        return fired, ""
    # Unfolding appends `.start` or an outcome; ids may contain dots themselves.
    name, _, part = fired.rpartition(".")
    return name, part


def subject(act: Act) -> str:
    """Returns the actor, for the start of a sentence."""
    if not act.step:
        return _OWN.get(act.role, "it")
    return f"step {act.step}" if act.attempt <= 1 else f"step {act.step}, attempt {act.attempt},"


def _sentence(act: Act, part: str) -> str:
    moves = _MOVES if act.step else _OWN_MOVES
    if act.role in moves:
        return f"{subject(act)} {moves[act.role]}" if act.step else moves[act.role]
    return f"{subject(act)} {'starts' if part == 'start' else ending_words(part)}"


def ending_words(outcome: str) -> str:
    return _ENDINGS.get(outcome, "is done")


def pool_in_words(place: str) -> str:
    """Returns what a pool stands for; `pool:NAME` and `agent:NAME` are pools of the plan."""
    kind, _, name = place.partition(":")
    if kind == "agent":
        return f"the pool of {name}"
    if kind == "host" or kind.startswith(HOST):
        return f"the slots of {name or 'its host'}"
    return _POOLS.get(place, f"the pool {name or place}")
