"""Prepare a run: a new one, a resumed one, or one that builds on the completed work of earlier runs."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import anyio
from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.app.history.completed_work import CompletedWork, kept_of
from weft.app.history.earlier_runs import chosen_for, earlier_runs, first_fact
from weft.app.history.ledger import spent_by
from weft.app.isolation.sandboxes import refuse_without
from weft.app.preflight.preflight import preflight
from weft.app.project import plans
from weft.app.project.files import InputSource
from weft.app.project.hosts import hosts_of
from weft.app.project.places import Places
from weft.app.project.plan_agents import agents_of
from weft.app.run.orphan_cleanup import stop_all_jobs
from weft.app.run.selection import WHOLE, SubplanChoice
from weft.app.run.session import RunSetup
from weft.app.run.workspaces import RunWorkspaces, WorkspaceFactory
from weft.engine.engine import Engine
from weft.engine.messages.events import BudgetEvent
from weft.engine.messages.facts import AnyFact, BudgetReset, ControlState, Resumed, RunStarted
from weft.errors import InputError
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.digests import plan_digest
from weft.plan.display.show import record_plan
from weft.plan.model import Plan
from weft.plan.placement import used_hosts
from weft.plan.proof.prove import prove
from weft.ports.journal import JournalReader, RunRecord
from weft.store.sqlite import SqliteJournal
from weft.terms import UNFINISHED


class RunRequest(Struct, frozen=True, kw_only=True):
    """The plan to run, with the options of the command."""

    source: InputSource
    flags: plans.Flags = plans.NO_FLAGS
    fresh: bool = False
    """Whether to redo everything, including work that an earlier run has completed."""
    fresh_budget: bool = False
    """Whether the plan's ceilings ignore the money that earlier runs spent."""
    waits: bool = True
    """Whether to keep running when only questions to people remain."""
    ids: tuple[str, ...] = ()
    """The selected subplans as the user named them; empty for the whole plan."""
    feedback: Mapping[str, str] = {}
    """What the user wants changed in slices, by path. It always starts a new run."""
    retries: bool = False
    """Whether what failed in an unfinished run starts again. That takes a new run, which continues the rest."""

    @property
    def replaces(self) -> bool:
        """Whether an unfinished run of the same plan is replaced, and not resumed."""
        return self.fresh or self.retries or bool(self.feedback)


def refuse(compiled: CompiledPlan) -> None:
    """Raises `InputError` for defects of the plan that would otherwise appear later, after money was spent."""
    plan = compiled.plan
    proof = prove(compiled)
    if proof.answer == "refuted":
        raise InputError(
            f"{plan.document.file}: the plan cannot always finish; type: weft check {plan.document.file}"
        )
    # Raises for an unknown adapter. The call has no other purpose here.
    for use in sorted({agent.use for agent in agents_of(plan)}):
        adapter_of(use)


def replaced_run(
    request: RunRequest,
    plan: Plan,
    journal: SqliteJournal,
    environ: Mapping[str, str],
    choice: SubplanChoice = WHOLE,
) -> RunRecord | None:
    """Returns the unfinished run that a new run replaces; None if there is none, or if it is resumed.

    Raises `InputError` if the plan cannot run, before anything happens to the unfinished run.
    """
    last = _last(journal, plan.id)
    if request.fresh or last is None or last.state not in UNFINISHED:
        return None
    if last.digest == plan_digest(plan) and not request.replaces:
        return None
    kept = kept_of(plan, journal, earlier_runs(journal, plan.id), choice.parts)
    preflight(plan, plans.folder_of(request.source), environ, done=kept.paths).require()
    return last


