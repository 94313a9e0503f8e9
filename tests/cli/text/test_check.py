"""What `weft check` says: exact texts, since their wording is designed."""

from typing import Any

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from plan.small_plans import compiled
from weft.app.check.eligibility_rules import BlockKind, Eligibility, Eligible, Ineligible
from weft.app.history.ceiling_use import CeilingUse, EarlierRuns
from weft.cli.terminal import wrap_lines
from weft.cli.text.check import check_lines
from weft.cli.text.sections import LABEL
from weft.engine.messages.facts import EarlierSpending
from weft.net.verdict import Answer
from weft.plan.compile.actions import ActionKind
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.parts import END, READY, Act, Role, ShapeBuilder
from weft.plan.loader.load import load_plan
from weft.plan.proof.prove import Proof, prove
from weft.plan.report.check import CheckReport, check_report
from weft.plan.report.companions import FilePair
from weft.plan.report.costs import Spend

NOTES = """
weft: 1
plan: notes
max_parallel: 4
budget: 20.00
agent: coder
agents:
  coder:  {use: claude, pool: 3}
  tester: {use: claude, pool: 2}
pools: {staging-db: 1}
pipelines:
  careful:
    - {id: tests, agent: tester, prompt: "{{ slice.prompt }}"}
    - {id: code, agent: coder, prompt: "{{ feedback }}"}
    - {id: check, action: verify, on_fail: {retry_from: code, max: 3}}
subplans:
  - id: store
    verify: make test
    subplans:
      - {id: model, prompt: Note type, verify: make test, pipeline: careful}
      - {id: disk, prompt: Save and load, depends_on: [model], verify: make test}
  - {id: cli, depends_on: [store], prompt: Command line, verify: make test}
"""
FORECAST = "For a forecast, type: weft simulate"


def checked(text: str) -> CheckReport:
    plan = compile_plan(load_plan(text))
    return check_report(plan, prove(plan))


def report(*subplans: dict[str, Any], **plan: Any) -> CheckReport:
    result = compiled(*({"verify": "make"} | subplan for subplan in subplans), **plan)
    return check_report(result, prove(result))


def lines(report: CheckReport, *, verbose: bool = False, width: int | None = None) -> list[str]:
    return list(wrap_lines(check_lines(report, before_any_run(report), verbose=verbose), width))


def before_any_run(report: CheckReport) -> Eligibility:
    waiting = report.eligibility.ineligible
    return Eligibility(
        eligible=tuple(map(Eligible, report.eligibility.eligible)),
        ineligible=tuple(
            Ineligible(path=item.path, kind=BlockKind.BLOCKED, waiting=item) for item in waiting
        ),
    )


def section(label: str, report: CheckReport, *, verbose: bool = False) -> list[str]:
    """The lines that belong to a label, without it."""
    values: list[str] = []
    current = ""
    for line in lines(report, verbose=verbose):
        current = line[:LABEL].strip() or current
        values += [line[LABEL:]] if current == label else []
    return values


def sized(report: CheckReport) -> CheckReport:
    """The same with a net of another size: what that is in truth is no matter of texts."""
    return replace(report, counts=replace(report.counts, places=1234, transitions=5678))


# Whole texts.


def test_a_small_plan_is_reported_in_a_few_lines() -> None:
    assert lines(checked(NOTES)) == snapshot(
        [
            "Finish    Every run of this plan ends: each of its 4 subplans ends exactly once.",
            "Pools     Never oversubscribed and always returned: coder (3), tester (2).",
            "          No step takes from staging-db.",
            "Together  At most 1 slice runs at once (the order of the plan), with one agent at a time.",
            "Start     1 slice can start right away, with nothing it depends on: store/model.",
            "Blocked   2 slices wait:",
            "            store/disk  blocked by store/model",
            "            cli         blocked by store",
            "Chain     Longest chain: store/model → store/disk → cli (3 slices).",
            "Verify    verify runs at most 2 times before landings while it passes, for 2 results: results that",
            "            are ready at the same time are verified together.",
            "Time      For a forecast, type: weft simulate",
            "Cost      At most 13 agent calls (7 for store/model); worst-case spend $20.00 (the plan's budget).",
            "          Nothing is reserved for 4 agent steps: they have no max_cost and no reserve.",
        ]
    )


