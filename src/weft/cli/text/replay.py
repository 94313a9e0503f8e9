"""What `weft replay` prints."""

import json
from collections.abc import Iterator
from typing import cast

from weft.app.inspect.replay import Plain, ReplayDifference, ReplayResult

LONGEST_VALUE = 200
_ABOUT = ("kind", "subplan", "step")
"""Where these differ, they are different things, and to compare the rest says nothing."""


def replay_lines(found: ReplayResult) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {state}" for state, count in found.counts.items() if count)
    said = f"run {found.run}: {found.facts:,} facts give {found.events:,} events; {found.state}; {counts}"
    if found.difference is None:
        yield said
        yield "every event of the journal comes out again"
    else:
        yield f"{said}; then the journal and the engine part"
        yield from _difference(found.difference)


def _difference(found: ReplayDifference) -> Iterator[str]:
    if found.recorded is None:
        assert found.derived is not None
        yield f"after event {found.seq:,} the journal lacks what follows from it: {_event(found.derived)}"
    elif found.refusal:
        yield f"event {found.seq:,} cannot have happened here: {_event(found.recorded)}"
        yield f"  the engine says: {_cut(found.refusal)}"
    elif found.derived is None:
        yield f"event {found.seq:,} does not follow from what was before it: {_event(found.recorded)}"
    elif any(found.recorded.get(name) != found.derived.get(name) for name in _ABOUT):
        yield f"event {found.seq:,} is {_event(found.recorded)}, and what follows is {_event(found.derived)}"
    else:
        yield f"event {found.seq:,}: {_event(found.recorded)}"
        yield from _fields("", found.recorded, found.derived)


def _fields(prefix: str, recorded: Plain, derived: Plain) -> Iterator[str]:
    for name in dict.fromkeys([*recorded, *derived]):
        one, other = recorded.get(name), derived.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _fields(f"{prefix}{name}.", cast("Plain", one), cast("Plain", other))
        elif one != other:
            both = _shown(recorded.get(name)), _shown(derived.get(name))
            yield f"  {prefix}{name}: the journal has {both[0]}, what follows is {both[1]}"


def _event(event: Plain) -> str:
    """As `step_finished of a:work, failed`."""
    subplan, step = event.get("subplan", ""), event.get("step", "")
    about = f" of {subplan}:{step}" if step else f" of {subplan}" if subplan else ""
    outcome = f", {event['outcome']}" if event.get("outcome") else ""
    return f"{event.get('kind')}{about}{outcome}"


def _shown(value: object) -> str:
    return "nothing" if value is None else _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
