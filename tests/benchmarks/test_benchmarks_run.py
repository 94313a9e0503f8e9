"""The benchmarks do what they say they measure. How long it takes is not looked at here."""

import inspect
import json
import sys
from itertools import product
from pathlib import Path

import pytest

from benchmarks import shapes
from benchmarks.compare import __main__ as compare
from benchmarks.compare import endurance, landing, looking, plan_files, running, schedules, slices, worktrees
from benchmarks.compare import firing as compared_firing
from benchmarks.compare.measuring import Sizes, in_turn
from benchmarks.compare.processes import Cost, cost_of, median_costs
from benchmarks.compare.rivals import NINJA, Rival, installed
from benchmarks.compare.table import Row, at_least, at_most, exit_code, table, written
from benchmarks.plan_texts import plan_text
from benchmarks.repositories import Project
from benchmarks.suites import dispatcher, exploration, firing, plan_language, structure, views
from benchmarks.suites import running as suite_of_runs
from benchmarks.suites import worktrees as suite_of_worktrees
from weft.net.explore import explore
from weft.net.structure import WorkflowNet, acyclic, free_choice, workflow_net

SUITES = (dispatcher, exploration, firing, plan_language, structure, views, suite_of_runs, suite_of_worktrees)
TOO_LARGE_FOR_A_TEST = {exploration.ExploringMillions}


def benchmark_classes():
    for module in SUITES:
        for _, class_ in inspect.getmembers(module, inspect.isclass):
            is_one = class_.__module__ == module.__name__ and not class_.__name__.startswith("_")
            if is_one and class_ not in TOO_LARGE_FOR_A_TEST:
                yield class_


def smallest(class_: type) -> tuple[object, ...]:
    params: tuple[object, ...] = getattr(class_, "params", ())
    choices = [each for each in params if isinstance(each, tuple)]  # one for each of several parameters
    return tuple(each[0] for each in choices) or params[:1]


@pytest.mark.parametrize("class_", list(benchmark_classes()), ids=lambda c: f"{c.__module__}.{c.__name__}")
def test_each_benchmark_runs_at_its_smallest_size(class_, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firing.AMillionTransitions, "size", 1_000)
    names = [name for name in dir(class_) if name.startswith(("time_", "track_", "peakmem_"))]
    assert names
    for name in names:
        benchmark = class_()
        if hasattr(benchmark, "setup"):
            benchmark.setup(*smallest(class_))
        assert getattr(benchmark, name)(*smallest(class_))
        if hasattr(benchmark, "teardown"):
            benchmark.teardown(*smallest(class_))


@pytest.mark.parametrize(("shape", "size"), list(product(firing.SHAPES, [100, 2_500])))
def test_every_transition_fires_once(shape: str, size: int) -> None:
    net = firing.SHAPES[shape](size)
    assert shapes.play(shapes.agenda_of(net)) == len(net.transition_ids)
    assert len(net.transition_ids) == pytest.approx(size, rel=0.05)


def test_lanes_play_to_the_end() -> None:
    assert shapes.play(shapes.agenda_of(shapes.lanes(30, each=4))) == 120


def test_a_pool_adds_nothing_but_its_arcs() -> None:
    pooled, free = shapes.slices(20, pool=1), shapes.slices(20)
    assert pooled.transition_ids == free.transition_ids
    assert pooled.place_ids == ("pool", *free.place_ids)


def test_parallel_slices_have_the_states_that_are_reckoned_with() -> None:
    assert explore(shapes.parallel_slices(4)).states == 4**4 + 2


def test_the_skeleton_is_of_the_kind_whose_soundness_is_claimed() -> None:
    net = shapes.large_skeleton(50)
    assert isinstance(workflow_net(net), WorkflowNet)
    assert free_choice(net).holds
    assert acyclic(net)


def test_fifteen_subplans_all_end() -> None:
    results = dispatcher.run([*shapes.leaves(15)], listening=True)
    assert [result.state for result in results.values()] == ["completed"] * 15


def test_random_dags_are_the_same_in_every_run() -> None:
    assert [*shapes.random_dags(20, 3)] == [*shapes.random_dags(20, 3)]


# The table


def row(figure: float, bar, **more) -> Row:
    return Row(name="a thing", figure=figure, bar=bar, ours="1 us", beside="2 us", **more)


