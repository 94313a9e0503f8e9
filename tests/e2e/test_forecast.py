"""`weft simulate` after real runs in worktrees: the rest of a plan, with what was learned."""

import json
from typing import Any

import pytest

from e2e.repositories import Repository

HALF = """
timeout: 10h
merge: {mode: auto}
verify: 'true'
failure_mode: continue_on_error
subplans:
  - id: a
    prompt: x
    steps:
      - {id: long, run: 'echo a > a', estimate: {minutes: 60}}
      - {id: check, run: 'test -e OUTSIDE/again', estimate: {minutes: 2, fail: 0}}
  - {id: b, prompt: x, steps: [{id: long, run: 'echo b > b', estimate: {minutes: 60}}]}
  - {id: c, prompt: x, depends_on: [a], steps: [{id: long, run: 'echo c > c', estimate: {minutes: 30}}]}
"""


def forecast(repository: Repository, *arguments: str) -> dict[str, Any]:
    done = repository.weft("simulate", "--runs", "30", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


def test_after_a_failed_run_the_rest_of_the_plan_is_forecast(repository: Repository) -> None:
    repository.plan(HALF)
    whole = forecast(repository)
    assert whole["slices"] == {"left": 3, "done": 0}
    assert whole["makespan_s"]["p50"] == pytest.approx(92 * 60, rel=0.2)
    assert repository.weft("run").returncode == 1
    rest = forecast(repository)
    # b has landed. a has failed, so it starts over, and then comes c.
    assert rest["slices"] == {"left": 2, "done": 1}
    assert rest["makespan_s"]["p50"] == pytest.approx(92 * 60, rel=0.2)
    assert rest["history"]["runs"] == 1
    fresh = forecast(repository, "--fresh")
    assert fresh["slices"] == {"left": 3, "done": 0}
    assert fresh["makespan_s"]["p50"] == pytest.approx(92 * 60, rel=0.2)


def test_a_forecast_of_a_completed_run_has_nothing_left_and_changes_nothing(repository: Repository) -> None:
    repository.plan(HALF)
    (repository.outside / "again").touch()
    assert repository.weft("run").returncode == 0
    refs = repository.git("for-each-ref")
    done = forecast(repository)
    assert done["slices"] == {"left": 0, "done": 3}
    assert done["makespan_s"]["p90"] == 0
    assert repository.git("for-each-ref") == refs
    # Merges and landings of the run are known; no default is left in the forecast of the whole plan.
    assert forecast(repository, "--fresh")["defaults"] == []
