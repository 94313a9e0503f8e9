"""A journal on the disk with several runs of one plan in it, none of which ever was."""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from stored_events import make_event
from weft.app.run.selection import choose
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import RunStarted
from weft.plan.digests import plan_digest
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan
from weft.ports.journal import RunRecord
from weft.store.sqlite import SqliteJournal, open_journal

WORK = [{"id": "work", "run": "true"}]


def a_slice(id_: str, *depends_on: str, work: str = "true", **more: Any) -> dict[str, Any]:
    return {"id": id_, "depends_on": list(depends_on), "steps": [{"id": "work", "run": work}], **more}


def a_group(id_: str, *subplans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id_, "subplans": list(subplans), **more}


def a_plan(*subplans: dict[str, Any], **more: Any) -> Plan:
    return load_plan(
        json.dumps({"weft": 1, "plan": "tried", "isolation": "dir", **more, "subplans": subplans})
    )


class Past(Struct):
    root: Path
    journal: SqliteJournal

    def ran(
        self,
        run: str,
        plan: Plan,
        *chosen: str,
        done: Iterable[str] = (),
        landed: Sequence[str] = (),
        state: str = "failed",
        events: Sequence[AnyEvent] = (),
        **started: Any,
    ) -> None:
        """A run of the plan, or of some of its subplans, in which these were completed, and these have landed."""
        plan, choice = choose(plan, chosen)
        record = RunRecord(
            run=run, plan=plan.id, file="weft.yaml", directory=str(self.root), text=record_plan(plan),
            digest=plan_digest(plan), created_at=0.0, state=state,
        )  # fmt: skip
        self.journal.add_run(record)
        fact = RunStarted(at=0.0, run=run, chosen=choice.paths, **started)
        first = make_event(kind="run_started", fact=fact)
        ended = [make_event(kind="subplan_state", subplan=path, outcome="completed") for path in done]
        lands = [
            make_event(kind="step_finished", subplan=path, step="@land", outcome="done") for path in landed
        ]
        self.journal.append(run, [(0.0, event) for event in (first, *ended, *lands, *events)])

    def spoil(self) -> None:
        """The journal cannot be read any more."""
        self.journal.close()
        shutil.copy(__file__, self.root / ".weft" / "weft.db")


@contextmanager
def past(root: Path) -> Iterator[Past]:
    with closing(open_journal(root / ".weft" / "weft.db", now=0.0)) as journal:
        yield Past(root, journal)
