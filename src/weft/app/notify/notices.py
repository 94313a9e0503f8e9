"""What of a run somebody is told: an event becomes a notice, or nothing.

Each thing is told once. What is held is tried again whenever the run goes on, and is then held once more; a
question and an alert may come up again in another attempt. So what has been told is remembered until it is
settled, and whoever takes over a run first folds in what has happened before, without telling any of it.
"""

import shlex
from typing import Any

from msgspec import Struct

from weft.agents.shared.text import one_line
from weft.app.project.files import STDIN, InputSource
from weft.app.project.places import PLAN_NAMES
from weft.app.views.event_json import timestamp
from weft.app.views.landing import held_of
from weft.app.views.rows import BECAUSE_OF_OTHERS, HeldWork
from weft.engine.messages.events import Event, Recorded
from weft.plan.model import Plan
from weft.plan.prices import dollars

SHAPE = 1
"""Version of what is sent; a change that a program could notice raises it."""
_FILES = 3
"""So many are named."""
_TRIED_AGAIN = frozenset({"stopped", "lost", "infra"})
"""Ends after which what was held is still to be settled."""


class Notice(Struct, frozen=True, kw_only=True):
    event: str
    """Which of those that `notify` can name."""
    plan: str
    run: str
    subplan: str
    """Its path; empty for the whole plan."""
    title: str
    text: str
    """One line."""
    next: str
    """What to type; empty if nothing is to be done."""
    at: float

    def to_json(self) -> dict[str, Any]:
        return {
            "weft": SHAPE,
            "event": self.event,
            "plan": self.plan,
            "run": self.run,
            "subplan": self.subplan or None,
            "title": self.title,
            "text": self.text,
            "next": self.next or None,
            "at": timestamp(self.at),
        }


class _Said(Struct, frozen=True):
    """A notice without what all have in common."""

    event: str
    title: str
    text: str
    next: str = ""


class Notices:
    """Folds the events of one run."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        outline = plan.outline
        self._groups = {
            str(path) for path, leaf in zip(outline.paths, outline.leaves, strict=True) if not leaf
        }
        self._held: dict[tuple[str, str], str] = {}
        """Of what is held, the event it was told as."""
        self._asked: set[tuple[str, int]] = set()
        self._spent: set[tuple[str, str, int]] = set()

    def hear(self, one: Recorded) -> Notice | None:
        event = one.event
        said = self._said(event)
        if said is None:
            return None
        return Notice(
            event=said.event,
            plan=self._plan.id,
            run=one.run,
            subplan=event.subplan,
            title=said.title,
            text=one_line(said.text),
            next=said.next,
            at=one.at,
        )

    def _said(self, event: Event) -> _Said | None:
        match event.kind:
            case "run_finished":
                return self._run_finished(event)
            case "subplan_state" if event.outcome == "failed":
                return self._failed(event)
            case "step_finished" | "step_cancelled":
                return self._step_ended(event)
            case "ask":
                return self._asks(event)
            case "budget":
                return self._budget(event)
            case _:
                return None

    # Ends

    def _run_finished(self, event: Event) -> _Said | None:
        name = self._plan.id
        match event.outcome:
            case "completed":
                slices = sum(self._plan.outline.leaves)
                ended = "The one slice is" if slices == 1 else f"All {slices:,} slices are"
                cost = f"; {dollars(event.cost)} spent" if event.cost else ""
                return _Said("finished", f"{name} is completed", f"{ended} completed{cost}.")
            case "failed":
                why = event.data.get("message") or "; ".join(event.data.get("stuck", ()))
                return _Said("failed", f"{name} has failed", why or "Something failed.", self._run_command())
            case _:  # somebody has stopped it
                return None

    def _failed(self, event: Event) -> _Said | None:
        """Only what failed by itself: of a group, not because of something in it."""
        data = event.data
        because_of_others = data.get("reason") in BECAUSE_OF_OTHERS
        if because_of_others or (data.get("cause") and event.subplan in self._groups):
            return None
        why = data.get("message") or data.get("reason") or "Something failed."
        return _Said("failed", self._title(event, "has failed"), why, f"weft logs {event.subplan}")

    # What waits for people

    def _asks(self, event: Event) -> _Said | None:
        key = (event.subplan, event.data.get("firing", 0))
        if key in self._asked:
            return None
        self._asked.add(key)
        command = f"weft answer {event.subplan}:{event.step} yes"
        return _Said("gate", self._title(event, "asks"), event.data.get("question", ""), command)

    def _step_ended(self, event: Event) -> _Said | None:
        key = (event.subplan, event.step)
        if event.outcome != "held":
            if event.outcome not in _TRIED_AGAIN:
                self._held.pop(key, None)
            return None
        held = held_of(event)
        said = self._holds(event, held)
        if said is None or self._held.get(key) == said.event:
            return None
        self._held[key] = said.event
        return said

    def _holds(self, event: Event, held: HeldWork) -> _Said | None:
        """None if only others have to land first: of those somebody is told."""
        if held.waits_for and not held.asks:
            return None
        command = f"weft merge {' '.join((*held.waits_for, event.subplan))}"
        why = held.message.partition("\n")[0]
        if held.asks:
            return _Said("gate", self._title(event, "waits to land"), why.partition("; type:")[0], command)
        is_so = "is in conflict" if held.conflict else "is held"
        return _Said("conflict", self._title(event, is_so), why + _named(held), command)

    # Money

    def _budget(self, event: Event) -> _Said | None:
        if event.outcome == "reset":  # by the person who types it
            self._spent.clear()
            return None
        percent, unit = int(event.data.get("percent") or 0), str(event.data.get("unit", "usd"))
        key = (event.subplan, unit, percent)
        if key in self._spent:
            return None
        self._spent.add(key)
        spent, ceiling = event.data.get("spent") or 0, event.data.get("ceiling") or 0
        text = f"{_amount(spent, unit)} of {_amount(ceiling, unit)} are spent"
        if event.outcome == "reached":
            return _Said(
                "budget", self._title(event, "has used up its budget"), f"{text}; nothing new starts."
            )
        return _Said("budget", self._title(event, f"has spent {percent} % of its budget"), f"{text}.")

    # Words

    def _title(self, event: Event, what: str) -> str:
        return f"{self._plan.id}: {event.subplan} {what}" if event.subplan else f"{self._plan.id} {what}"

    def _run_command(self) -> str:
        file = self._plan.document.file
        if file in PLAN_NAMES:
            return "weft run"
        return f"weft run {STDIN if file == InputSource(name=STDIN).shown else shlex.quote(file)}"


def _named(held: HeldWork) -> str:
    files = [file for file in held.files if file not in held.message.partition("\n")[0]]
    if not files:
        return ""
    more = f" and {len(files) - _FILES:,} more" if len(files) > _FILES else ""
    return f" ({', '.join(files[:_FILES])}{more})"


def _amount(amount: int, unit: str) -> str:
    return f"{amount:,} tokens" if unit == "tokens" else dollars(amount)