@pytest.mark.parametrize(
    ("bar", "figure", "passed"),
    [
        (at_least(15), 15.0, True),
        (at_least(15), 14.99, False),
        (at_most(2.5), 2.5, True),
        (at_most(2.5), 2.51, False),
        (at_most(2, "GB"), 0.9, True),
        (None, 0.0, None),
    ],
)
def test_a_figure_at_its_bar_passes_and_one_beyond_it_misses(bar, figure, passed) -> None:
    assert row(figure, bar).passed is passed
    assert exit_code([row(20, at_least(15)), row(figure, bar)]) == (passed is False)


def test_what_is_not_judged_is_neither_passed_nor_missed() -> None:
    unjudged = row(1, at_least(15), judged=False)
    assert unjudged.passed is None
    assert exit_code([unjudged]) == 0


def test_the_table_has_a_line_for_each_row() -> None:
    lines = table([row(8.664, at_least(15)), row(0.94, at_most(2, "GB")), row(1.0049, None)]).splitlines()
    assert [line.split() for line in lines] == [
        ["comparison", "figure", "bar", "ours", "beside"],
        ["a", "thing", "8.66x", "≥", "15x", "MISS", "1", "us", "2", "us"],
        ["a", "thing", "0.94", "GB", "≤", "2", "GB", "pass", "1", "us", "2", "us"],
        ["a", "thing", "1.005x", "1", "us", "2", "us"],
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(13_473.2, "13,473x"), (46.04, "46x"), (2.5, "2.5x"), (1.0, "1x"), (1.0161, "1.016x")]
)
def test_figures_are_written_short(value: float, text: str) -> None:
    assert written(value, "x") == text


def test_rivals_are_measured_in_turn_and_the_median_counts() -> None:
    log: list[str] = []
    costs = {"ours": iter([1.0, 9.0, 2.0]), "theirs": iter([5.0, 4.0, 6.0])}

    def rival(name: str) -> float:
        log.append(name)
        return next(costs[name])

    assert in_turn(3, lambda: rival("ours"), lambda: rival("theirs")) == (2.0, 5.0)
    assert log == ["ours", "theirs"] * 3


@pytest.mark.parametrize("slices", [10, 250])
def test_plan_texts_have_as_many_slices_as_asked_for_and_are_proven(slices: int) -> None:
    compiled = plan_files.checked(plan_text(slices, group=10), whole_net=True)
    assert sum(compiled.plan.outline.leaves) == slices


def test_plans_are_compared_with_pyyaml() -> None:
    rows = plan_files.beside_pyyaml(Sizes(quick=True))
    assert [r.bar for r in rows] == [at_most(4), None, at_most(4)]


def test_a_comparison_that_needs_no_other_tool_makes_rows() -> None:
    rows = compared_firing.pool_beside_none(Sizes(quick=True))
    assert [r.bar for r in rows] == [at_most(1.5)]


# Runs of plans

COMMAND = """
import os, signal, time
reader, writer = os.pipe()
if os.fork():
    os.close(writer)
    os.read(reader, 1)  # until the other has worked
else:
    os.setsid()
    while time.process_time() < 0.3:
        pass
    os.close(writer)
    signal.pause()
"""


def test_what_a_command_leaves_running_is_part_of_its_cost(tmp_path: Path) -> None:
    (tmp_path / "command.py").write_text(COMMAND)
    assert cost_of([sys.executable, "command.py"], tmp_path).cpu > 0.3


def test_a_command_that_fails_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with 3: no"):
        cost_of(["/bin/sh", "-c", "echo no >&2; exit 3"], tmp_path)


def test_costs_of_rivals_are_medians() -> None:
    costs = iter([Cost(1.0, 5.0), Cost(3.0, 4.0), Cost(2.0, 6.0)])
    assert median_costs(3, lambda: next(costs)) == [Cost(2.0, 5.0)]


def test_a_rival_that_is_not_there_is_left_out_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    missing = Rival("a rival", "no-such-program", (), "file", str)
    assert [*installed(missing)] == []
    assert capsys.readouterr().err == "a rival: not installed, left out\n"


def test_a_rival_may_do_a_part_of_the_work() -> None:
    assert Rival("a rival", "it", (), "file", str, share=0.2).steps(1_000) == 200
    assert NINJA.text(2).endswith("build o0: t\nbuild o1: t\n")


