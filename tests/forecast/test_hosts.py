"""Forecasts of plans that run on several hosts: the slots of a host are a limit like others."""

import pytest

from weft.forecast.replications import Change, Rehearsal
from weft.plan.loader.load import load_plan

PLAN = """\
weft: 1
plan: p
hosts: {near: {use: ssh, machine: a, slots: 1}}
host: near
max_parallel: 8
subplans:
  - {id: a, steps: [{id: x, run: ls, estimate: {minutes: 10}}]}
  - {id: b, steps: [{id: x, run: ls, estimate: {minutes: 10}}]}
  - {id: c, steps: [{id: x, run: ls, estimate: {minutes: 10}}]}
  - {id: d, steps: [{id: x, run: ls, estimate: {minutes: 10}}]}
"""


@pytest.fixture
def rehearsal() -> Rehearsal:
    return Rehearsal(load_plan(PLAN))


def test_a_run_reaches_all_hosts_and_its_steps_wait_for_their_slots(rehearsal: Rehearsal) -> None:
    outcome = rehearsal.play(1)
    assert outcome.is_completed
    assert rehearsal.sizes["host:near"] == 1
    assert outcome.pools["host:near"].waiting > 0.0
    assert outcome.pools["host:near"].busy == pytest.approx(sum(outcome.works.values()))


def test_more_slots_end_the_run_sooner_on_the_same_luck(rehearsal: Rehearsal) -> None:
    wider = rehearsal.changed([Change("host:near", 4)])
    assert wider.sizes["host:near"] == 4
    first, second = rehearsal.play(1), wider.play(1)
    assert second.works == pytest.approx(first.works)
    assert second.seconds < first.seconds
