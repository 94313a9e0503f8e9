"""Choose the rule and step that answer a request, and record the requests."""

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from threading import Barrier, Event, Lock
from typing import Any, NamedTuple

from weft.testing.models.conversation import Call, Reply, Request
from weft.testing.models.script import ScriptRule, ScriptStep
from weft.testing.models.tool_choice import choose_calls

_MARK = re.compile(r"\[\[scenario:([\w-]+)\]\]")
# A server that many tests share for hours must not keep every body.
_MOST_RECORDS = 5000
DROPPED, HUNG = "dropped", "hung"


class RecordedRequest(NamedTuple):
    """A request and its outcome."""

    api: str
    scenario: str
    tag: str
    step: int
    stream: bool
    model: str
    tools: tuple[str, ...]
    turns: tuple[str, ...]
    has_key: bool
    agent: str
    """The user agent of the program."""
    answered: int | str
    """The status, or `dropped` or `hung`."""
    text: str
    calls: tuple[str, ...]
    body: Mapping[str, Any]

    def summary(self) -> dict[str, Any]:
        """Without the body, which may be long."""
        return {name: value for name, value in self._asdict().items() if name != "body"}


class ChosenStep(NamedTuple):
    """The step that answers a request."""

    rule: ScriptRule
    number: int
    step: ScriptStep
    barrier: Barrier | None


class ScriptState:
    """The progress of a script. Safe for use by many threads."""

    def __init__(self, rules: Sequence[ScriptRule]) -> None:
        self._rules = tuple(rules)
        self._lock = Lock()
        self._played: Counter[tuple[int, str]] = Counter()
        self._barriers: dict[tuple[int, int, str], Barrier] = {}
        self._message_events = {step.after: Event() for rule in rules for step in rule.steps if step.after}
        self._is_over = False
        self._records: deque[RecordedRequest] = deque(maxlen=_MOST_RECORDS)
        self._replies = 0

    def part(self, name: str, tag: str, request: Request) -> ChosenStep | None:
        """Returns the step for a request; None if no rule of that name fits."""
        # Before a rule is chosen: a step with `after` waits for this message even if the message itself gets no
        # answer.
        self._note_messages(request.said)
        # A mark in the prompt outranks the address, so that slices that share an agent can behave differently.
        name = self._find_mark(request.said) or name or self._rules[0].name
        with self._lock:
            for number, rule in enumerate(self._rules):
                if rule.name == name and rule.fits(request.said, self._played[number, tag]):
                    self._played[number, tag] += 1
                    # The last step is repeated: agents send further requests, such as for a summary, after the
                    # answer that should end their turn.
                    step_number = min(request.step, len(rule.steps) - 1)
                    step = rule.steps[step_number]
                    return ChosenStep(
                        rule, step_number, step, self._barrier((number, step_number, tag), step.together)
                    )
        return None

    def _note_messages(self, messages: Sequence[str]) -> None:
        for text, event in self._message_events.items():
            if any(text in message for message in messages):
                event.set()

    def wait_for_message(self, text: str) -> bool:
        """Waits until a message contains the text; returns False if the server is closing."""
        self._message_events[text].wait()
        return not self._is_over

    def _find_mark(self, messages: Sequence[str]) -> str | None:
        """Returns the last scenario mark in the user's messages."""
        marks = [mark for text in messages for mark in _MARK.findall(text)]
        return marks[-1] if marks else None

    def _barrier(self, where: tuple[int, int, str], parties: int) -> Barrier | None:
        if not parties:
            return None
        barrier = self._barriers.setdefault(where, Barrier(parties))
        # The server is closing: a new barrier would never be released.
        if self._is_over:
            barrier.abort()
        return barrier

    def reply(self, step: ScriptStep, request: Request, model: str, body: Mapping[str, Any]) -> Reply:
        text, calls = choose_calls(step, request.tools)
        with self._lock:
            self._replies += 1
            # The ids of calls must differ between replies, since agents and `chat.reply_of` tell replies apart
            # by them.
            reply_id = f"{self._replies:06}"
        tool_calls = [
            Call(f"call_{reply_id}_{number}", tool, arguments)
            for number, (tool, arguments) in enumerate(calls)
        ]
        return Reply(
            id=reply_id, model=model, text=text, calls=tuple(tool_calls), usage=step.usage, body=body
        )

    def note(self, request: RecordedRequest) -> None:
        with self._lock:
            self._records.append(request)

    def requests(self) -> tuple[RecordedRequest, ...]:
        with self._lock:
            return tuple(self._records)

    def forget(self) -> None:
        """Resets the state to that of a new server."""
        with self._lock:
            self._records.clear()
            self._played.clear()
            self._barriers.clear()
            for event in self._message_events.values():
                event.clear()

    def release(self) -> None:
        """Releases all requests that wait for others."""
        with self._lock:
            # Set first and under the lock, so that a request that arrives now gets an aborted barrier and
            # cannot block `close`.
            self._is_over = True
            for barrier in self._barriers.values():
                barrier.abort()
            for event in self._message_events.values():
                event.set()