def test_verbose_adds_formal_names_and_assumptions() -> None:
    assert lines(sized(checked(NOTES)), verbose=True) == snapshot(
        [
            "Finish    Every run of this plan ends: each of its 4 subplans ends exactly once.",
            "          By: 4 shapes of subplans, each a sound free-choice workflow net (rank theorem); above them",
            "            an acyclic marked graph of 9 nodes and 9 places with one source and one sink; sound,",
            "            safe nets in place of its transitions keep it sound; all claims on pools come back.",
            "          The net has 1,234 places and 5,678 transitions.",
            "Pools     Never oversubscribed and always returned: coder (3), tester (2).",
            "          By: each outcome of a step gives back what it took, and no claim is larger than its pool.",
            "            coder: 2 steps in 3 slices take from it.",
            "            tester: 1 step in 1 slice takes from it.",
            "          No step takes from staging-db.",
            "Together  At most 1 slice runs at once (the order of the plan), with one agent at a time.",
            "          By: the fewest chains that cover the plan's order (Dilworth), within each max_parallel.",
            "Start     1 slice can start right away, with nothing it depends on: store/model.",
            "Blocked   2 slices wait:",
            "            store/disk  blocked by store/model",
            "            cli         blocked by store",
            "Chain     Longest chain: store/model → store/disk → cli (3 slices).",
            "          By: the longest path through the order of the plan.",
            "Verify    verify runs at most 2 times before landings while it passes, for 2 results: results that",
            "            are ready at the same time are verified together.",
            "Time      No slice has an estimate, so nothing is said about time.",
            "          For a forecast, type: weft simulate",
            "Cost      At most 13 agent calls (7 for store/model); worst-case spend $20.00 (the plan's budget).",
            "          Nothing is reserved for 4 agent steps: they have no max_cost and no reserve.",
            "          By: the copies of each agent step in the net, with all attempts unrolled.",
            "          At most 7 agent calls for a slice of pipeline careful (1 slice).",
            "          At most 3 agent calls for a slice of pipeline direct (2 slices).",
            "          Calls that are repeated because a host was lost are not counted.",
            "          When a budget is reached nothing new starts; a running step can still exceed it.",
        ]
    )


def test_a_plan_with_overlaps_and_estimates() -> None:
    text = """
weft: 1
plan: shop
max_parallel: 2
agents: {coder: {use: claude, max_cost: 0.50}}
subplans:
  - {id: api, prompt: x, verify: t, files: [src/**], estimate: {minutes: 5..20}}
  - {id: web, prompt: x, verify: t, files: [src/web/*.ts], estimate: {minutes: 30..90}}
  - {id: docs, prompt: x, verify: t, files: [docs/a.md], depends_on: [api], estimate: {minutes: 10}}
  - {id: site, prompt: x, verify: t, files: [docs/a.md], overlap: serialize, estimate: {minutes: 0.5..1}}
"""
    assert lines(checked(text)) == snapshot(
        [
            "Finish    Every run of this plan ends: each of its 4 subplans ends exactly once.",
            "Together  At most 2 slices run at once (max_parallel), with at most 2 coder.",
            "Start     3 slices can start right away, with nothing they depend on: api, web, site.",
            "Blocked   1 slice waits:",
            "            docs  blocked by api; waits for site (overlap)",
            "Overlap   2 pairs of subplans can touch the same files:",
            "            api and web    src/**, src/web/*.ts  may run together",
            "            docs and site  docs/a.md             kept apart (overlap: serialize)",
            "          Order them with depends_on, or keep them apart with overlap: serialize.",
            "Chain     Longest chain: web (1 slice, 30 min to 1 h 30 min).",
            "Verify    verify runs at most 4 times before landings while it passes, for 4 results: results that",
            "            are ready at the same time are verified together.",
            "Time      From 30 min to 6 h 3 min.",
            "          For a forecast, type: weft simulate",
            "Cost      At most 12 agent calls (3 for one slice); worst-case spend $6.00 (max_cost).",
        ]
    )


