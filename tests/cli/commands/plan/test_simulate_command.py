"""`weft simulate`: text, JSON, exit codes, bad input, and what it learns from real runs."""

import json
import os
import select
from pathlib import Path
from typing import Any

import pytest

from cli.running import Project
from cli.terminals import CTRL_C, Terminal

FEW = ("--runs", "20")
PLAN = """
max_parallel: 2
pools: {db: 1}
subplans:
  - {id: a, prompt: x, steps: [{id: one, run: 'true', pool: db, estimate: {minutes: 5..20, fail: 0.1}}]}
  - {id: b, prompt: x, steps: [{id: one, run: 'true', pool: db, estimate: {minutes: 10}}]}
  - {id: c, prompt: x, depends_on: [a], steps: [{id: two, run: 'true'}]}
"""
GROUPS = """
max_parallel: 6
subplans:
  - id: store
    max_parallel: 1
    subplans:
      - {id: a, prompt: x, steps: [{id: one, run: 'true', estimate: {minutes: 10}}]}
      - {id: b, prompt: x, steps: [{id: one, run: 'true', estimate: {minutes: 10}}]}
      - {id: c, prompt: x, steps: [{id: one, run: 'true', estimate: {minutes: 10}}]}
      - {id: d, prompt: x, steps: [{id: one, run: 'true', estimate: {minutes: 10}}]}
"""
PRICED = """
agents: {coder: {use: command, command: 'sh OUTSIDE/agent.sh', pool: 2}}
subplans:
  - {id: a, prompt: x, steps: [{id: code, prompt: do, estimate: {minutes: 1, cost: 2}}]}
  - {id: b, prompt: x, steps: [{id: code, prompt: do, estimate: {minutes: 1, cost: 2}}]}
"""


def data(project: Project, *arguments: str, code: int = 0) -> dict[str, Any]:
    done = project.weft("simulate", *FEW, "--json", *arguments)
    assert done.exit_code == code, done.output
    answer = json.loads(done.stdout)
    assert answer["weft"] == 1
    result: dict[str, Any] = answer["data"]
    return result


def lines(project: Project, *arguments: str, code: int = 0) -> dict[str, str]:
    """By their labels; what follows a section without a label of its own belongs to it."""
    done = project.weft("simulate", *FEW, *arguments)
    assert done.exit_code == code, done.output
    sections: dict[str, str] = {}
    label = ""
    for line in done.stdout.splitlines():
        label = line[:12].strip() or label
        sections[label] = f"{sections.get(label, '')} {line[12:].strip()}".strip()
    return sections


def refused(project: Project, *arguments: str) -> str:
    done = project.weft("simulate", *arguments)
    assert done.exit_code == 2, done.output
    return done.stderr


# Output


def test_the_answer_for_people_has_its_sections(project: Project) -> None:
    project.plan(PLAN)
    sections = lines(project, "--by", "24h")
    assert list(sections) == ["Finish", "Cost", "Width", "Bottleneck", "Path", "Estimates", "Basis"]
    assert sections["Finish"].startswith("P50 ")
    assert "P90 " in sections["Finish"]
    assert "in 100 % of runs" in sections["Finish"] or "of runs do not complete" in sections["Finish"]
    assert sections["Width"].startswith("1: ")
    assert "at once buy little" in sections["Width"]
    assert "most often last: " in sections["Path"]
    assert "no earlier runs of this plan" in sections["Basis"]
    assert "defaults (5..60 s) for 1 step: c:two" in sections["Basis"]
    assert "20 replications, seed 1" in sections["Basis"]


def test_verbose_adds_the_bound_the_limits_and_the_steps(project: Project) -> None:
    project.plan(PLAN)
    sections = lines(project, "-v")
    assert "no schedule is below" in sections["Bound"]
    assert "db (1): busy" in sections["Limits"]
    assert "max_parallel (2): busy" in sections["Limits"]
    assert "a:one: 10 min, fails in 10 % (plan)" in sections["Steps"]


def test_json_has_the_shape_that_programs_read(project: Project) -> None:
    project.plan(PLAN)
    answer = data(project, "--by", "24h", "--width", "1..2")
    assert {"p50", "p90"} <= answer["makespan_s"].keys()
    assert {"p50", "p90", "unknown"} <= answer["cost_usd"].keys()
    assert 0 <= answer["p_by"] <= 1
    assert answer["p_ceiling"] == 0
    assert 0 < answer["lower_bound_s"] <= answer["makespan_s"]["p50"]
    assert [width["n"] for width in answer["width"]] == [1, 2]
    assert {"n", "p50_s", "p90_s", "cost_p50_usd"} == answer["width"][0].keys()
    pools = {pool["name"]: pool for pool in answer["pools"]}
    assert pools.keys() == {"db", "max_parallel"}
    assert {"name", "size", "busy", "wait_s", "one_more_saves_s"} <= pools["db"].keys()
    assert pools["db"]["size"] == 1
    assert pools["db"]["one_more_saves_s"] > 0
    assert {"share", "subplans"} == answer["paths"][0].keys()
    assert answer["defaults"] == ["c:two"]
    assert answer["history"] == {"steps": 0, "runs": 0}
    assert (answer["runs"], answer["seed"]) == (20, 1)


