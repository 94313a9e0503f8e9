"""Which step of which rule answers a request; and what was asked, on record."""

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from threading import Barrier, Event, Lock
from typing import Any, NamedTuple

from weft.testing.models.conversation import Call, Reply, Request
from weft.testing.models.script import Rule, Step
from weft.testing.models.tool_choice import chosen

_MARK = re.compile(r"\[\[scenario:([\w-]+)\]\]")
_MOST_RECORDS = 5000
DROPPED, HUNG = "dropped", "hung"


class Asked(NamedTuple):
    """One request, and what became of it."""

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
    """What the program calls itself."""
    answered: int | str
    """The status, or `dropped` or `hung`."""
    text: str
    calls: tuple[str, ...]
    body: Mapping[str, Any]

    def summary(self) -> dict[str, Any]:
        """Without the body, which may be long."""
        return {name: value for name, value in self._asdict().items() if name != "body"}


class Part(NamedTuple):
    """What is to be played."""

    rule: Rule
    number: int
    step: Step
    barrier: Barrier | None


class Stage:
    """Used by many threads at once."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        self._lock = Lock()
        self._played: Counter[tuple[int, str]] = Counter()
        self._barriers: dict[tuple[int, int, str], Barrier] = {}
        self._heard = {step.after: Event() for rule in rules for step in rule.steps if step.after}
        self._is_over = False
        self._records: deque[Asked] = deque(maxlen=_MOST_RECORDS)
        self._replies = 0

    def part(self, name: str, tag: str, request: Request) -> Part | None:
        """None: there is no such rule, or none of that name fits."""
        self._hear(request.said)
        name = self._named_in(request.said) or name or self._rules[0].name
        with self._lock:
            for number, rule in enumerate(self._rules):
                if rule.name == name and rule.fits(request.said, self._played[number, tag]):
                    self._played[number, tag] += 1
                    place = min(request.step, len(rule.steps) - 1)
                    step = rule.steps[place]
                    return Part(rule, place, step, self._barrier((number, place, tag), step.together))
        return None

    def _hear(self, said: Sequence[str]) -> None:
        for text, event in self._heard.items():
            if any(text in one for one in said):
                event.set()

    def hears(self, text: str) -> bool:
        """Waits until somebody has said it; False if nobody will any more."""
        self._heard[text].wait()
        return not self._is_over

    def _named_in(self, said: Sequence[str]) -> str | None:
        """The newest mark in what the user says."""
        marks = [mark for text in said for mark in _MARK.findall(text)]
        return marks[-1] if marks else None

    def _barrier(self, where: tuple[int, int, str], parties: int) -> Barrier | None:
        if not parties:
            return None
        barrier = self._barriers.setdefault(where, Barrier(parties))
        if self._is_over:
            barrier.abort()
        return barrier

    def reply(self, step: Step, request: Request, model: str, body: Mapping[str, Any]) -> Reply:
        text, calls = chosen(step, request.tools)
        with self._lock:
            self._replies += 1
            name = f"{self._replies:06}"
        made = [Call(f"call_{name}_{number}", tool, given) for number, (tool, given) in enumerate(calls)]
        return Reply(id=name, model=model, text=text, calls=tuple(made), usage=step.usage, body=body)

    def note(self, asked: Asked) -> None:
        with self._lock:
            self._records.append(asked)

    def asked(self) -> tuple[Asked, ...]:
        with self._lock:
            return tuple(self._records)

    def forget(self) -> None:
        """As if nothing had been asked yet."""
        with self._lock:
            self._records.clear()
            self._played.clear()
            self._barriers.clear()
            for event in self._heard.values():
                event.clear()

    def release(self) -> None:
        """Whoever waits for others waits no longer."""
        with self._lock:
            self._is_over = True
            for barrier in self._barriers.values():
                barrier.abort()
            for event in self._heard.values():
                event.set()