def test_a_large_plan_is_reported_in_as_few_lines() -> None:
    slices = [
        {"id": f"s{n}", "files": ["src/**"], "depends_on": [f"s{n - 10}"] if n >= 10 else []}
        for n in range(300)
    ]
    assert lines(report(*slices, budget=100)) == snapshot(
        [
            "Finish    Every run of this plan ends: each of its 300 subplans ends exactly once.",
            "Pools     Never oversubscribed and always returned: coder (3).",
            "Together  At most 4 slices run at once (max_parallel), with at most 3 coder (the pool of coder).",
            "Start     10 slices can start right away, with nothing they depend on: s0, s1, s2, s3, s4 … and 5",
            "            more.",
            "Blocked   290 slices wait:",
            "            s10  blocked by s0",
            "            s11  blocked by s1",
            "            s12  blocked by s2",
            "            s13  blocked by s3",
            "            s14  blocked by s4",
            "            … and 285 more.",
            "Overlap   At least 1,000 pairs of subplans can touch the same files:",
            "            s0 and s1  src/**  may run together",
            "            s0 and s2  src/**  may run together",
            "            s0 and s3  src/**  may run together",
            "            s0 and s4  src/**  may run together",
            "            s0 and s5  src/**  may run together",
            "            … and 995 more.",
            "          Order them with depends_on, or keep them apart with overlap: serialize.",
            "Chain     Longest chain: s0 → s10 → s20 → … → s290 (30 slices).",
            "Verify    verify runs at most 300 times before landings while it passes, for 300 results: up to 32",
            "            results that are ready at the same time are verified together.",
            "Time      For a forecast, type: weft simulate",
            "Cost      At most 900 agent calls (3 for one slice); worst-case spend $100.00 (the plan's budget).",
            "          Nothing is reserved for 300 agent steps: they have no max_cost and no reserve.",
        ]
    )


