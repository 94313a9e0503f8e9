"""How a run begins: anew, on from where it was, or with what an earlier one has completed."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.app.control.control import wishes_in
from weft.app.history.completed_work import CompletedWork, kept_of
from weft.app.history.earlier_runs import chosen_for, earlier_runs, started_of
from weft.app.history.ledger import spent_by
from weft.app.isolation.sandboxes import refuse_without
from weft.app.preflight.preflight import preflight
from weft.app.project import plans
from weft.app.project.files import InputSource
from weft.app.project.places import Places
from weft.app.project.plan_agents import agents_of
from weft.app.run.orphan_cleanup import end_all
from weft.app.run.selection import WHOLE, SubplanChoice
from weft.app.run.session import RunSetup
from weft.app.run.workspaces import RunWorkspaces, WorkspaceFactory
from weft.engine.engine import Engine
from weft.engine.messages.events import Event
from weft.engine.messages.facts import AnyFact, BudgetReset, ControlState, Resumed, RunStarted
from weft.engine.messages.run_status import UNFINISHED
from weft.errors import InputError
from weft.hosts.local import LocalHost
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.digests import plan_digest
from weft.plan.display.show import record_plan
from weft.plan.model import Plan
from weft.plan.proof.prove import prove
from weft.ports.journal import JournalReader, RunRecord
from weft.store.sqlite import SqliteJournal


class RunRequest(Struct, frozen=True, kw_only=True):
    """What is to be run, and how."""

    source: InputSource
    flags: plans.Flags = plans.NO_FLAGS
    fresh: bool = False
    """Whether all is done anew, also what an earlier run has completed."""
    fresh_budget: bool = False
    """Whether the ceilings of the plan count from zero, whatever earlier runs spent."""
    waits: bool = True
    """Whether to stay when nothing is left but questions to people."""
    ids: tuple[str, ...] = ()
    """The subplans that are to be run with what they need, as they were named; none: all of them."""


def refuse(compiled: CompiledPlan) -> None:
    """Raises `InputError` for what would go wrong later, and cost money by then."""
    plan = compiled.plan
    proof = prove(compiled)
    if proof.answer == "refuted":
        raise InputError(
            f"{plan.document.file}: the plan cannot always finish; type: weft check {plan.document.file}"
        )
    for use in sorted({agent.use for agent in agents_of(plan)}):
        adapter_of(use)


def replaced_run(
    wish: RunRequest,
    plan: Plan,
    journal: SqliteJournal,
    environ: Mapping[str, str],
    choice: SubplanChoice = WHOLE,
) -> RunRecord | None:
    """The unfinished run that a new one replaces, if that can begin; None if there is none, or it continues.

    Raises `InputError` if the plan cannot be run: then the unfinished run is left as it is.
    """
    last = _last(journal, plan.id)
    if wish.fresh or last is None or last.state not in UNFINISHED or last.digest == plan_digest(plan):
        return None
    kept = kept_of(plan, journal, earlier_runs(journal, plan.id), choice.parts)
    preflight(plan, plans.folder_of(wish.source), environ, done=kept.paths).required()
    return last


def begin(
    wish: RunRequest,
    compiled: CompiledPlan,
    places: Places,
    journal: SqliteJournal,
    environ: Mapping[str, str],
    choice: SubplanChoice = WHOLE,
) -> tuple[RunSetup, Engine, AnyFact | None]:
    """With what the engine is to hear first; None if everything has been completed before.

    `choice`: what the plan that is compiled is of the whole.
    """
    plan, folder = compiled.plan, plans.folder_of(wish.source)
    digest = plan_digest(plan)
    last = _last(journal, plan.id)
    unfinished = last is not None and last.state in UNFINISHED
    workplaces = WorkspaceFactory(plan, places, folder, environ)
    make = partial(_begun, plan, places, directory=folder, chosen=choice.paths)
    if last is not None and unfinished and last.digest == digest and not wish.fresh:
        refuse_without(plan, environ)
        return resumed(last, compiled, journal, workplaces, fresh_budget=wish.fresh_budget)
    kept = CompletedWork()
    if not wish.fresh:
        kept = kept_of(plan, journal, earlier_runs(journal, plan.id), choice.parts)
    checks = preflight(plan, folder, environ, done=kept.paths).required()
    workplace = workplaces.new(checks, kept.landed, kept.target, choice.notes)
    if last is not None and unfinished:
        _give_up(journal, places, last)
    if last is not None and kept.is_all:
        history = () if choice.paths else journal.events(last.run)
        begun = make(run=last.run, workplace=workplace, done_by=last.run, history=history)
        if begun.result is None or (begun.result.is_dir() and places.gathered(last.run).exists()):
            if wish.fresh_budget:  # no run begins that could record it
                _reset_budget(journal, last.run)
            return begun, Engine(compiled), None
    now = datetime.now(UTC)
    run = f"{now:%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
    env = {name: environ[name] for name in sorted(plan.env_allow) if name in environ}
    begun = make(
        run=run,
        workplace=workplace,
        given_up=last.run if last is not None and unfinished else "",
        given_up_for=chosen_for(journal, last.run) if last is not None and unfinished else (),
        changed=last is not None and last.digest != digest,
        carried=kept.paths,
    )
    moves = tuple(workplace.start_anew() if wish.fresh else workplace.follow_base())
    begun.host.prepare()  # which takes longer than all that is still to do here
    journal.add_run(_record(begun, file=wish.source.shown, digest=digest, at=now.timestamp()))
    started = RunStarted(
        at=time.time(),
        run=run,
        env=env,
        carried=kept.paths,
        landed=workplace.landed,
        target=workplace.target,
        base=workplace.base,
        moves=moves,
        chosen=choice.paths,
        fresh=wish.fresh,
        earlier=() if wish.fresh_budget else spent_by(journal, earlier_runs(journal, plan.id)),
        fresh_budget=wish.fresh_budget,
        continued=kept.continued,
        paused=_paused(wish, journal, begun),
    )
    return begun, Engine(compiled), started


def resumed(
    last: RunRecord,
    compiled: CompiledPlan,
    journal: SqliteJournal,
    workplaces: WorkspaceFactory,
    *,
    fresh_budget: bool = False,
) -> tuple[RunSetup, Engine, AnyFact]:
    """A run that goes on where it was."""
    started = started_of(journal, last.run)
    assert started is not None
    engine = recovered(compiled, journal, last.run)
    begun = _begun(
        compiled.plan,
        workplaces.places,
        run=last.run,
        workplace=workplaces.resumed(started),
        directory=workplaces.folder,
        resumed=True,
        chosen=started.chosen,
        history=journal.events(last.run),
    )
    return begun, engine, Resumed(at=time.time(), epoch=journal.epoch, fresh_budget=fresh_budget)


def _last(journal: SqliteJournal, plan: str) -> RunRecord | None:
    """The last run of a plan. One that died before anything happened in it never was."""
    for record in journal.runs(plan):
        if next(iter(journal.facts(record.run)), None) is not None:
            return record
        journal.set_run_state(record.run, "abandoned")
    return None


def _begun(
    plan: Plan,
    places: Places,
    *,
    run: str,
    workplace: RunWorkspaces,
    **more: Any,  # noqa: ANN401 - the other fields of what is made
) -> RunSetup:
    apart = any(scope.settings.isolation == "dir" for scope in plan.scopes)
    return RunSetup(
        run=run,
        plan=plan,
        places=places,
        host=LocalHost(places.host(run)),
        workspaces=workplace.workspaces,
        landing_target=workplace.landing_target,
        target=workplace.target,
        notes=workplace.notes,
        result=places.work(plan.id) / "_plan" if apart else None,
        **more,
    )


def _record(begun: RunSetup, *, file: str, digest: str, at: float) -> RunRecord:
    return RunRecord(
        run=begun.run,
        plan=begun.plan.id,
        file=file,
        directory=str(begun.directory),
        text=record_plan(begun.plan),
        digest=digest,
        created_at=at,
        state="running",
    )


def recovered(compiled: CompiledPlan, journal: JournalReader, run: str) -> Engine:
    """The engine as it was when the journal was last written."""
    engine = Engine(compiled, quiet=True)
    for fact in journal.facts(run):
        engine.apply(fact)
    engine.take_messages()
    engine.speak()
    return engine


def _give_up(journal: SqliteJournal, places: Places, last: RunRecord) -> None:
    """An unfinished run that will not go on: nothing of it stays alive."""
    anyio.run(end_all, LocalHost(places.host(last.run)))
    journal.set_run_state(last.run, "abandoned")


def _paused(wish: RunRequest, journal: SqliteJournal, begun: RunSetup) -> tuple[str, ...]:
    """The subplans that people have paused or frozen in the run that is given up; empty for the whole plan."""
    if not begun.given_up or wish.fresh or begun.chosen:
        return ()
    paths = {"", *map(str, begun.plan.outline.paths)}
    restraints = wishes_in(journal, begun.given_up).restraints()
    return tuple(
        path for path, wanted in restraints.items() if wanted is not ControlState.STOP and path in paths
    )


def _reset_budget(journal: SqliteJournal, run: str) -> None:
    at = time.time()
    journal.append(run, [(at, Event(kind="budget", outcome="reset", fact=BudgetReset(at=at)))])
