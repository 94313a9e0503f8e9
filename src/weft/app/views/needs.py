"""What needs a person, from the view of a run: questions, conflicts, held landings, failures, budgets, limits.

The list is a function of the view, so that the page, `weft top` and the live view agree. The most urgent kinds
come first, and within a kind the oldest. Each action can be typed as it is, and works now.
"""

import shlex
from collections.abc import Iterator, Sequence

from weft.app.views.needs_model import Action, Need
from weft.app.views.rows import HeldWork, RowView
from weft.app.views.run_view import RunView
from weft.app.views.signals import FailedVerify
from weft.app.views.wording.words import count, first_line, some, span, step_name, why_held, why_not
from weft.plan.order.outline import ROOT
from weft.terms import FINISHED, NEEDS_COORDINATOR, UNFINISHED, RunState

_LINES = 12
"""How many lines of output a need shows."""
_MOST_FAILED = 100
"""How many failed slices are listed one by one."""


def needs_of(view: RunView, now: float, *, is_active: bool, state: str | None = None) -> list[Need]:
    """Returns what needs a person now.

    `is_active` says whether a coordinator runs the run. `state` is that of the journal, which also knows whether a
    run is paused, waits for people or was abandoned.
    """
    return list(_Needs(view, now, is_active=is_active, state=view.state if state is None else state).all())


def _command(*words: str) -> str:
    return shlex.join(words)


def _tail(text: str) -> tuple[str, ...]:
    return tuple(text.rstrip().splitlines()[-_LINES:])