@pytest.mark.parametrize("width", [60, 100, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    slices = [{"id": f"{'long-name-' * 4}{n}", "files": ["src/**"]} for n in range(9)]
    widest = max(map(len, lines(report(*slices), verbose=True, width=width)))
    assert width - 10 < widest <= width


# Can it finish?


def test_a_plan_of_one_subplan() -> None:
    outcome = report({"id": "a"})
    assert section("Finish", outcome) == ["Every run of this plan ends: its one subplan ends exactly once."]
    assert section("Together", outcome) == ["There is one slice, with at most 1 coder."]
    assert section("Chain", outcome) == []
    assert section("Cost", outcome) == [
        "At most 3 agent calls; worst-case spend unknown: 1 agent step has no max_cost and no",
        "  budget stands above it.",
    ]


def test_a_plan_that_can_get_stuck_is_reported_with_the_shortest_way_there_and_nothing_else() -> None:
    shape = ShapeBuilder({})
    left, right = shape.place("left", carries=False), shape.place("right", carries=False)
    code = Act(Role.RUN, ActionKind.AGENT, "code", 1)
    shape.choice("run code#1", code, [READY], [("done", [left, right]), ("failed", [right])])
    shape.move("close", Act(Role.CLOSE), [left, right], [END])
    plan = compiled({"id": "a", "verify": "make"})
    shapes = tuple(shape.shape() if n == plan.shape_of[1] else item for n, item in enumerate(plan.shapes))
    broken = replace(plan, shapes=shapes)
    assert lines(check_report(broken, prove(broken))) == [
        "Finish    This plan may never end: a can get stuck: nothing more can happen in it, and it has not",
        "            ended.",
        "          The shortest way there:",
        "            1. a: step code starts",
        "            2. a: step code fails",
    ]


def test_a_circle_is_shown_as_a_chain_of_waits() -> None:
    plan = compiled({"id": "a"}, {"id": "b"})
    plan.wiring.followers[1].append(2)
    plan.wiring.followers[2].append(1)
    assert section("Finish", check_report(plan, prove(plan))) == [
        "This plan may never end: a waits for itself, so it never starts.",
        "The shortest way there:",
        "  1. a waits for b",
        "  2. b waits for a",
    ]


def test_a_fault_without_a_trace_is_one_sentence() -> None:
    plan = compiled({"id": "a"}, {"id": "b"})
    plan.wiring.closes[0].pop()
    assert section("Finish", check_report(plan, prove(plan))) == [
        "This plan may never end: the plan itself must be its only end; this is what it ends with:",
        "  the end of the plan, the landing of b.",
    ]


def test_a_long_trace_is_cut_in_the_middle() -> None:
    trace = tuple(f"step {n}" for n in range(1, 1001))
    proof = Proof(answer=Answer.REFUTED, why="a can get stuck", trace=trace)
    result = section("Finish", replace(report({"id": "a"}), finish=proof))
    assert len(result) == 2 + 51
    assert result[2] == "     1. step 1"
    assert result[26:29] == ["    25. step 25", "  … 950 more …", "   976. step 976"]


def test_what_could_not_be_decided_is_said_and_the_rest_is_reported_all_the_same() -> None:
    proof = Proof(answer=Answer.UNKNOWN, why="a: unknown after 200,000 states")
    result = sized(check_report(compiled({"id": "a"}), proof))
    assert section("Finish", result) == [
        "Whether every run of this plan ends is not known: a: unknown after 200,000 states."
    ]
    assert section("Finish", result, verbose=True)[1:] == ["The net has 1,234 places and 5,678 transitions."]
    assert section("Pools", result) == ["coder (3)."]
    assert section("Start", result) == ["1 slice can start right away, with nothing it depends on: a."]


# What can run together?


@pytest.mark.parametrize(
    ("subplans", "plan", "told"),
    [
        ([{"id": "a"}, {"id": "b"}], {}, "Both slices can run at once, with at most 2 coder."),
        (
            [{"id": "a"}, {"id": "b"}, {"id": "c", "agent": "tester"}],
            {},
            "All 3 slices can run at once, with at most 2 coder and 1 tester.",
        ),
        (
            [{"id": f"s{n}"} for n in range(9)],
            {},
            "At most 4 slices run at once (max_parallel), with at most 3 coder (the pool of coder).",
        ),
        (
            [{"id": f"s{n}", "pipeline": "loops"} for n in range(3)],
            {"max_parallel": 2},
            "At most 2 slices run at once (max_parallel), with at most 2 agents: at most 2 coder and 2 tester.",
        ),
        (
            [{"id": "a", "pipeline": "loops"}, {"id": "b", "depends_on": ["a"]}],
            {},
            "At most 1 slice runs at once (the order of the plan), with one agent at a time.",
        ),
        ([{"id": "a"}, {"id": "b"}], {"policy": "serial"}, "One step at a time (policy: serial)."),
        (
            [{"id": name, "steps": [{"id": "go", "run": "make"}]} for name in ("a", "b")],
            {},
            "Both slices can run at once.",
        ),
    ],
)
def test_what_runs_together_is_one_sentence(
    subplans: list[dict[str, Any]], plan: dict[str, Any], told: str
) -> None:
    assert " ".join(map(str.strip, section("Together", report(*subplans, **plan)))) == told


def test_a_bound_that_may_be_too_high_says_what_is_certain() -> None:
    outcome = report({"id": "a"}, {"id": "b"})
    loose = replace(outcome, together=replace(outcome.together, reached=1))
    assert section("Together", loose)[1] == (
        "1 at once are possible for certain; whether more are was not found out."
    )


def test_overlaps_beyond_a_limit_are_said_to_be_more() -> None:
    files = {"files": ["x"]}
    outcome = report({"id": "a"} | files, {"id": "b"} | files)
    more = replace(outcome, overlaps=replace(outcome.overlaps, more=True))
    assert section("Overlap", more)[0] == "At least 1 pair of subplans can touch the same files:"
    none = replace(outcome, overlaps=replace(outcome.overlaps, pairs=(), more=True))
    assert section("Overlap", none) == [
        "There are too many patterns in files: to compute which subplans can touch the same files."
    ]


def test_files_that_used_to_change_together_come_after_overlaps() -> None:
    a, b, c = (
        {"id": name, "files": files} for name, files in {"a": ["x"], "b": ["x", "y"], "c": ["z"]}.items()
    )
    history = [FilePair("x/1", "z/1", 1_234), FilePair("y", "z/1", 4), FilePair("y/2", "z/2", 3)]
    plan = compiled(a, b, c)
    result = check_report(plan, prove(plan), history)
    text = "2 pairs of subplans may run together and own files that used to change together:"
    assert section("Overlap", result)[3:] == [
        text,
        "  a and c  x/1, z/1 (1,234 times)",
        "  b and c  x/1, z/1 (1,234 times)  and 2 more",
    ]
    assert section("Overlap", result, verbose=True)[-1] == (
        "By: three or more of the last 1,000 commits touched both files, merges not counted."
    )


def test_a_pair_that_is_kept_apart_needs_no_advice() -> None:
    outcome = report({"id": "a", "files": ["x", "y"]}, {"id": "b", "files": ["x", "y"], "depends_on": ["a"]})
    assert section("Overlap", outcome) == [
        "1 pair of subplans can touch the same files:",
        "  a and b  x and 1 more  one waits for the other",
    ]
    assert section("Overlap", outcome, verbose=True)[1] == "  a and b  x; y  one waits for the other"


# How long, how much?


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        ("0.5..0.9", "From 0 min to 1 min."),
        ("1.9..1.9", "From 1 min to 2 min."),
        ("7", "7 min."),
        ("60..125", "From 1 h to 2 h 5 min."),
        ("119.5..6000", "From 1 h 59 min to 100 h."),
    ],
)
def test_minutes_are_rounded_outwards(minutes: str, told: str) -> None:
    text = f"{{id: a, estimate: {{minutes: {minutes}}}, steps: [{{id: go, run: x}}]}}"
    assert section("Time", checked(f"{{weft: 1, plan: p, subplans: [{text}]}}")) == [told, FORECAST]


