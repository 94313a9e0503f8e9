"""Output of `weft check`: sentences in order of importance, each group with a label at the left.

The text is short for a small plan and bounded for a large one: it names the first few entries of every list and
counts the rest. `--json` has all of them.
"""

import shlex
from collections.abc import Iterator, Sequence
from math import ceil, floor

from weft.app.check.eligibility_rules import Eligibility
from weft.app.history.ceiling_use import EarlierRuns
from weft.app.preflight.findings import PreflightFinding
from weft.cli.text.eligibility import eligibility_lines
from weft.cli.text.overlap import overlap_lines
from weft.cli.text.sections import MORE_ROWS, NAMES, ROWS, count, few, section
from weft.net.verdict import Answer
from weft.plan.prices import dollars
from weft.plan.report.check import CheckReport
from weft.plan.report.costs import AgentCalls, Spend
from weft.plan.report.landings import LandingVerifies
from weft.plan.report.together import PoolUse, Together
from weft.plan.report.waits import Minutes

_BOTH = 2
BY_POOLS = "By: each outcome of a step gives back what it took, and no claim is larger than its pool."
BY_TOGETHER = "By: the fewest chains that cover the plan's order (Dilworth), within each max_parallel."
BY_TURN = "By: a pool of one token, which every action takes."
NOTHING_SPENT = EarlierRuns()
BY_CHAIN = "By: the longest path through the order of the plan."
BY_CALLS = "By: the copies of each agent step in the net, with all attempts unrolled."


def check_lines(
    report: CheckReport,
    able: Eligibility,
    findings: Sequence[PreflightFinding] = (),
    earlier: EarlierRuns = NOTHING_SPENT,
    *,
    verbose: bool,
    plan: str = "",
) -> Iterator[str]:
    """Yields the lines of the report. `plan` is the plan as named on the command line, or empty."""
    # First what keeps the plan from running, last what is merely worth knowing.
    yield from section("Error", (f"{_upper(finding.message)}." for finding in findings if finding.refuses))
    yield from section("Finish", _finish(report, verbose=verbose))
    if report.finish.answer is not Answer.REFUTED:  # the other sections assume that the plan can finish
        yield from section("Pools", _pools(report.pools, verbose=verbose))
        yield from section("Together", _together(report, verbose=verbose))
        yield from section("Agents", _built_in_agents(report))
        yield from eligibility_lines(able, verbose=verbose)
        yield from section("Overlap", overlap_lines(report.overlaps, verbose=verbose))
        yield from section("Chain", _chain(report, verbose=verbose))
        yield from section("Verify", _verifies(report.landing_verifies))
        yield from section("Time", _time(report, plan, verbose=verbose))
        yield from section("Cost", (*_cost(report, verbose=verbose), *_spent_earlier(earlier, plan)))
    warnings = [f"{problem.at}: {problem.message}" for problem in report.plan_warnings]
    warnings += (f"{_upper(finding.message)}." for finding in findings if not finding.refuses)
    yield from section("Warning", _warnings(warnings, verbose=verbose))


# Whether the plan can finish


def _finish(report: CheckReport, *, verbose: bool) -> Iterator[str]:
    finish, subplans = report.finish, report.counts.subplans
    match finish.answer:
        case Answer.PROVED:
            each = "its one subplan ends" if subplans == 1 else f"each of its {subplans:,} subplans ends"
            yield f"Every run of this plan ends: {each} exactly once."
        case Answer.REFUTED:
            yield f"This plan may never end: {finish.why}."
            yield from _numbered(finish.trace)
        case Answer.UNKNOWN:
            yield f"Whether every run of this plan ends is not known: {finish.why}."
    if verbose:
        if finish.answer is Answer.PROVED:
            yield f"By: {finish.why}."
        yield f"The net has {report.counts.places:,} places and {report.counts.transitions:,} transitions."