class _Needs:
    def __init__(self, view: RunView, now: float, *, is_active: bool, state: str) -> None:
        self._view = view
        self._paths = view.outline.paths
        self._now = now
        self._is_active = is_active
        self._state = state

    def all(self) -> Iterator[Need]:
        if self._state not in FINISHED:
            yield from self._questions()
            yield from self._held()
            yield from self._landings()
        yield from self._verifies()
        yield from self._budget()
        yield from self._failures()
        if self._state in UNFINISHED or self._state in {"pending", "stopping"}:
            yield from self._limits()
            yield from self._absence()

    # Questions and holds

    def _questions(self) -> Iterator[Need]:
        rows = self._view.row_index.asking
        asked = [
            (question.asked_at, row, step, question)
            for row in rows
            for step, question in self._view.rows[row].questions.items()
        ]
        for at, row, step, question in sorted(asked, key=lambda entry: entry[:3]):
            path = self._paths[row]
            headline, *more = question.text.splitlines() or [""]
            yield Need(
                kind="question",
                path=path,
                row=row,
                step=step,
                title=headline,
                lines=more[-_LINES:],
                since=at,
                actions=[self._answer(path, step, reply) for reply in ("yes", "no")],
            )

    def _answer(self, path: str, step: str, reply: str) -> Action:
        name = f"{path}:{step}"
        return Action(
            label=reply.capitalize(),
            command=_command("weft", "answer", name, reply),
            post="answer",
            body={"name": name, "reply": reply},
            takes_text=True,
        )

    def _held(self) -> Iterator[Need]:
        for row in sorted(self._view.row_index.held):
            row_view = self._view.rows[row]
            held = row_view.held
            # A failed verify is a need of its own, for all results that it holds.
            if held is not None and not held.red:
                yield self._hold(row, row_view, held)

    def _hold(self, row: int, row_view: RowView, held: HeldWork) -> Need:
        path = self._paths[row]
        _, *more = held.message.splitlines() or [""]
        return Need(
            kind="conflict" if held.conflict else "held",
            path=path,
            row=row,
            step=held.step,
            title=why_held(held),
            reason=first_line(held),
            lines=more[:_LINES],
            files=held.files,
            since=row_view.held_at,
            actions=[
                Action(
                    label="Try again",
                    command=_command("weft", "merge", path),
                    post="merge",
                    body={"names": [path]},
                ),
                *(self._worktree(path) if held.conflict else ()),
            ],
        )

    def _worktree(self, path: str) -> Iterator[Action]:
        yield Action(label="How to settle it", command=_command("weft", "merge", "--list", path))

    def _landings(self) -> Iterator[Need]:
        rows = self._view.landings.to_agree()
        target = self._view.landings.target
        where = f" on {target}" if target else ""
        for row in rows:
            path, row_view = self._paths[row], self._view.rows[row]
            held = row_view.held
            others = held.waits_for if held is not None else ()
            yield Need(
                kind="landing",
                path=path,
                row=row,
                step=held.step if held is not None else "",
                title=f"ready to land{where}",
                reason=f"lands together with {some(others)}" if others else "",
                since=row_view.held_at or None,
                actions=[
                    Action(
                        label="Land",
                        command=_command("weft", "merge", path, *others),
                        post="merge",
                        body={"names": [path, *others]},
                        is_confirmed=True,
                    )
                ],
            )

    def _verifies(self) -> Iterator[Need]:
        for verify in self._view.signals.verifies():
            if self._state not in FINISHED or not verify.entries:
                yield self._verify(verify)

    def _verify(self, verify: FailedVerify) -> Need:
        path = verify.subplan or next(iter(verify.entries), "")
        retry = Action(
            label="Try again",
            command=_command("weft", "merge", *verify.entries),
            post="merge",
            body={"names": list(verify.entries)},
        )
        log = Action(label="Log", command=_command("weft", "logs", f"{path or '/'}:{verify.step}"))
        return Need(
            kind="verify",
            path=path,
            row=self._view.row(path).number,
            step=verify.step,
            title=f"verify failed: {verify.command}" if verify.command else "verify failed",
            reason=" ".join(filter(None, (verify.message.partition("\n")[0], verify.fix))),
            lines=_tail(verify.tail),
            actions=[*([retry] if verify.entries else []), log],
        )

    # Failures

    def _failed_rows(self) -> list[int]:
        rows = self._view.row_index.failed
        return sorted(row for row in rows if self._view.rows[row].reason != "budget")

    def _failures(self) -> Iterator[Need]:
        failed = self._failed_rows()
        for row in failed[:_MOST_FAILED]:
            yield self._failure(row)
        if len(failed) > _MOST_FAILED:
            more = len(failed) - _MOST_FAILED
            yield Need(
                kind="failed",
                path="",
                row=ROOT,
                title=f"{more:,} more have failed",
                actions=self._retries(()),
            )

    def _failure(self, row: int) -> Need:
        row_view, path = self._view.rows[row], self._paths[row]
        failure = row_view.failure
        left_out = row_view.left_out
        title = why_not(row_view) if left_out is None else f"left out by {left_out.group}"
        return Need(
            kind="failed",
            path=path,
            row=row,
            step="" if failure is None else failure.step,
            title=title.partition("\n")[0],
            reason="" if failure is None else f"{step_name(failure.step, failure.attempt)} failed",
            lines=_tail(failure.tail) if failure is not None else (),
            since=row_view.ended_at,
            actions=[
                *self._retries((path,) if row != ROOT else ()),
                Action(label="Log", command=_command("weft", "logs", path or "/")),
            ],
        )

    def _retries(self, names: Sequence[str], *, fresh_budget: bool = False) -> list[Action]:
        """Returns the retry of failed subplans; none while the run is active, because it would be refused."""
        if self._is_active or self._state in FINISHED - {RunState.FAILED}:
            return []
        options = ["--fresh-budget"] if fresh_budget else []
        return [
            Action(
                label="Retry" if not fresh_budget else "Continue, with the budget counted from zero",
                command=_command("weft", "retry", *names, *options),
                post="retry",
                body={"names": list(names), **({"fresh_budget": True} if fresh_budget else {})},
                takes_text=len(names) == 1,
                is_confirmed=fresh_budget,
            )
        ]

    def _budget(self) -> Iterator[Need]:
        rows = self._view.row_index.failed
        stopped = sorted(row for row in rows if self._view.rows[row].reason == "budget")
        if stopped:
            first = self._view.rows[stopped[0]]
            yield Need(
                kind="budget",
                path="",
                row=ROOT,
                title=f"the budget does not allow {count(len(stopped), 'slice')}",
                reason=first.message.partition("\n")[0],
                lines=[self._paths[row] for row in stopped[:_LINES]],
                since=first.ended_at,
                actions=self._retries((), fresh_budget=True),
            )

    # The run

    def _limits(self) -> Iterator[Need]:
        for limit in self._view.signals.limits(self._now):
            yield Need(
                kind="limit",
                path="",
                row=ROOT,
                title=f"{some(limit.agents)} met a usage limit",
                reason=f"continues by itself in {span(limit.until - self._now)}",
                is_urgent=False,
                actions=[
                    Action(
                        label="The limit has ended",
                        command=_command("weft", "resume", "--limits"),
                        post="resume",
                        body={"limits": True},
                    )
                ],
            )

    def _absence(self) -> Iterator[Need]:
        """Yields a need if the run is unfinished and no coordinator runs it."""
        if self._is_active or self._state == "waiting":
            return
        was_left = self._state in NEEDS_COORDINATOR or self._state in {"pending", "stopping"}
        yield Need(
            kind="stopped",
            path="",
            row=ROOT,
            title="the coordinator has ended unexpectedly" if was_left else f"the run is {self._state}",
            reason="running steps continue, and the next coordinator takes them over" if was_left else "",
            actions=[Action(label="Resume", command=_command("weft", "start"))],
        )