def test_estimates_that_are_missing_are_counted() -> None:
    outcome = report({"id": "a", "estimate": {"minutes": 130}}, {"id": "b", "depends_on": ["a"]})
    assert section("Time", outcome) == ["At least 2 h 10 min; 1 of 2 slices have no estimate.", FORECAST]
    assert section("Chain", outcome) == ["Longest chain: a → b (2 slices, 2 h 10 min without 1 of them)."]


def test_a_slice_that_takes_longer_than_any_chain_is_the_longest_chain() -> None:
    outcome = report({"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c", "estimate": {"minutes": 9}})
    assert section("Chain", outcome) == ["Longest chain: c (1 slice, 9 min)."]


@pytest.mark.parametrize(
    ("slices", "told"),
    [(4, "s0 → s1 → s2 → s3 (4 slices)"), (5, "s0 → s1 → s2 → … → s4 (5 slices)")],
)
def test_of_a_long_chain_the_first_and_the_last_are_named(slices: int, told: str) -> None:
    chain = [{"id": f"s{n}", "depends_on": [f"s{n - 1}"] if n else []} for n in range(slices)]
    assert section("Chain", report(*chain)) == [f"Longest chain: {told}."]


def test_the_longest_of_slices_that_do_not_wait_is_named_if_it_is_known() -> None:
    outcome = report({"id": "a", "estimate": {"minutes": "5..7"}}, {"id": "b"})
    assert section("Chain", outcome) == ["No slice waits for another; the longest is a (5 min to 7 min)."]
    assert section("Chain", report({"id": "a"}, {"id": "b"})) == ["No slice waits for another."]


