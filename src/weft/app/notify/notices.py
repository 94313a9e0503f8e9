"""Decide which events of a run become notices.

Each notice is sent once. A hold is retried whenever the run is resumed, and may then be held again; a question or
a budget alert may recur in another attempt. The fold therefore remembers what it has reported until it is settled,
and a coordinator that resumes a run first folds the earlier events without sending anything.
"""

import shlex
from typing import Any, assert_never

from msgspec import Struct

from weft.agents.shared.text import one_line
from weft.app.project.files import STDIN, InputSource
from weft.app.project.places import PLAN_NAMES
from weft.app.views.event_json import timestamp
from weft.app.views.holds import held_of
from weft.app.views.rows import BECAUSE_OF_OTHERS, HeldWork
from weft.engine.messages import events as kinds
from weft.engine.messages.events import AnyEvent, Recorded, RunEnd, StepEnd
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.plan.prices import dollars

SHAPE = 1
"""Version of the JSON; a change that a program could notice raises it."""
_FILES = 3
"""Number of files that a notice names."""
_TRIED_AGAIN = frozenset({"stopped", "lost", "infra"})
"""Outcomes of a retry that do not settle a hold."""


class Notice(Struct, frozen=True, kw_only=True):
    event: str
    """One of the events that `notify` can select."""
    plan: str
    run: str
    subplan: str
    """Its path; empty for the whole plan."""
    title: str
    text: str
    """One line."""
    next: str
    """The command to type; empty if there is nothing to do."""
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


class _Message(Struct, frozen=True):
    """The part of a notice that depends on the event."""

    event: str
    title: str
    text: str
    next: str = ""


class Notices:
    """The fold that turns the events of one run into notices."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        outline = plan.outline
        self._groups = {
            str(path) for path, leaf in zip(outline.paths, outline.leaves, strict=True) if not leaf
        }
        self._held: dict[tuple[str, str], str] = {}
        """For each hold, the kind of notice that was sent."""
        self._asked: set[tuple[str, int]] = set()
        self._spent: set[tuple[str, str, int]] = set()

    def notice_of(self, recorded: Recorded) -> Notice | None:
        event = recorded.event
        message = self._message_for(event)
        if message is None:
            return None
        return Notice(
            event=message.event,
            plan=self._plan.id,
            run=recorded.run,
            subplan=event.subplan,
            title=message.title,
            text=one_line(message.text),
            next=message.next,
            at=recorded.at,
        )

    def _message_for(self, event: AnyEvent) -> _Message | None:
        match event:
            case kinds.RunFinishedEvent():
                return self._run_finished(event)
            case kinds.SubplanStateEvent():
                return self._failure_message(event) if event.outcome is State.FAILED else None
            case kinds.StepFinishedEvent():
                return self._step_finished(event)
            case kinds.StepCancelledEvent():
                self._held.pop((event.subplan, event.step), None)
                return None
            case kinds.AskEvent():
                return self._asks(event)
            case kinds.BudgetEvent():
                return self._budget(event)
            case _:
                kinds.overlook(event)
                return None

    # Ends

    def _run_finished(self, event: kinds.RunFinishedEvent) -> _Message | None:
        name = self._plan.id
        match event.outcome:
            case RunEnd.COMPLETED:
                slices = sum(self._plan.outline.leaves)
                ended = "The one slice is" if slices == 1 else f"All {slices:,} slices are"
                cost = f"; {dollars(event.cost)} spent" if event.cost else ""
                return _Message("finished", f"{name} is completed", f"{ended} completed{cost}.")
            case RunEnd.FAILED:
                reason = event.message or "; ".join(event.stuck)
                return _Message(
                    "failed", f"{name} has failed", reason or "Something failed.", self._run_command()
                )
            case RunEnd.STOPPED:  # by the user
                return None
            case _:
                assert_never(event.outcome)

    def _failure_message(self, event: kinds.SubplanStateEvent) -> _Message | None:
        """Returns a message for a subplan that failed by itself; a group that failed by its contents has none."""
        because_of_others = event.reason in BECAUSE_OF_OTHERS
        # The subplan that caused it sends the notice; a failure deep in a plan would otherwise notify once per
        # level.
        if because_of_others or (event.cause and event.subplan in self._groups):
            return None
        reason = event.message or event.reason or "Something failed."
        return _Message("failed", self._title(event, "has failed"), reason, f"weft logs {event.subplan}")

    # What waits for people

    def _asks(self, event: kinds.AskEvent) -> _Message | None:
        key = (event.subplan, event.firing)
        if key in self._asked:
            return None
        self._asked.add(key)
        command = f"weft answer {event.subplan}:{event.step} yes"
        return _Message("gate", self._title(event, "asks"), event.question, command)

    def _step_finished(self, event: kinds.StepFinishedEvent) -> _Message | None:
        key = (event.subplan, event.step)
        if event.outcome is not StepEnd.HELD:
            if event.outcome not in _TRIED_AGAIN:
                self._held.pop(key, None)
            return None
        message = self._holds(event, held_of(event))
        # A hold can first wait for approval and then be in conflict; that is news, the same kind twice is not.
        if message is None or self._held.get(key) == message.event:
            return None
        self._held[key] = message.event
        return message

    def _holds(self, event: kinds.StepFinishedEvent, held: HeldWork) -> _Message | None:
        """Returns the message about a hold; None if it only waits for others, which have notices of their own."""
        if held.waits_for and not held.asks:
            return None
        command = f"weft merge {' '.join((*held.waits_for, event.subplan))}"
        reason = held.message.partition("\n")[0]
        if held.asks:
            return _Message(
                "gate", self._title(event, "waits to land"), reason.partition("; type:")[0], command
            )
        predicate = "is in conflict" if held.conflict else "is held"
        return _Message("conflict", self._title(event, predicate), reason + _file_names(held), command)

    # Money

    def _budget(self, event: kinds.BudgetEvent) -> _Message | None:
        if event.outcome == "reset":  # the user who typed the command needs no notice
            self._spent.clear()
            return None
        percent, unit = event.percent or 0, event.unit or "usd"
        key = (event.subplan, unit, percent)
        if key in self._spent:
            return None
        self._spent.add(key)
        text = f"{_amount(event.spent or 0, unit)} of {_amount(event.ceiling or 0, unit)} are spent"
        if event.outcome == "reached":
            return _Message(
                "budget", self._title(event, "has used up its budget"), f"{text}; nothing new starts."
            )
        return _Message("budget", self._title(event, f"has spent {percent} % of its budget"), f"{text}.")

    # Words

    def _title(self, event: AnyEvent, predicate: str) -> str:
        return (
            f"{self._plan.id}: {event.subplan} {predicate}"
            if event.subplan
            else f"{self._plan.id} {predicate}"
        )

    def _run_command(self) -> str:
        file = self._plan.document.file
        if file in PLAN_NAMES:
            return "weft run"
        return f"weft run {STDIN if file == InputSource(name=STDIN).shown else shlex.quote(file)}"


def _file_names(held: HeldWork) -> str:
    files = [file for file in held.files if file not in held.message.partition("\n")[0]]
    if not files:
        return ""
    more = f" and {len(files) - _FILES:,} more" if len(files) > _FILES else ""
    return f" ({', '.join(files[:_FILES])}{more})"


def _amount(amount: int, unit: str) -> str:
    return f"{amount:,} tokens" if unit == "tokens" else dollars(amount)