def test_the_same_seed_gives_the_same_answer_and_another_seed_another(project: Project) -> None:
    project.plan(PLAN)
    first, again, other = (data(project, "--seed", seed) for seed in ("7", "7", "8"))
    assert first == again
    assert first["makespan_s"] != other["makespan_s"]
    assert other["seed"] == 8


def test_a_single_replication_is_an_answer(project: Project) -> None:
    project.plan(PLAN)
    answer = data(project, "--runs", "1")
    assert answer["runs"] == 1
    assert answer["makespan_s"]["p50"] == answer["makespan_s"]["p90"]


def test_an_unknown_price_is_said_and_is_not_nothing(project: Project) -> None:
    project.plan(PRICED.replace(", cost: 2", ""))
    assert lines(project)["Cost"] == "unknown: no price is known for about 2 agent calls"
    assert data(project)["cost_usd"]["unknown"] == 2.0
    project.plan(PRICED.replace(", cost: 2", "", 1))
    assert "and about 1 agent calls of unknown price" in lines(project)["Cost"]


# Other limits


def test_limits_can_be_changed(project: Project) -> None:
    project.plan(PLAN)
    before, more = data(project), data(project, "--set", "pools.db=2")
    assert more["makespan_s"]["p50"] < before["makespan_s"]["p50"]
    alone = data(project, "--set", "max_parallel=1")
    assert alone["makespan_s"]["p50"] == next(each["p50_s"] for each in before["width"] if each["n"] == 1)
    same = data(project, "--max-parallel", "1")
    assert same["makespan_s"] == alone["makespan_s"]


def test_the_limit_of_a_group_has_its_advice_which_holds(project: Project) -> None:
    project.plan(GROUPS)
    sections = lines(project, "-v")
    assert sections["Bottleneck"].startswith("store.max_parallel (1) is busy ")
    assert "store.max_parallel (1): busy " in sections["Limits"]
    before = data(project)
    best = before["pools"][0]
    assert (best["name"], best["size"]) == ("store.max_parallel", 1)
    low, high = best["one_more_saves_95_s"]
    assert 0 < low <= best["one_more_saves_s"] <= high
    after = data(project, "--set", "store.max_parallel=2")
    assert after["pools"][0]["size"] == 2
    saved = before["makespan_s"]["p50"] - after["makespan_s"]["p50"]
    assert saved == pytest.approx(best["one_more_saves_s"])


def test_the_nearest_limit_of_a_group_is_suggested(project: Project) -> None:
    project.plan(GROUPS)
    assert "did you mean store.max_parallel?" in refused(project, "--set", "stor.max_parallel=2")
    assert "it can be: max_parallel, store.max_parallel" in refused(project, "--set", "x=2")


def test_the_calls_of_an_agent_can_be_changed(project: Project) -> None:
    project.plan(PRICED)
    assert {pool["name"]: pool["size"] for pool in data(project, "--set", "agents.coder=5")["pools"]} == {
        "coder": 5,
        "max_parallel": 4,
    }


def test_the_width_that_the_plan_has_is_among_those_compared(project: Project) -> None:
    project.plan(PLAN)
    assert [width["n"] for width in data(project, "--width", "4")["width"]] == [2, 4]


# Bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "pools.bd=2"), "did you mean pools.db?"),
        (("--set", "nothing.at.all=2"), "it can be: max_parallel, pools.db"),
        (("--set", "pools.db=0"), "it must be a limit and a size of at least 1"),
        (("--set", "pools.db"), "it must be a limit and a size of at least 1"),
        (("--width", "0"), "it must be a number from 1 to 1,000, or a range such as 1..16"),
        (("--width", "5..2"), "it must be a number from 1 to 1,000"),
        (("--width", "wide"), "it must be a number from 1 to 1,000"),
        (("--by", "2020-01-01"), "which is over"),
        (("--by", "soon"), "a duration such as 8h"),
        (("--runs", "0"), "--runs"),
        (("--confidence", "2"), "--confidence"),
        (("--confidence", "0.9"), "add a time, as in --by 07:00"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(
    project: Project, arguments: tuple[str, ...], words: str
) -> None:
    project.plan(PLAN)
    assert words in " ".join(refused(project, *arguments).split())


def test_a_contradictory_estimate_is_refused(project: Project) -> None:
    project.plan(PLAN.replace("5..20", "20..5"))
    assert "minutes is '20..5': the order is wrong; the smaller number comes first, as in 5..20" in " ".join(
        refused(project).split()
    )


def test_a_time_in_the_far_future_is_an_answer(project: Project) -> None:
    project.plan(PLAN)
    assert data(project, "--by", "99999999h")["p_by"] > 0.5
    assert "Finish" in lines(project, "--by", "99999999h")


# Exit codes


def test_too_late_is_4(project: Project) -> None:
    project.plan(PLAN)
    assert data(project, "--by", "1m", code=4)["p_by"] == 0
    assert data(project, "--by", "1m", "--confidence", "0")["p_by"] == 0


def test_a_plan_that_cannot_be_read_is_2(project: Project) -> None:
    project.plan("subplans: [{id: A}]")
    assert project.weft("simulate").exit_code == 2


def test_a_ceiling_that_stops_most_runs_is_3(project: Project) -> None:
    project.plan(PRICED)
    assert data(project, "--budget", "100")["p_ceiling"] == 0
    answer = data(project, "--budget", "1", code=3)
    assert answer["p_ceiling"] == 1
    assert "the ceiling of $1.00 stops the run in 100 %" in lines(project, "--budget", "1", code=3)["Cost"]


def test_a_ceiling_that_reservations_keep_is_3_too(project: Project) -> None:
    project.plan(PRICED.replace("prompt: do", "prompt: do, max_cost: 2"))
    answer = data(project, "--budget", "3", code=3)
    assert answer["p_ceiling"] == 1


# History


@pytest.fixture
def ran(project: Project) -> Project:
    """A project in which a plan with an agent has run twice; its agent reports what it costs."""
    text = PRICED.replace("OUTSIDE", str(project.outside)).replace(", estimate: {minutes: 1, cost: 2}", "")
    project.plan(text)
    (project.outside / "agent.sh").write_text(
        "cat > /dev/null\necho done > out\necho '{\"cost_usd\": 0.5}' > $WEFT_RESULT\n"
    )
    for _ in range(2):
        done = project.weft("run", "--fresh")
        assert done.exit_code == 0, done.output
    return project


def test_real_runs_tell_durations_and_costs(ran: Project) -> None:
    answer = data(ran, "--fresh")
    assert answer["history"]["runs"] == 2
    assert answer["history"]["steps"] >= 4
    assert answer["defaults"] == []
    assert answer["cost_usd"]["p50"] == pytest.approx(1.0, rel=0.5)
    assert answer["cost_usd"]["unknown"] == 0
    # Steps of milliseconds are not forecast as agents of half an hour.
    assert answer["makespan_s"]["p90"] < 300
    assert "earlier runs" in lines(ran, "--fresh")["Basis"]


def test_a_plan_that_is_complete_has_nothing_left(ran: Project) -> None:
    answer = data(ran)
    assert answer["makespan_s"]["p50"] == 0
    assert answer["slices"] == {"left": 0, "done": 2}
    assert lines(ran)["Finish"] == "every slice is done; for a forecast of the whole plan, add --fresh"


def test_a_run_that_was_killed_at_once_is_forecast_from_its_start(ran: Project) -> None:
    ran.die_before_anything_happens()
    assert data(ran)["runs"] == 20


def test_another_plan_of_the_project_knows_the_agent(ran: Project) -> None:
    text = (ran.root / "weft.yaml").read_text().replace("plan: tried", "plan: other")
    (ran.root / "other.yaml").write_text(text)
    answer = data(ran, "other.yaml")
    assert answer["history"] == {"steps": 0, "runs": 0}
    assert answer["defaults"] == []
    assert answer["makespan_s"]["p90"] < 300


def test_a_forecast_changes_nothing(ran: Project) -> None:
    def seen() -> set[tuple[str, int]]:
        # A supervisor that has nothing to do any more still shows that it lives, for a while.
        files = [file for file in ran.root.rglob("*") if file.is_file() and "host" not in file.parts]
        return {(str(file), file.stat().st_mtime_ns) for file in files}

    before = seen()
    data(ran, "--fresh")
    assert seen() == before


def test_what_earlier_runs_have_spent_counts_against_the_ceiling(ran: Project) -> None:
    text = (ran.root / "weft.yaml").read_text().replace("subplans:", "budget: 20\nsubplans:")
    (ran.root / "weft.yaml").write_text(text)
    assert data(ran)["ceiling_usd"] == pytest.approx(18.0)


# Processes


def test_ctrl_c_prints_what_is_known_so_far(project: Project) -> None:
    project.plan(PLAN)
    terminal = Terminal.of(project, "simulate", "--runs", "1000000")
    try:
        # The bar shows a number, so at least one piece has arrived.
        terminal.sees("replications")
        terminal.type(CTRL_C)
        rest = terminal.rest()
        assert "Finish" in rest
        assert "P90" in rest
        assert "Basis" in rest
        assert rest.endswith("[0]")
    finally:
        terminal.close()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_workers_end_when_their_parent_is_killed(project: Project) -> None:
    project.plan(PLAN)
    # Not on a terminal, which would end them itself.
    parent = project.start("simulate", "--runs", "1000000", start_new_session=True)
    while not (children := _children(parent.pid)):
        os.sched_yield()
    watched = [os.pidfd_open(child) for child in children]
    parent.kill()
    parent.wait()
    for each in watched:
        assert select.select([each], [], [], 60)[0]
        os.close(each)