def test_verbose_says_what_times_and_calls_are_about() -> None:
    steps = [{"id": "go", "prompt": "x"}]
    outcome = report({"id": "a", "estimate": {"minutes": 5}, "steps": steps})
    assert section("Time", outcome, verbose=True)[1:] == [
        FORECAST,
        "Best: every first attempt passes in its low estimate, and as many slices run at once as",
        "  can.",
        "Worst: one slice after the other, all attempts, each with its high estimate.",
        "Merges, waiting for people and lost hosts are not counted.",
    ]
    assert "At most 3 agent calls for a slice with steps of its own (1 slice)." in section(
        "Cost", outcome, verbose=True
    )


def test_a_plan_without_agents_says_so() -> None:
    outcome = report({"id": "a", "steps": [{"id": "go", "run": "make"}]})
    assert section("Cost", outcome, verbose=True) == ["No agent is called."]


def test_unknown_spend_is_reported_as_unknown() -> None:
    outcome = report({"id": "a"}, {"id": "b"})
    assert outcome.spend == Spend(worst=None, unpriced=2, limited_by="")
    assert " ".join(map(str.strip, section("Cost", outcome))) == (
        "At most 6 agent calls (3 for one slice); worst-case spend unknown: 2 agent steps have no max_cost and "
        "no budget stands above them."
    )


def test_warnings_come_last_and_are_bounded() -> None:
    group = {"id": "g", "prompt": "reaches nobody", "subplans": [{"id": "a", "verify": "make"}]}
    outcome = report(group, {"id": "b"})
    assert lines(outcome)[-2].startswith("Warning   weft.yaml:1:")
    assert "no agent sees the prompt of a group" in lines(outcome)[-2]
    many = replace(outcome, plan_warnings=outcome.plan_warnings * 8)
    assert section("Warning", many)[-1] == "… and 3 more."
    assert len(section("Warning", many, verbose=True)) == 8 * 2


def test_verbose_says_how_overlaps_are_found() -> None:
    text = """
weft: 1
plan: shop
agents: {coder: {use: claude}}
subplans:
  - {id: a, prompt: x, verify: v, files: [src/**]}
  - {id: b, prompt: x, verify: v, files: [src/b.py]}
"""
    assert "          By: the automata of two patterns have a path in common." in lines(
        checked(text), verbose=True
    )


def test_verbose_says_what_keeps_a_serial_plan_serial() -> None:
    printed_lines = lines(checked(NOTES.replace("plan: notes", "plan: notes\npolicy: serial")), verbose=True)
    at = printed_lines.index("Together  One step at a time (policy: serial).")
    assert printed_lines[at + 1] == "          By: a pool of one token, which every action takes."


# What earlier runs spent


def test_what_earlier_runs_leave_of_the_ceilings_is_reported() -> None:
    outcome = report({"id": "a"})
    earlier = EarlierRuns(
        total=EarlierSpending(cost=1_900_000, tokens=1_200, unknown=1),
        ceilings=(
            CeilingUse(path="", unit="usd", spent=1_900_000, ceiling=2_000_000),
            CeilingUse(path="g", unit="tokens", spent=1_200, ceiling=1_000),
        ),
    )
    values = list(check_lines(outcome, before_any_run(outcome), (), earlier, verbose=False))
    assert [line[LABEL:] for line in values[-4:]] == [
        "Earlier runs spent $1.90 and 1,200 tokens, and 1 call of unknown cost.",
        "That leaves $0.10 of $2.00, the budget of the plan.",
        "That leaves 0 tokens of 1,000 tokens, the budget of g, which is used up.",
        "To count from zero, type: weft run --fresh-budget",
    ]