def begin(
    request: RunRequest,
    compiled: CompiledPlan,
    places: Places,
    journal: SqliteJournal,
    environ: Mapping[str, str],
    choice: SubplanChoice = WHOLE,
) -> tuple[RunSetup, Engine, AnyFact | None]:
    """Returns the run, its engine and the first fact; no fact if earlier runs have completed everything.

    `choice` says which part of the whole plan `compiled` is.
    """
    plan, folder = compiled.plan, plans.folder_of(request.source)
    digest = plan_digest(plan)
    last = _last(journal, plan.id)
    unfinished = last is not None and last.state in UNFINISHED
    workplaces = WorkspaceFactory(plan, places, folder, environ)
    make = partial(_make_setup, plan, places, directory=folder, chosen=choice.paths)
    # The same plan continues under its own run id. The preflight was done when that run started; only the sandbox
    # is checked again, since steps without it could reach more than the plan allows.
    if last is not None and unfinished and last.digest == digest and not request.replaces:
        refuse_without(plan, environ)
        return resume_run(last, compiled, journal, workplaces, fresh_budget=request.fresh_budget)
    kept = _kept(request, plan, journal, choice)
    checks = preflight(plan, folder, environ, done=kept.paths).require()
    machine_notes = _machine_notes(plan, environ)
    workplace = workplaces.new(checks, kept.landed, kept.target, (*choice.notes, *machine_notes))
    # Only after the preflight: a refusal must leave the unfinished run as it was.
    if last is not None and unfinished:
        _abandon(journal, places, last)
    if last is not None and kept.is_all:
        history = () if choice.paths else journal.events(last.run)
        setup = make(run=last.run, workplace=workplace, done_by=last.run, history=history)
        # With `isolation: dir` the result is a directory that a crash, or the user, may have removed. Then a new
        # run starts, does no work, and gathers it again.
        if setup.result is None or (setup.result.is_dir() and places.gathered(last.run).exists()):
            if request.fresh_budget:  # no run begins that could record it
                _reset_budget(journal, last.run)
            return setup, Engine(compiled), None
    now = datetime.now(UTC)
    # Sortable by time, and unique even if two projects on one machine start a run in the same second.
    run = f"{now:%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"
    # Recorded with the run, so that a coordinator that resumes it from another shell starts steps with the same
    # values.
    env = {name: environ[name] for name in sorted(plan.env_allow) if name in environ}
    setup = make(
        run=run,
        workplace=workplace,
        given_up=last.run if last is not None and unfinished else "",
        given_up_for=chosen_for(journal, last.run) if last is not None and unfinished else (),
        changed=last is not None and last.digest != digest,
        carried=kept.paths,
    )
    # The commits of these branches stay under kept names, so a crash before the journal knows of the run loses no
    # work.
    moves = tuple(workplace.discard_groups() if request.fresh else workplace.follow_base())
    setup.host.prepare()  # starts the supervisor in the background, the slowest part, while the rest is prepared
    journal.add_run(_record(setup, file=request.source.shown, digest=digest, at=now.timestamp()))
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
        fresh=request.fresh,
        earlier=() if request.fresh_budget else spent_by(journal, earlier_runs(journal, plan.id)),
        fresh_budget=request.fresh_budget,
        continued=kept.continued,
        feedback=kept.feedback,
        paused=_paused_paths(request, journal, setup),
    )
    return setup, Engine(compiled), started