def _numbered(trace: Sequence[str]) -> Iterator[str]:
    if trace:
        yield "The shortest way there:"
    # The start and the end of a long trace say most; the middle is left out.
    left_out = range(MORE_ROWS // 2, max(len(trace), MORE_ROWS) - MORE_ROWS // 2)
    digits = len(str(len(trace)))
    for number, sentence in enumerate(trace):
        if number not in left_out:
            yield f"  {number + 1:>{digits}}. {sentence}"
        elif number == left_out.start:
            yield f"  … {len(left_out):,} more …"


def _pools(pools: Sequence[PoolUse], *, verbose: bool) -> Iterator[str]:
    hosts = [f"{pool.size:,} on {pool.name}" for pool in pools if pool.of_host and pool.steps]
    pools = [pool for pool in pools if not pool.of_host]
    used = [f"{pool.name} ({pool.size:,})" for pool in pools if pool.steps]
    unused = [pool.name for pool in pools if not pool.steps]
    if hosts:
        yield f"At most {few(hosts, ROWS)} run at once.".replace(" on ", " steps on ", 1)
    if used and pools[0].kept:
        yield f"Never oversubscribed and always returned: {few(used, ROWS)}."
    elif used:
        yield f"{few(used, ROWS)}."
    if verbose and used:
        yield BY_POOLS
        yield from (f"  {_claims(pool)}" for pool in pools[:MORE_ROWS] if pool.steps)
    if unused:
        yield f"No step takes from {few(unused)}."


def _claims(pool: PoolUse) -> str:
    steps, slices = count(pool.steps, "step"), count(pool.slices, "slice")
    return f"{pool.name}: {steps} in {slices} {'takes' if pool.steps == 1 else 'take'} from it."


# Parallelism


def _together(report: CheckReport, *, verbose: bool) -> Iterator[str]:
    together, slices = report.together, report.counts.slices
    if together.serial:
        yield "One step at a time (policy: serial)."
        yield from [BY_TURN] if verbose else []
        return
    yield f"{_at_once(together, slices)}{_agents(together)}."
    if together.reached < together.slices:
        yield f"{together.reached:,} at once are possible for certain; whether more are was not found out."
    if verbose and slices > 1:
        yield BY_TOGETHER


def _at_once(together: Together, slices: int) -> str:
    if slices == 1:
        return "There is one slice"
    if together.slices == slices:
        return "Both slices can run at once" if slices == _BOTH else f"All {slices:,} slices can run at once"
    runs = "slice runs" if together.slices == 1 else "slices run"
    return f"At most {together.slices:,} {runs} at once ({together.limited_by})"


def _agents(together: Together) -> str:
    kinds = [f"{use.at_most:,} {use.name}" for use in together.each if use.at_most]
    if not kinds:
        return ""
    limit = "" if together.agents_limited_by == together.limited_by else f" ({together.agents_limited_by})"
    if len(kinds) == 1:
        return f", with at most {kinds[0]}{limit}"
    # The maxima of the single agents can be reached at different times; only if they add up do they occur
    # together.
    if sum(use.at_most for use in together.each) == together.agents:
        return f", with at most {_and(kinds)}{limit}"
    if together.agents == 1:
        return ", with one agent at a time"
    return f", with at most {together.agents:,} agents{limit}: at most {_and(kinds)}"


def _built_in_agents(report: CheckReport) -> Iterator[str]:
    """Yields the agents that do a step of a built-in pipeline because they have its name."""
    by_pipeline: dict[str, list[str]] = {}
    for agent in report.built_in_agents:
        by_pipeline.setdefault(agent.pipeline, []).append(f"{agent.agent} does the step {agent.step}")
    for pipeline, steps in by_pipeline.items():
        yield f"In the built-in pipeline {pipeline}, {_and(steps)}, since agents of such names exist."


# Time and cost


def _chain(report: CheckReport, *, verbose: bool) -> Iterator[str]:
    path = report.critical_path
    if report.counts.slices == 1:
        return
    if not report.eligibility.ineligible:
        longest = f"; the longest is {path.slices[0]} ({_span(path.minutes)})" if path.minutes else ""
        yield f"No slice waits for another{longest}."
        return
    shown = path.slices
    if len(shown) > NAMES:
        shown = (*shown[: NAMES - 1], "…", shown[-1])
    facts = [count(len(path.slices), "slice")]
    if path.minutes is not None:
        facts.append(
            _span(path.minutes) + (f" without {path.unestimated:,} of them" if path.unestimated else "")
        )
    yield f"Longest chain: {' → '.join(shown)} ({', '.join(facts)})."
    if verbose:
        yield BY_CHAIN


def _time(report: CheckReport, plan: str, *, verbose: bool) -> Iterator[str]:
    makespan, slices = report.makespan, report.counts.slices
    if makespan.best is None:
        if verbose:
            yield "No slice has an estimate, so nothing is said about time."
    elif makespan.worst is None:
        missing = f"{slices - makespan.estimated:,} of {slices:,} slices have no estimate"
        yield f"At least {_minutes(floor(makespan.best))}; {missing}."
    else:
        span = _span((makespan.best, makespan.worst))
        yield f"From {span}." if " to " in span else f"{span}."
    yield f"For a forecast, type: {shlex.join(['weft', 'simulate', *([plan] if plan else [])])}"
    if verbose and makespan.best is not None:
        yield "Best: every first attempt passes in its low estimate, and as many slices run at once as can."
        yield "Worst: one slice after the other, all attempts, each with its high estimate."
        yield "Merges, waiting for people and lost hosts are not counted."


def _verifies(verifies: LandingVerifies | None) -> Iterator[str]:
    """Yields how often the landing queue runs verify."""
    if verifies is None:
        return
    results, times = count(verifies.results, "result"), count(verifies.at_most, "time")
    if verifies.results == 1:
        yield "The one result is verified before it lands."
    elif verifies.batch == 1:
        yield f"verify runs at most {times} before landings, once for each result, while it passes."
    else:
        batch = f"up to {verifies.batch:,} results" if verifies.batch < verifies.results else "results"
        yield (
            f"verify runs at most {times} before landings while it passes, for {results}: {batch} that are ready "
            f"at the same time are verified together."
        )


def _cost(report: CheckReport, *, verbose: bool) -> Iterator[str]:
    calls = report.agent_calls
    if not calls.at_most:
        yield "No agent is called."
        return
    at_most = f"At most {count(calls.at_most, 'agent call')}{_of_one_slice(calls, report.counts.slices)}"
    yield f"{at_most}; worst-case spend {_spend(report.spend)}."
    if report.spend.unreserved:
        yield _unreserved(report.spend.unreserved)
    if verbose:
        yield BY_CALLS
        for use in report.pipelines[:MORE_ROWS]:
            of = "with steps of its own" if use.name is None else f"of pipeline {use.name}"
            yield f"At most {count(use.calls, 'agent call')} for a slice {of} ({count(use.slices, 'slice')})."
        yield "Calls that are repeated because a host was lost are not counted."
        yield "When a budget is reached nothing new starts; a running step can still exceed it."


def _spent_earlier(earlier: EarlierRuns, plan: str) -> Iterator[str]:
    """Yields what earlier runs of the plan spent, and what remains of its ceilings."""
    if not (earlier.total.cost or earlier.total.tokens or earlier.total.unknown):
        return
    tokens = f" and {count(earlier.total.tokens, 'token')}" if earlier.total.tokens else ""
    unknown = f", and {count(earlier.total.unknown, 'call')} of unknown cost" if earlier.total.unknown else ""
    yield f"Earlier runs spent {dollars(earlier.total.cost)}{tokens}{unknown}."
    for use in earlier.ceilings:
        amount_text = dollars if use.unit == "usd" else _tokens
        of = f"the budget of {use.path or 'the plan'}"
        over = ", which is used up" if use.is_used_up else ""
        if use.unreported:
            yield f"{amount_text(use.unreported)} stays reserved for agent calls that did not report their cost."
        yield f"That leaves {amount_text(use.left)} of {amount_text(use.ceiling)}, {of}{over}."
    if earlier.ceilings:
        command = shlex.join(["weft", "run", *filter(None, [plan]), "--fresh-budget"])
        yield f"To count from zero, type: {command}"


def _tokens(amount: int) -> str:
    return count(amount, "token")


def _of_one_slice(calls: AgentCalls, slices: int) -> str:
    if slices == 1:
        return ""
    return f" ({calls.worst:,} for {calls.worst_slice if calls.worst_slices == 1 else 'one slice'})"


def _spend(spend: Spend) -> str:
    if spend.worst is not None:
        return f"{dollars(spend.worst)} ({spend.limited_by})"
    steps = "1 agent step has" if spend.unpriced == 1 else f"{spend.unpriced:,} agent steps have"
    them = "it" if spend.unpriced == 1 else "them"
    return f"unknown: {steps} no max_cost and no budget stands above {them}"


def _unreserved(steps: int) -> str:
    they_have = "it has" if steps == 1 else "they have"
    return f"Nothing is reserved for {count(steps, 'agent step')}: {they_have} no max_cost and no reserve."


def _warnings(warnings: Sequence[str], *, verbose: bool) -> Iterator[str]:
    most = MORE_ROWS if verbose else ROWS
    yield from warnings[:most]
    if len(warnings) > most:
        yield f"… and {len(warnings) - most:,} more."


# Words


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _and(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _span(minutes: Minutes) -> str:
    """Returns a range of minutes, rounded outwards to whole minutes."""
    low, high = _minutes(floor(minutes[0])), _minutes(ceil(minutes[1]))
    return low if low == high else f"{low} to {high}"


def _minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{rest} min" if not hours else f"{hours:,} h" if not rest else f"{hours:,} h {rest} min"