@pytest.mark.parametrize(
    ("comparison", "bars"),
    [
        (schedules.makespans, [at_most(1.05), None]),
        (endurance.waiting, [at_most(5, "%")] * 4),
        (endurance.memory, [at_most(1.1), None]),
        (endurance.recovery, [*[at_most(1.5, "s")] * 3, None]),
        (looking.status, [at_most(120, "ms")]),
        (looking.page, [at_most(60, "MB"), at_most(300, "ms of CPU")] * 2),
    ],
    ids=["schedules", "waiting", "memory", "recovery", "status", "page"],
)
def test_runs_are_measured_as_processes(comparison, bars) -> None:
    assert [r.bar for r in comparison(Sizes(quick=True))] == bars


def test_runs_are_compared_with_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Rival("a shell", "sh", ("work",), "work", lambda count: "true\n" * count, share=0.5)
    monkeypatch.setattr(running, "NINJA", shell)
    monkeypatch.setattr(running, "SLOWER", (shell,))
    quick = Sizes(quick=True)
    assert [r.bar for r in running.beside_ninja(quick)] == [at_most(2), at_most(2.5), None, None]
    assert [r.bar for r in running.beside_others(quick)] == [at_least(1)]


# Worktrees


@pytest.mark.parametrize(
    ("comparison", "bars"),
    [
        (worktrees.ready, [at_most(1.2), None, at_most(1)]),
        (worktrees.at_once, [None]),
        (worktrees.many_at_once, [at_most(1.1), None]),
        (worktrees.disk, [None, None]),
        (landing.landing, [at_most(0.1), None, at_most(0.2), None, None, None]),
        (landing.foresight, [at_most(1, "s"), None]),
        (slices.many, [at_most(1.3), at_most(16, "worktrees"), at_most(2)]),
        (slices.agents, [at_most(1.12)]),
    ],
    ids=["ready", "at-once", "many", "disk", "landing", "foresight", "slices", "agents"],
)
def test_worktrees_and_branches_are_compared_with_what_git_does(comparison, bars) -> None:
    assert [r.bar for r in comparison(Sizes(quick=True))] == bars


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", 60)


def test_worktrees_are_removed_once_they_are_measured(project: Project) -> None:
    made = worktrees.Making(project)
    costs = [made.ours(), made.ours(project.folder), made.plain(), made.several(2, at_once=True)]
    assert all(cost.wall > 0 for cost in costs)
    assert project.git.line("worktree", "list").count("\n") == 0


def test_a_sparse_worktree_takes_less_room(project: Project) -> None:
    made = worktrees.Making(project)
    assert made.disk(project.folder).files < made.disk().files == made.plain_disk().files


@pytest.mark.parametrize("checked_out", [False, True])
def test_all_branches_land(project: Project, *, checked_out: bool) -> None:
    landing.Landing(project, 3).ours(checked_out=checked_out)
    landed = project.git.line("log", "--merges", "--first-parent", "--format=%s", "p0")
    assert landed.splitlines() == ["Merge s2", "Merge s1", "Merge s0"]
    assert project.git.line("symbolic-ref", "HEAD") == f"refs/heads/{'p0' if checked_out else 'main'}"


def test_git_lands_the_same(project: Project) -> None:
    both = landing.Landing(project, 3)
    both.by_git()
    both.ours(checked_out=False)
    names = [
        project.git.line("diff-tree", "-r", "--name-only", "--no-renames", "main", plan)
        for plan in ("p0", "p1")
    ]
    assert names[0] == names[1]
    assert len(names[0].splitlines()) == 12


def test_branches_that_change_the_same_line_are_all_in_conflict(project: Project) -> None:
    worst = landing.Overlapping(project, 6, common=2)
    worst.round()
    assert worst.found == 15


@pytest.mark.parametrize(("figure", "code"), [(3.0, 0), (1.0, 1)])
def test_a_missed_bar_is_the_exit_code(
    figure: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "_in_a_process_of_its_own", lambda comparison, sizes: comparison(sizes))
    monkeypatch.setattr(compare, "COMPARISONS", {"made up": lambda _: [row(figure, at_least(2))]})
    assert compare.main(["--json"]) == code
    (messages,) = json.loads(capsys.readouterr().out)["rows"]
    assert messages["passed"] is (code == 0)
    assert compare.main(["--quick"]) == 0
    assert "nothing is judged" in capsys.readouterr().out
