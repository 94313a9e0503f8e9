"""What holds a pool and what waits for it, as the engine that is derived from the journal has it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from app.forecast.projects import lasting, played_project
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.net_graph import net_graph
from weft.app.read_model.run_shapes import PoolTable
from weft.app.read_model.subplan_detail import subplan_detail
from weft.app.read_model.tables import pool_tables
from weft.errors import InputError

RUN = "20260101-000000-aaaa"
PLAN = """
weft: 1
plan: naps
isolation: dir
max_parallel: 8
pools: {db: {values: [alpha]}, port: 2}
subplans:
  - {id: a, steps: [{id: work, run: make a, pools: [db]}]}
  - {id: b, steps: [{id: work, run: make b, pools: [db]}]}
  - {id: c, steps: [{id: work, run: make c, pools: [port]}]}
  - {id: d, steps: [{id: work, run: make d}]}
  - {id: e, depends_on: [d], steps: [{id: work, run: make e}]}
  - {id: g, max_parallel: 1, subplans: [{id: x, steps: [{id: work, run: make x}]}]}
"""


@contextmanager
def opened(folder: Path, until: float | None) -> Iterator[LiveRun]:
    with played_project(folder, PLAN) as project:
        project.play(RUN, lasting(10.0), text=PLAN, start=1_000.0, until=until)
        with closing(LiveRun(project.root, RUN)) as live:
            yield live


@pytest.fixture
def midway(tmp_path: Path) -> Iterator[LiveRun]:
    """After five seconds: a has the db, b waits for it, c has a port."""
    with opened(tmp_path, 5.0) as live:
        yield live


def table(live: LiveRun, name: str) -> PoolTable:
    return next(pool for pool in pool_tables(live).pools if pool.name == name)


def why(live: LiveRun, path: str):
    return subplan_detail(live, live.view.row(path).number).why


def test_a_pool_says_what_holds_it_and_what_waits_for_it(midway: LiveRun) -> None:
    db = table(midway, "pools.db")
    assert [(holder.path, holder.step, holder.items) for holder in db.holders] == [("a", "work", ["alpha"])]
    assert [(waiter.path, waiter.step) for waiter in db.waiters] == [("b", "work")]
    assert (db.in_use, db.size, db.waiting) == (1, 1, 1)


def test_a_slice_that_waits_for_a_pool_names_it_and_its_holder(midway: LiveRun) -> None:
    answer = why(midway, "b")
    assert answer.sentence == "It waits for pools.db."
    (pool,) = answer.pools
    assert (pool.name, pool.step, pool.more) == ("pools.db", "work", 0)
    assert [holder.path for holder in pool.holders] == ["a"]


def test_a_slice_that_runs_or_waits_for_others_lacks_no_pool(midway: LiveRun) -> None:
    assert [why(midway, path).pools for path in ("a", "e")] == [[], []]
    assert why(midway, "e").sentence == "It waits for d."


def test_each_limit_has_a_table(midway: LiveRun) -> None:
    names = [pool.name for pool in pool_tables(midway).pools]
    assert names == ["max_parallel", "g.max_parallel", "pools.db", "pools.port"]


def test_no_more_slots_are_in_use_than_there_are(tmp_path: Path) -> None:
    with opened(tmp_path, None) as live:
        assert all(in_use <= pool.size for pool in pool_tables(live).pools for _, in_use in pool.history)


def test_what_is_in_use_does_not_end_before_it_has_ended(midway: LiveRun) -> None:
    assert table(midway, "pools.db").history[-1][1] == 1


def test_a_run_that_is_over_holds_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, None) as live:
        assert [(pool.in_use, pool.waiting) for pool in pool_tables(live).pools] == [(0, 0)] * 4


# The net


def test_a_step_that_runs_is_a_transition_that_has_started(midway: LiveRun) -> None:
    net = net_graph(midway, midway.view.row("a").number)
    assert [transition.label for transition in net.transitions if transition.firing] == ["run work#1"]
    assert net.is_live


def test_a_step_that_waits_is_a_token_before_its_transition(midway: LiveRun) -> None:
    net = net_graph(midway, midway.view.row("b").number)
    assert [place.id for place in net.places if place.tokens and place.kind == "place"] == ["started"]
    assert not any(transition.firing for transition in net.transitions)


def test_a_pool_of_the_net_has_the_tokens_that_are_free(midway: LiveRun) -> None:
    pools = {place.id: place.tokens for place in net_graph(midway, midway.view.row("c").number).places}
    assert pools["pool:port"] == 1


def test_a_completed_slice_has_its_token_at_the_end(tmp_path: Path) -> None:
    with opened(tmp_path, None) as live:
        net = net_graph(live, live.view.row("a").number)
    assert [place.kind for place in net.places if place.tokens and place.kind != "pool"] == ["end"]


def test_a_plan_that_does_nothing_of_its_own_has_no_net(midway: LiveRun) -> None:
    with pytest.raises(InputError, match="the plan has no net of its own"):
        net_graph(midway, 0)
