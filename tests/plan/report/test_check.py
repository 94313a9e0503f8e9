"""What is told of a plan before it runs: bounds that hold, and nothing that is not known."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from plan.plan_strategies import SMALL, TINY, plan_texts
from plan.small_plans import compiled
from weft.ids import TransitionId
from weft.net.plain import PlainNet, unfold
from weft.net.verdict import Answer
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.parts import Role
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import Config, load_plan
from weft.plan.proof.prove import Proof
from weft.plan.report.check import CheckReport, check_report
from weft.plan.report.overlaps import Apart
from weft.plan.report.profiles import Profiles
from weft.plan.report.together import together
from weft.plan.settings import Layer

PROVED = Proof(answer=Answer.PROVED, why="")
UNKNOWN = Proof(answer=Answer.UNKNOWN, why="")


def report(*subplans: dict[str, Any], **plan: Any) -> CheckReport:
    return check_report(compiled(*subplans, **plan), PROVED)


def a_slice(id_: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "depends_on": list(depends_on), **more}


def group(id_: str, *subplans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id_, "subplans": list(subplans), **more}


# Bounds, against the net.


class Play:
    """A run of the whole net in which whatever can start does, as long as chance lets it."""

    def __init__(self, plan: CompiledPlan, chance: Random) -> None:
        self.net: PlainNet = unfold(plan.net)
        acts = dict(zip(plan.net.transition_ids, plan.assembled.acts, strict=True))
        places = {place: number for number, place in enumerate(map(str, self.net.place_ids))}
        agents = {id_ for id_, act in acts.items() if act.role is Role.RUN and act.kind == "agent"}
        self.agents = [places[f"{id_}.running"] for id_ in agents]
        self.first_tries = {TransitionId(f"{id_}.start") for id_ in agents if "~" not in id_}
        self.slots = places["slots"]
        self.tokens = list(self.net.initial)
        self.most_agents = self.most_slices = self.calls = 0
        while enabled := [n for n in range(len(self.net.transition_ids)) if self.enabled(n)]:
            starts = [n for n in enabled if self.net.transition_ids[n].endswith(".start")]
            self.fire(chance.choice(starts if starts and chance.random() < 0.9 else enabled))

    def enabled(self, number: int) -> bool:
        return all(self.tokens[place] >= weight for place, weight in self.net.inputs[number])

    def fire(self, number: int) -> None:
        for place, weight in self.net.inputs[number]:
            self.tokens[place] -= weight
        for place, weight in self.net.outputs[number]:
            self.tokens[place] += weight
        self.calls += self.net.transition_ids[number] in self.first_tries
        self.most_agents = max(self.most_agents, sum(self.tokens[place] for place in self.agents))
        self.most_slices = max(self.most_slices, self.net.initial[self.slots] - self.tokens[self.slots])


@settings(max_examples=40)
@given(plan_texts(TINY), st.integers(0, 10**6))
def test_no_run_of_the_net_exceeds_what_is_reported(text: str, seed: int) -> None:
    plan = compile_plan(load_plan(text))
    result = check_report(plan, PROVED)
    played = Play(plan, Random(seed))
    assert played.most_slices <= result.together.slices
    assert played.most_agents <= result.together.agents
    assert played.calls <= result.agent_calls.at_most


@settings(max_examples=100)
@given(plan_texts(SMALL))
def test_the_size_of_the_net_is_known_without_putting_it_together(text: str) -> None:
    plan = compile_plan(load_plan(text))
    result = check_report(plan, PROVED).counts
    assert (result.places, result.transitions) == (len(plan.net.place_ids), len(plan.net.transition_ids))


@settings(max_examples=100)
@given(plan_texts(SMALL))
def test_a_slice_has_at_most_as_many_calls_as_its_net_has_agent_runs(text: str) -> None:
    plan = compile_plan(load_plan(text))
    for row, profile in enumerate(Profiles(plan.plan).by_row()):
        shape = plan.shapes[plan.shape_of[row]]
        runs = [
            id_
            for id_, act in zip(shape.net.transition_ids, shape.acts, strict=True)
            if act.kind in {"agent", "resolve"} and "~" not in id_
        ]
        assert (0 if profile is None else profile.calls) == (
            len(runs) if plan.plan.outline.leaves[row] else 0
        )


# Counts and pipelines.


def test_subplans_groups_slices_and_pipelines_are_counted() -> None:
    steps = [{"id": "go", "run": "make"}]
    result = report(
        group("g", a_slice("a", pipeline="tdd", verify="x"), a_slice("b", verify="x")),
        a_slice("c", steps=steps),
        a_slice("d", verify="x"),
        a_slice("e"),
    )
    counts = result.counts
    assert (counts.subplans, counts.groups, counts.slices) == (6, 1, 5)
    assert [(use.name, use.slices, use.calls) for use in result.pipelines] == [
        ("tdd", 1, 15),
        ("direct", 3, 3),
        (None, 1, 0),
    ]


# What can run together.


@pytest.mark.parametrize(
    ("subplans", "plan", "slices", "limited_by"),
    [
        ([a_slice("a"), a_slice("b")], {}, 2, ""),
        ([a_slice("a"), a_slice("b", "a")], {}, 1, "the order of the plan"),
        ([a_slice("a"), a_slice("b"), a_slice("c")], {"max_parallel": 2}, 2, "max_parallel"),
        (
            [a_slice("a"), a_slice("b"), a_slice("c", "a", "b")],
            {"max_parallel": 2},
            2,
            "the order of the plan",
        ),
        ([a_slice("a"), a_slice("b", "a"), a_slice("c", "a")], {"max_parallel": 1}, 1, "max_parallel"),
        ([group("g", a_slice("a"), a_slice("b"), max_parallel=1), a_slice("c")], {}, 2, "max_parallel"),
        ([a_slice("a", max_parallel=1), a_slice("b", max_parallel=1)], {}, 2, ""),
        (
            [a_slice("a", files=["x"]), a_slice("b", files=["x"])],
            {"overlap": "serialize"},
            1,
            "the order of the plan",
        ),
    ],
)
def test_what_limits_the_slices_at_once_is_named(
    subplans: list[dict[str, Any]], plan: dict[str, Any], slices: int, limited_by: str
) -> None:
    result = report(*subplans, **plan).together
    assert (result.slices, result.reached, result.limited_by) == (slices, slices, limited_by)


def agents_of(result: CheckReport) -> dict[str, int]:
    return {use.name: use.at_most for use in result.together.each}


def test_an_agent_without_a_pool_is_limited_by_the_slices() -> None:
    result = report(*(a_slice(f"s{n}", agent="tester") for n in range(6)))
    assert agents_of(result) == {"tester": 4}
    assert (result.together.agents, result.together.agents_limited_by) == (4, "max_parallel")


def test_a_pool_limits_its_agent_and_is_named() -> None:
    result = report(*(a_slice(f"s{n}") for n in range(6)))
    assert agents_of(result) == {"coder": 3}
    assert (result.together.agents, result.together.agents_limited_by) == (3, "the pool of coder")


def test_several_pools_that_limit_are_all_named() -> None:
    agents = {"one": {"use": "claude", "pool": 1}, "two": {"use": "codex", "pool": 1}}
    slices = [a_slice(f"s{n}", agent="one" if n % 2 else "two") for n in range(4)]
    result = report(*slices, agents=agents, agent="one").together
    assert (result.agents, result.agents_limited_by) == (2, "the pools of two, one")


def test_the_slices_that_keep_most_agents_busy_count() -> None:
    result = report(a_slice("a", pipeline="fan"), a_slice("b", agent="tester"), a_slice("c"), max_parallel=2)
    assert result.together.agents == 3
    assert agents_of(result) == {"coder": 2, "tester": 2}


def test_slices_that_wait_for_each_other_keep_one_agent_busy() -> None:
    chain = [a_slice("a", agent="tester"), a_slice("b", "a", agent="tester"), a_slice("c", "b")]
    result = report(*chain, a_slice("x"), a_slice("y"))
    assert agents_of(result) == {"tester": 1, "coder": 3}


def test_in_a_very_large_plan_the_order_is_not_asked_for_each_agent() -> None:
    plan = compiled(a_slice("a", agent="tester"), a_slice("b", "a", agent="tester"), a_slice("c"))
    finder = Profiles(plan.plan)
    profiles = finder.by_row()
    most = {
        rows: together(plan, (), profiles, finder.agents, starting=2, most_rows=rows).each[0].at_most
        for rows in (3, 4)
    }
    assert most == {3: 2, 4: 1}


def steps_at_once(*steps: dict[str, Any], **plan: Any) -> int:
    agents = {"coder": {"use": "claude"}}
    return report(a_slice("a", steps=list(steps)), agents=agents, **plan).together.agents


def step(id_: str, *depends_on: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "prompt": "x", "depends_on": list(depends_on), **more}


JOIN = {"id": "join", "action": "join", "depends_on": ["a", "b", "c"]}
BRANCHES = [step(name, **{"async": True}) for name in "abc"]


@pytest.mark.parametrize(
    ("steps", "plan", "agents"),
    [
        ([step("a"), step("b")], {}, 1),
        ([*BRANCHES, JOIN], {}, 3),
        ([*BRANCHES, step("d"), JOIN], {}, 4),
        ([*BRANCHES, JOIN, step("d")], {}, 3),
        ([*BRANCHES, JOIN], {"max_concurrency": 2}, 2),
        ([*BRANCHES, step("d"), JOIN], {"max_concurrency": 2}, 3),
        ([*BRANCHES[:2], step("c", "a", "b", **{"async": True}), JOIN], {}, 2),
        ([*BRANCHES[:2], step("c", **{"async": True}, condition="never"), JOIN], {}, 2),
        ([{"id": "go", "run": "make"}], {}, 0),
    ],
)
def test_the_agents_at_once_in_one_slice_follow_from_its_steps(
    steps: list[dict[str, Any]], plan: dict[str, Any], agents: int
) -> None:
    assert steps_at_once(*steps, **plan) == agents


def test_the_steps_of_a_nested_pipeline_count_where_it_stands() -> None:
    inner = [*BRANCHES, JOIN]
    nested: list[dict[str, Any]] = [
        {"id": "one", "pipeline": "inner", "async": True},
        {"id": "two", "pipeline": "inner", "async": True},
        {"id": "all", "action": "join", "depends_on": ["one", "two"]},
    ]
    assert steps_at_once(*nested, pipelines={"inner": inner}) == 6
    assert steps_at_once(*nested, pipelines={"inner": inner}, max_concurrency=2) == 2
    in_turn = [{"id": "one", "pipeline": "inner"}, {"id": "two", "pipeline": "inner"}]
    assert steps_at_once(*in_turn, pipelines={"inner": inner}) == 3


def test_a_serial_plan_has_one_agent_at_a_time() -> None:
    result = report(a_slice("a", pipeline="fan"), a_slice("b"), policy="serial").together
    assert (result.serial, result.agents, result.agents_limited_by) == (True, 1, "policy: serial")


def test_a_serial_group_counts_for_one_agent() -> None:
    serial = group("g", *(a_slice(f"s{n}", pipeline="fan") for n in range(3)), policy="serial")
    result = report(serial, a_slice("x", agent="tester"), a_slice("y", agent="tester")).together
    assert (result.serial, result.slices, result.agents) == (False, 4, 3)


def test_a_group_that_is_parallel_within_a_serial_plan_is_not_held_up() -> None:
    inner = group("g", a_slice("a"), a_slice("b"), policy="parallel")
    assert report(inner, a_slice("c"), policy="serial").together.agents == 3


def test_pools_are_reported_with_the_steps_that_claim_them() -> None:
    fan = [a_slice(f"s{n}", pipeline="fan") for n in range(3)]
    result = report(*fan, a_slice("x"), pools={"db": 1, "spare": {"values": ["a", "b"]}})
    expected = {(use.name, use.of_agent, use.size, use.steps, use.slices) for use in result.pools}
    assert expected == {("db", False, 1, 1, 3), ("spare", False, 2, 0, 0), ("coder", True, 3, 3, 4)}
    assert all(use.kept for use in result.pools)


def test_pools_are_kept_only_if_that_is_proved() -> None:
    assert [use.kept for use in check_report(compiled(a_slice("a")), UNKNOWN).pools] == [False]


def test_a_step_that_claims_nothing_when_it_runs_is_no_claimant() -> None:
    result = report(a_slice("a", pipeline="outer", verify="x"))
    assert [(use.name, use.steps) for use in result.pools] == [("db", 1), ("coder", 1)]


# Eligibility and overlaps.


def test_a_slice_is_eligible_if_neither_it_nor_what_is_around_it_waits() -> None:
    result = report(
        a_slice("a"),
        group("g", a_slice("b"), a_slice("c", "b"), group("h", a_slice("d")), depends_on=["a"]),
        group("i", a_slice("e"), a_slice("f", "/g/b")),
    ).eligibility
    assert result.eligible == ("a", "i/e")
    assert {waiting.path: waiting.reason for waiting in result.ineligible} == {
        "g/b": "blocked by a",
        "g/c": "blocked by g/b, a",
        "g/h/d": "blocked by a",
        "i/f": "blocked by g/b",
    }


def test_a_slice_that_waits_because_of_an_overlap_says_so() -> None:
    result = report(
        a_slice("a", files=["x"]),
        a_slice("b", files=["x"]),
        a_slice("c", "b", files=["x"]),
        overlap="serialize",
    ).eligibility
    assert result.eligible == ("a",)
    assert [waiting.reason for waiting in result.ineligible] == ["waits for a (overlap)", "blocked by b"]


def test_both_reasons_to_wait_are_reported() -> None:
    result = report(
        a_slice("a", files=["x"]), a_slice("b"), a_slice("c", "b", files=["x"]), overlap="serialize"
    ).eligibility
    assert [waiting.reason for waiting in result.ineligible] == ["blocked by b; waits for a (overlap)"]


def apart(*subplans: dict[str, Any], **plan: Any) -> dict[str, Apart]:
    return {f"{pair.first} {pair.second}": pair.apart for pair in report(*subplans, **plan).overlaps.pairs}


X = {"files": ["x/**"]}


def test_what_keeps_overlapping_subplans_apart_is_reported() -> None:
    assert apart(a_slice("a", **X), a_slice("b", **X)) == {"a b": Apart.NOTHING}
    assert apart(a_slice("a", **X), a_slice("b", "a", **X)) == {"a b": Apart.DEPENDS_ON}
    assert apart(a_slice("a", **X), a_slice("b", **X), max_parallel=1) == {"a b": Apart.MAX_PARALLEL}
    assert apart(a_slice("a", **X), a_slice("b", **X), policy="serial") == {"a b": Apart.SERIAL}
    serial = [group(name, a_slice("s", **X), a_slice("t"), policy="serial") for name in "gh"]
    assert apart(*serial) == {"g/s h/s": Apart.NOTHING}


def test_an_order_of_the_plan_is_reported_as_such_where_others_are_serialized() -> None:
    result = apart(a_slice("a", **X), a_slice("b", "a", **X), a_slice("c", **X, overlap="serialize"))
    assert result == {"a b": Apart.DEPENDS_ON, "a c": Apart.SERIALIZE, "b c": Apart.SERIALIZE}


def test_those_that_may_run_together_come_first_and_are_warned_of() -> None:
    result = report(a_slice("a", **X), a_slice("b", "a", **X), a_slice("c", files=["x/y.py"]))
    assert [(pair.first, pair.second) for pair in result.overlaps.pairs] == [
        ("a", "c"),
        ("b", "c"),
        ("a", "b"),
    ]
    assert [problem.message for problem in result.warnings] == [
        *[problem.message for problem in result.plan_warnings],
        "a and c may run together, and x/** and x/y.py can be the same file",
        "b and c may run together, and x/** and x/y.py can be the same file",
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"), [("x/y.py", "both own x/y.py"), ("x/*.py", "both expect to touch x/*.py")]
)
def test_two_slices_that_own_one_file_are_warned_of(pattern: str, expected: str) -> None:
    result = report(a_slice("a", files=[pattern]), a_slice("b", files=[pattern]))
    (warning,) = result.overlaps.warnings
    assert warning.message == f"a and b may run together, and {expected}"
    assert (warning.severity, warning.at.line) == ("warning", 1)


@pytest.mark.parametrize(
    ("slices", "last"),
    [
        (4, "1 more pair of subplans may run together and touch the same files"),
        (5, "5 more pairs of subplans may run together and touch the same files"),
    ],
)
def test_many_overlaps_are_few_warnings(slices: int, last: str) -> None:
    result = report(*(a_slice(f"s{n}", **X) for n in range(slices)))
    assert len(result.overlaps.warnings) == 6
    assert result.overlaps.warnings[-1].message == last


# Time.


def test_the_critical_path_is_the_longest_chain() -> None:
    result = report(a_slice("a"), a_slice("b", "a"), a_slice("c"), a_slice("d", "b")).critical_path
    assert result.slices == ("a", "b", "d")
    assert (result.minutes, result.unestimated) == (None, 3)


def test_estimates_decide_which_chain_is_the_longest() -> None:
    long = a_slice("c", estimate={"minutes": "10..30"})
    result = report(a_slice("a"), a_slice("b", "a"), long, a_slice("d", "c")).critical_path
    assert result.slices == ("c", "d")
    assert (result.minutes, result.unestimated) == ((10.0, 30.0), 1)


def test_the_order_made_by_overlaps_counts_for_the_critical_path() -> None:
    result = report(a_slice("a", **X), a_slice("b", **X), overlap="serialize").critical_path
    assert result.slices == ("a", "b")


def test_without_estimates_nothing_is_said_of_time() -> None:
    result = report(a_slice("a")).makespan
    assert (result.estimated, result.best, result.worst) == (0, None, None)


def test_with_some_estimates_only_the_best_case_is_known() -> None:
    result = report(a_slice("a", estimate={"minutes": "10..30"}), a_slice("b", "a")).makespan
    assert (result.estimated, result.best, result.worst) == (1, 10.0, None)


def test_an_estimate_without_minutes_says_nothing_of_time() -> None:
    assert report(a_slice("a", estimate={"cost": 1})).makespan.estimated == 0


def test_the_best_case_is_the_critical_path_or_the_work_shared_out() -> None:
    even = [a_slice(f"s{n}", estimate={"minutes": "10..20"}) for n in range(4)]
    assert report(*even, max_parallel=2).makespan.best == 20.0
    chain = [a_slice("a", estimate={"minutes": 5}), a_slice("b", "a", estimate={"minutes": 7})]
    assert report(*chain).makespan.best == 12.0


def test_the_worst_case_has_every_attempt_one_after_the_other() -> None:
    result = report(
        a_slice("a", estimate={"minutes": "1..10"}, verify="x", retries=3),
        a_slice("b", estimate={"minutes": "1..5"}, retries=0),
    ).makespan
    assert result.worst == 4 * 10 + 5


# Calls and money.


def test_the_slice_with_the_most_calls_is_named() -> None:
    result = report(a_slice("a"), a_slice("b", pipeline="loops"), a_slice("c", pipeline="loops")).agent_calls
    assert (result.at_most, result.worst_slice, result.worst, result.worst_slices) == (15, "b", 6, 2)


def test_an_agent_is_called_again_when_its_work_fails_or_when_it_crashes() -> None:
    assert report(a_slice("a", verify="x"), a_slice("b")).agent_calls.at_most == 3 + 3
    once = [{"id": "go", "prompt": "x", "on_error": "abort"}]
    assert report(a_slice("a", verify="x"), a_slice("b", steps=once)).agent_calls.at_most == 3 + 1


def test_a_plan_without_agents_has_no_calls_and_costs_nothing() -> None:
    result = report(a_slice("a", steps=[{"id": "go", "run": "make"}]))
    assert result.agent_calls.to_json() == {"at_most": 0, "worst_slice": None, "worst": 0, "worst_slices": 0}
    assert result.spend.to_json() == {
        "worst_micro_dollars": 0,
        "unpriced_steps": 0,
        "limited_by": None,
        "unreserved_steps": 0,
    }


def spend(*subplans: dict[str, Any], **plan: Any) -> tuple[int | None, int, str]:
    result = report(*subplans, **plan).spend
    return result.worst, result.unpriced, result.limited_by


def test_spend_is_every_call_at_its_max_cost() -> None:
    assert spend(a_slice("a", agent="tester", verify="x")) == (3 * 250_000, 0, "max_cost")


def test_the_max_cost_of_a_step_outranks_that_of_its_agent() -> None:
    steps = [{"id": "go", "agent": "tester", "prompt": "x", "max_cost": 0.1}]
    assert spend(a_slice("a", steps=steps)) == (300_000, 0, "max_cost")


def test_a_price_that_is_missing_makes_the_spend_unknown_never_zero() -> None:
    assert spend(a_slice("a"), a_slice("b", agent="tester"), a_slice("c")) == (None, 2, "")


def test_the_budget_of_the_plan_is_the_worst_case_where_prices_are_missing() -> None:
    assert spend(a_slice("a"), budget=20) == (20_000_000, 0, "the plan's budget")


def test_a_budget_that_cannot_be_reached_is_not_the_worst_case() -> None:
    assert spend(a_slice("a", agent="tester"), budget=20) == (750_000, 0, "max_cost")
    assert spend(a_slice("a", agent="tester"), budget=0.75) == (750_000, 0, "max_cost")


def test_a_budget_counts_for_its_own_subtree_only() -> None:
    limited = group("g", a_slice("a"), a_slice("b"), budget=2)
    assert spend(limited, a_slice("c", agent="tester", retries=0)) == (2_250_000, 0, "the budget of g")
    assert spend(limited, a_slice("c", budget=1)) == (3_000_000, 0, "budgets of subplans")
    assert spend(limited, a_slice("c")) == (None, 1, "")
    assert spend(limited, a_slice("c"), budget=1.5) == (1_500_000, 0, "the plan's budget")


def test_a_budget_of_the_command_line_or_of_a_configuration_counts_for_the_whole() -> None:
    text = "{weft: 1, plan: p, agents: {c: {use: claude}}, subplans: [{id: a, prompt: x, budget: 3}]}"
    project = Config(layer=Layer("project", {"budget": 2_000_000}), agents={})
    plan = compile_plan(load_plan(text, configs=[project]))
    assert check_report(plan, PROVED).spend.limited_by == "the project's budget"
    flags = Layer("the command line", {"budget": 1_000_000})
    result = check_report(compile_plan(load_plan(text, configs=[project], flags=flags)), PROVED).spend
    assert (result.worst, result.limited_by) == (1_000_000, "the budget of the command line")


@pytest.mark.parametrize(
    ("plan", "steps"),
    [({}, 1), ({"budget": 9}, 3), ({"budget": 9, "reserve": 1}, 0), ({"budget": {"tokens": 5}}, 1)],
)
def test_steps_below_a_ceiling_for_which_nothing_is_reserved_are_counted(
    plan: dict[str, Any], steps: int
) -> None:
    limited = group("g", a_slice("a"), a_slice("b", agent="tester"), budget=2)
    assert report(limited, a_slice("c"), a_slice("d"), **plan).spend.unreserved == steps


def test_a_budget_of_the_command_line_outranks_that_of_the_plan() -> None:
    text = "{weft: 1, plan: p, budget: 9, agents: {c: {use: claude}}, subplans: [{id: a, prompt: x}]}"
    flags = Layer("the command line", {"budget": 10_000_000})
    assert check_report(compile_plan(load_plan(text, flags=flags)), PROVED).spend.worst == 10_000_000


# For programs.


def test_the_json_has_this_shape() -> None:
    plan = compiled(
        group("g", a_slice("a", verify="t", **X), a_slice("b", "a", verify="t"), verify="t"),
        a_slice("c", verify="t", estimate={"minutes": "2..5"}, files=["x/y"], agent="tester"),
        budget=9,
    )
    proof = Proof(answer=Answer.PROVED, why="so it is")
    result = check_report(plan, proof)
    sized = replace(
        result, counts=replace(result.counts, places=98, transitions=175)
    )  # that of the net is no matter
    assert sized.to_json() == snapshot(
        {
            "plan": "p",
            "finish": {
                "answer": "proved",
                "why": "so it is",
                "trace": [],
            },
            "counts": {"subplans": 4, "groups": 1, "slices": 3, "net": {"places": 98, "transitions": 175}},
            "pipelines": [{"pipeline": "direct", "slices": 3, "agent_calls_per_slice": 3}],
            "together": {
                "slices": 2,
                "reached": 2,
                "limited_by": "the order of the plan",
                "serial": False,
                "agents": 2,
                "agents_limited_by": "the order of the plan",
                "each": [
                    {"agent": "coder", "at_most": 1, "pool": 3},
                    {"agent": "tester", "at_most": 1, "pool": None},
                ],
            },
            "pools": [{"pool": "coder", "of_agent": True, "size": 3, "steps": 1, "slices": 2, "kept": True}],
            "overlaps": {
                "pairs": [
                    {"first": "g/a", "second": "c", "shared": [["x/**", "x/y"]], "kept_apart_by": "nothing"}
                ],
                "more": False,
                "companions": [],
            },
            "critical_path": {"slices": ["c"], "minutes": [2.0, 5.0], "unestimated": 0},
            "makespan": {"estimated": 1, "best_minutes": 2.0, "worst_minutes": None},
            "agent_calls": {"at_most": 9, "worst_slice": "g/a", "worst": 3, "worst_slices": 3},
            "spend": {
                "worst_micro_dollars": 9000000,
                "unpriced_steps": 0,
                "limited_by": "the plan's budget",
                "unreserved_steps": 2,
            },
            "built_in_agents": [],
            "landing_verifies": {"results": 2, "batch": 32, "at_least": 1, "at_most": 2},
            "warnings": [
                {
                    "severity": "warning",
                    "file": "weft.yaml",
                    "line": 1,
                    "column": 455,
                    "message": "g/a and c may run together, and x/** and x/y can be the same file",
                }
            ],
        }
    )


# Who resolves conflicts


def test_an_agent_that_may_have_to_resolve_a_conflict_counts_as_a_call() -> None:
    head = {"isolation": "worktree", "merge": {"resolve": "agent"}}
    slices = (a_slice("a", verify="x", steps=[{"id": "r", "run": "x"}]), a_slice("b", retries=0))
    result = report(*slices, **head)
    assert result.agent_calls.at_most == 1 + 2
    assert result.spend.unpriced == 3
    without = report(*slices)
    assert without.agent_calls.at_most == 1