def test_what_unreported_calls_of_earlier_runs_keep_is_no_longer_left() -> None:
    outcome = report({"id": "a"})
    use = CeilingUse(path="", unit="usd", spent=1_000_000, ceiling=2_000_000, unreported=300_000)
    earlier = EarlierRuns(total=EarlierSpending(cost=1_000_000, unknown=2), ceilings=(use,))
    values = list(check_lines(outcome, before_any_run(outcome), (), earlier, verbose=False))
    assert [line[LABEL:] for line in values[-3:]] == [
        "$0.30 stays reserved for agent calls that did not report their cost.",
        "That leaves $0.70 of $2.00, the budget of the plan.",
        "To count from zero, type: weft run --fresh-budget",
    ]


def test_without_a_ceiling_there_is_nothing_to_reset() -> None:
    outcome = report({"id": "a"})
    earlier = EarlierRuns(total=EarlierSpending(cost=1_900_000))
    values = list(check_lines(outcome, before_any_run(outcome), (), earlier, verbose=False))
    assert values[-1][LABEL:] == "Earlier runs spent $1.90."


# Agents of built-in pipelines


def test_agents_that_do_a_step_by_their_name_are_reported() -> None:
    agents = {name: {"use": "claude"} for name in ("coder", "tester", "judge")}
    outcome = report({"id": "a", "prompt": "x", "pipeline": "tdd"}, agent="coder", agents=agents)
    assert " ".join(section("Agents", outcome)).split("  ") == [
        "In the built-in pipeline tdd, tester does the step tests and judge does the step judge,",
        " since agents of such names exist.",
    ]
    assert outcome.to_json()["built_in_agents"] == [
        {"pipeline": "tdd", "step": "tests", "agent": "tester"},
        {"pipeline": "tdd", "step": "judge", "agent": "judge"},
    ]


def test_unused_pipelines_are_not_reported() -> None:
    agents = {name: {"use": "claude"} for name in ("coder", "tester")}
    assert section("Agents", report({"id": "a", "prompt": "x"}, agent="coder", agents=agents)) == []


# Verifies before landings


def verifies(*subplans: dict[str, Any], **plan: Any) -> str:
    outcome = report(*subplans, isolation="worktree", **plan)
    return " ".join(line.strip() for line in section("Verify", outcome))


def slices_named(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "steps": [{"id": "w", "run": "true"}]} for name in names]


def test_how_often_results_are_verified_before_they_land_is_reported() -> None:
    group = {"id": "g", "subplans": slices_named("a", "b")}
    assert verifies(group, *slices_named("c"), verify="make") == (
        "verify runs at most 2 times before landings while it passes, for 2 results: results that are ready "
        "at the same time are verified together."
    )
    three = verifies(group, *slices_named("c"), verify="make", merge={"when": "slice", "batch": 2})
    assert three == (
        "verify runs at most 3 times before landings while it passes, for 3 results: up to 2 results that "
        "are ready at the same time are verified together."
    )
    assert verifies(*slices_named("a", "b"), verify="make", merge={"batch": 1}) == (
        "verify runs at most 2 times before landings, once for each result, while it passes."
    )
    assert verifies(*slices_named("a"), verify="make") == "The one result is verified before it lands."


def test_programs_get_the_bounds_of_verifies_before_landings() -> None:
    names = [f"s{number}" for number in range(5)]
    outcome = report(*slices_named(*names), verify="make", merge={"batch": 2}, isolation="worktree")
    assert outcome.to_json()["landing_verifies"] == {"results": 5, "batch": 2, "at_least": 3, "at_most": 5}


def test_without_a_verify_or_a_landing_no_verifies_are_reported() -> None:
    unverified = compiled(*slices_named("a", "b"), isolation="worktree")
    assert section("Verify", check_report(unverified, prove(unverified))) == []
    assert section("Verify", report(*slices_named("a"), isolation="dir", verify="make")) == []
