"""Output of `weft replay`."""

import json
from collections.abc import Iterator
from typing import cast

from weft.app.inspect.replay import Plain, ReplayDifference, ReplayResult

LONGEST_VALUE = 200
_ABOUT = ("kind", "subplan", "step")
"""Fields that identify an event. Where they differ, comparing the other fields is pointless."""


def replay_lines(result: ReplayResult) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {state}" for state, count in result.counts.items() if count)
    summary = (
        f"run {result.run}: {result.facts:,} facts give {result.events:,} events; {result.state}; {counts}"
    )
    if result.difference is None:
        yield summary
        yield "every event of the journal comes out again"
    else:
        yield f"{summary}; then the journal and the engine differ"
        yield from _difference(result.difference)


def _difference(difference: ReplayDifference) -> Iterator[str]:
    seq, recorded, derived = difference.seq, difference.recorded, difference.derived
    if recorded is None:
        assert derived is not None
        yield f"after event {seq:,} the journal lacks what follows from it: {_event(derived)}"
    elif difference.refusal:
        yield f"event {seq:,} cannot have happened here: {_event(recorded)}"
        yield f"  the engine says: {_cut(difference.refusal)}"
    elif derived is None:
        yield f"event {seq:,} does not follow from the events before it: {_event(recorded)}"
    elif any(recorded.get(name) != derived.get(name) for name in _ABOUT):
        # Events of different kinds or subplans share no fields worth comparing.
        yield f"event {seq:,} is {_event(recorded)}, and what follows is {_event(derived)}"
    else:
        yield f"event {seq:,}: {_event(recorded)}"
        yield from _fields("", recorded, derived)


def _fields(prefix: str, recorded: Plain, derived: Plain) -> Iterator[str]:
    for name in dict.fromkeys([*recorded, *derived]):
        recorded_value, derived_value = recorded.get(name), derived.get(name)
        if isinstance(recorded_value, dict) and isinstance(derived_value, dict):
            yield from _fields(
                f"{prefix}{name}.", cast("Plain", recorded_value), cast("Plain", derived_value)
            )
        elif recorded_value != derived_value:
            both = _shown(recorded.get(name)), _shown(derived.get(name))
            yield f"  {prefix}{name}: the journal has {both[0]}, what follows is {both[1]}"


def _event(event: Plain) -> str:
    """Returns a phrase such as `step_finished of a:work, failed`."""
    subplan, step = event.get("subplan", ""), event.get("step", "")
    about = f" of {subplan}:{step}" if step else f" of {subplan}" if subplan else ""
    outcome = f", {event['outcome']}" if event.get("outcome") else ""
    return f"{event.get('kind')}{about}{outcome}"


def _shown(value: object) -> str:
    return "nothing" if value is None else _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
