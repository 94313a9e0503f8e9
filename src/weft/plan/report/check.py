"""What is known about a plan before it runs: the report of `weft check`.

Everything here is a bound that no run exceeds, or is reported as unknown. Each part has a module of its own; most
of the time goes into the longest path and the overlaps, with one pass over the plan each.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, to_builtins

from weft.net.verdict import Answer
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Plan, named_agents
from weft.plan.pipelines.hierarchy import used_pipelines
from weft.plan.proof.prove import Proof
from weft.plan.report.companions import FilePair
from weft.plan.report.costs import AgentCalls, Spend, agent_calls, spend
from weft.plan.report.counts import Counts, PipelineUse, counts, pipeline_uses
from weft.plan.report.landings import LandingVerifies, landing_verifies
from weft.plan.report.overlaps import OverlapReport, overlap_report
from weft.plan.report.profiles import Profiles
from weft.plan.report.together import PoolUse, Together, pool_uses, together
from weft.plan.report.waits import (
    CriticalPath,
    Makespan,
    PlanEligibility,
    critical_path,
    eligibility,
    extra_order,
    makespan,
)
from weft.plan.text.problems import Problem


class BuiltInAgent(Struct, frozen=True):
    """An agent that does a step of a built-in pipeline because of its name."""

    pipeline: str
    step: str
    agent: str


class CheckReport(Struct, frozen=True, kw_only=True):
    """The report of `weft check`."""

    plan: str
    finish: Proof
    counts: Counts
    pipelines: tuple[PipelineUse, ...]
    together: Together
    pools: tuple[PoolUse, ...]
    eligibility: PlanEligibility
    overlaps: OverlapReport
    critical_path: CriticalPath
    makespan: Makespan
    agent_calls: AgentCalls
    spend: Spend
    built_in_agents: tuple[BuiltInAgent, ...] = ()
    landing_verifies: LandingVerifies | None = None
    plan_warnings: tuple[Problem, ...]
    """The warnings about the text of the plan."""

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return self.plan_warnings + self.overlaps.warnings

    def to_json(self) -> dict[str, object]:
        finish = self.finish
        return {
            "plan": self.plan,
            "finish": {"answer": finish.answer.value, "why": finish.why, "trace": list(finish.trace)},
            "counts": self.counts.to_json(),
            "pipelines": [use.to_json() for use in self.pipelines],
            "together": self.together.to_json(),
            "pools": [use.to_json() for use in self.pools],
            "overlaps": self.overlaps.to_json(),
            "critical_path": self.critical_path.to_json(),
            "makespan": self.makespan.to_json(),
            "agent_calls": self.agent_calls.to_json(),
            "spend": self.spend.to_json(),
            "built_in_agents": [to_builtins(agent) for agent in self.built_in_agents],
            "landing_verifies": self.landing_verifies and self.landing_verifies.to_json(),
            "warnings": [problem.to_json() for problem in self.warnings],
        }


def _built_in_agents(plan: Plan) -> Iterator[BuiltInAgent]:
    used = used_pipelines(plan)
    for name, pipeline in plan.pipelines.items():
        if pipeline.built_in and name in used:
            yield from (BuiltInAgent(name, step, agent) for step, agent in named_agents(pipeline))


def overlaps_of(compiled: CompiledPlan, history: Sequence[FilePair] = ()) -> OverlapReport:
    """Returns only the overlaps. `history` has the files that changed together, as far as known."""
    after, finder = extra_order(compiled), Profiles(compiled.plan)
    starting = len(eligibility(compiled).eligible)
    # Overlaps do no harm if only one slice runs at a time, so this bound is needed first.
    at_once = together(compiled, after, finder.by_row(), finder.agents, starting=starting)
    return overlap_report(compiled, after, at_once.slices, history)


def check_report(compiled: CompiledPlan, proof: Proof, history: Sequence[FilePair] = ()) -> CheckReport:
    """Returns the report. `history` has the files that changed together, as far as known."""
    # The order that `overlap: serialize` adds is computed once, since several parts of the report need it.
    plan, after = compiled.plan, extra_order(compiled)
    # The profiles are shared by several parts of the report.
    finder = Profiles(plan)
    profiles = finder.by_row()
    slice_counts = Counter(profile for profile in profiles if profile is not None)
    start = eligibility(compiled)
    at_once = together(compiled, after, profiles, finder.agents, starting=len(start.eligible))
    return CheckReport(
        plan=plan.id,
        finish=proof,
        counts=counts(compiled),
        pipelines=pipeline_uses(slice_counts),
        together=at_once,
        # The proof that the plan can finish also shows that everything taken from a pool returns to it.
        pools=pool_uses(compiled, slice_counts, proved=proof.answer is Answer.PROVED),
        eligibility=start,
        overlaps=overlap_report(compiled, after, at_once.slices, history),
        critical_path=critical_path(plan, after),
        makespan=makespan(plan, after, profiles, at_once.slices),
        agent_calls=agent_calls(plan, profiles),
        spend=spend(plan, profiles),
        built_in_agents=tuple(_built_in_agents(plan)),
        landing_verifies=landing_verifies(plan),
        plan_warnings=plan.warnings,
    )