def _machine_notes(plan: Plan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns warnings about the other machines of the plan; raises `PreflightError` if steps there would fail."""
    if not plan.hosts:
        return ()
    from weft.app.machines.survey import require_machines  # noqa: PLC0415 - most plans have no other machines

    return require_machines(plan, environ)


def _kept(request: RunRequest, plan: Plan, journal: SqliteJournal, choice: SubplanChoice) -> CompletedWork:
    """Returns what the new run takes over from earlier runs."""
    if request.fresh:
        return CompletedWork()
    kept = kept_of(plan, journal, earlier_runs(journal, plan.id), choice.parts)
    if not request.feedback:
        return kept
    from weft.app.history.requested_changes import with_requests  # noqa: PLC0415 - rarely needed

    return with_requests(kept, request.feedback, plan, journal, earlier_runs(journal, plan.id))


def resume_run(
    last: RunRecord,
    compiled: CompiledPlan,
    journal: SqliteJournal,
    workplaces: WorkspaceFactory,
    *,
    fresh_budget: bool = False,
) -> tuple[RunSetup, Engine, AnyFact]:
    """Returns a run that continues where it stopped, its recovered engine and the first fact."""
    started = first_fact(journal, last.run)
    assert started is not None
    engine = recover_engine(compiled, journal, last.run)
    setup = _make_setup(
        compiled.plan,
        workplaces.places,
        run=last.run,
        workplace=workplaces.resumed(started),
        directory=workplaces.folder,
        resumed=True,
        chosen=started.chosen,
        history=journal.events(last.run),
    )
    return setup, engine, Resumed(at=time.time(), epoch=journal.epoch, fresh_budget=fresh_budget)


def _last(journal: SqliteJournal, plan: str) -> RunRecord | None:
    """Returns the last run of a plan. A run that died before its first fact is abandoned and does not count."""
    for record in journal.runs(plan):
        if next(iter(journal.facts(record.run)), None) is not None:
            return record
        journal.set_run_state(record.run, "abandoned")
    return None


def _make_setup(
    plan: Plan,
    places: Places,
    *,
    run: str,
    workplace: RunWorkspaces,
    **more: Any,  # noqa: ANN401 - the other fields of what is made
) -> RunSetup:
    apart = any(scope.settings.isolation == "dir" for scope in plan.scopes)
    used = {spec.name: spec for spec in used_hosts(plan)} if plan.hosts else {}
    host, machines = hosts_of(places, run, used, plan_dir=more["directory"])
    copies = None
    if machines is not None and workplace.copies is not None:
        copies = workplace.copies(machines, run)
    return RunSetup(
        run=run,
        plan=plan,
        places=places,
        host=host,
        machines=machines,
        copies=copies,
        workspaces=workplace.workspaces,
        landing_target=workplace.landing_target,
        target=workplace.target,
        notes=workplace.notes,
        result=places.work(plan.id) / "_plan" if apart else None,
        **more,
    )


def _record(setup: RunSetup, *, file: str, digest: str, at: float) -> RunRecord:
    return RunRecord(
        run=setup.run,
        plan=setup.plan.id,
        file=file,
        directory=str(setup.directory),
        text=record_plan(setup.plan),
        digest=digest,
        created_at=at,
        state="running",
    )


def recover_engine(compiled: CompiledPlan, journal: JournalReader, run: str) -> Engine:
    """Returns the engine in the state that the journal's facts lead to."""
    engine = Engine(compiled, quiet=True)
    for fact in journal.facts(run):
        engine.apply(fact)
    # The orders that the facts led to were carried out, or are found again in `in_flight`; repeating them here
    # would start every step a second time.
    engine.take_messages()
    engine.speak()
    return engine


def _abandon(journal: SqliteJournal, places: Places, last: RunRecord) -> None:
    """Abandons an unfinished run and stops its jobs."""
    # First the jobs, then the state: after a crash in between, the run is still unfinished and is abandoned again.
    from weft.app.run.recorded_hosts import hosts_of_record  # noqa: PLC0415 - seldom needed

    anyio.run(stop_all_jobs, *hosts_of_record(places, last))
    journal.set_run_state(last.run, "abandoned")


def _paused_paths(request: RunRequest, journal: SqliteJournal, setup: RunSetup) -> tuple[str, ...]:
    """Returns the paths that people have paused or frozen in the replaced run; an empty path is the whole plan."""
    # A pause outlives an edit of the plan, since the user who paused a part does not expect an edit to start it.
    # Naming subplans, or `--fresh`, says explicitly what is to run.
    if not setup.given_up or request.fresh or setup.chosen:
        return ()
    from weft.app.control.control import control_requests_in  # noqa: PLC0415 - rarely needed

    paths = {"", *map(str, setup.plan.outline.paths)}
    restraints = control_requests_in(journal, setup.given_up).restraints()
    return tuple(
        path for path, control in restraints.items() if control is not ControlState.STOP and path in paths
    )


def _reset_budget(journal: SqliteJournal, run: str) -> None:
    at = time.time()
    journal.append(run, [(at, BudgetEvent(outcome="reset", fact=BudgetReset(at=at)))])
