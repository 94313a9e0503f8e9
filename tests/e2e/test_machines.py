"""A plan on other machines ends with what it ends with here, whatever is cut off or killed meanwhile."""

import signal

from e2e.boxes import boxes_of
from e2e.repositories import Repository

PLAN = """
merge: {mode: auto}
subplans:
  - id: a
    steps:
      - {id: write, run: 'echo a > a; git add a; git commit --quiet -m own; echo more >> a; chmod +x a; MARK'}
      - {id: test, run: 'test "$(cat a)" = "$(printf "a\\nmore")" && test -z "$(git status --porcelain)"'}
  - {id: b, steps: [{id: write, run: 'mkdir -p d; echo b > d/b; ln -s d/b link; MARK'}]}
  - id: c
    depends_on: [a, b]
    verify: test -e link
    steps: [{id: write, run: 'cat a d/b > c; rm README; MARK'}]
"""
GATED = """
merge: {mode: auto}
subplans:
  - id: a
    steps:
      - {id: write, run: 'touch OUTSIDE/started; until test -e OUTSIDE/go; do sleep 0.02; done; echo a > a; MARK'}
"""


def is_started(repository: Repository) -> bool:
    return (repository.outside / "started").exists()


def has_event(repository: Repository, kind: str, outcome: str) -> bool:
    return any(event.outcome == outcome for event in repository.told(kind))


def test_the_same_files_land_as_on_one_machine(repository: Repository) -> None:
    repository.plan(PLAN).run()
    expected = repository.files()
    repository.git("reset", "--quiet", "--hard", repository.git("rev-list", "--max-parents=0", "main"))
    with boxes_of(repository, "near", "spare") as boxes:
        repository.plan(boxes.yaml() + PLAN)
        boxes.approve()
        done = repository.weft("run", "--fresh")
        assert done.returncode == 0, done.stdout + done.stderr
        assert repository.files() == expected
        assert not [*repository.outside.glob("*/weft/runs/*/.weft/files/*")], "no copy is left there"
    placed = {event.subplan: event.data["host"] for event in repository.story().of("placed")}
    assert placed.keys() == {"a", "b", "c"}
    assert {*placed.values()} <= {"near", "spare"}


def test_a_step_continues_while_its_machine_is_out_of_reach(repository: Repository) -> None:
    with boxes_of(repository, "near") as boxes:
        repository.plan(boxes.yaml() + GATED)
        boxes.approve()
        with repository.started("run") as process:
            repository.wait_for(lambda: is_started(repository), process)
            boxes.cut("near")
            repository.wait_for(lambda: has_event(repository, "host_changed", "unreachable"), process)
            (repository.outside / "go").touch()
            repository.wait_for(repository.marks, process)
            assert "near cannot be reached" in repository.weft("status").stdout
            boxes.connect("near")
            assert process.wait(60) == 0
        assert repository.files() == {"README": "hello", "a": "a"}
        assert len(repository.marks()) == 1


def test_the_next_coordinator_takes_over_a_step_on_another_machine(repository: Repository) -> None:
    with boxes_of(repository, "near") as boxes:
        repository.plan(boxes.yaml() + GATED)
        boxes.approve()
        with repository.started("run") as process:
            repository.wait_for(lambda: is_started(repository), process)
            process.send_signal(signal.SIGKILL)
        (repository.outside / "go").touch()
        done = repository.weft("run")
        assert done.returncode == 0, done.stdout + done.stderr
        assert repository.files() == {"README": "hello", "a": "a"}
        assert len(repository.marks()) == 1


LOST = """
merge: {mode: auto}
failure_mode: continue_on_error
subplans:
  - id: a
    steps: [{id: write, run: '
      if mkdir OUTSIDE/first; then
        echo stale > stale; basename $HOME > OUTSIDE/started; until test -e OUTSIDE/go; do sleep 0.02; done;
      fi; echo a > a; MARK'}]
  - {id: z, host: local, steps: [{id: wait, run: 'until test -e OUTSIDE/end; do sleep 0.02; done'}]}
"""


def test_a_lost_step_runs_elsewhere_and_is_stopped_where_it_was(repository: Repository) -> None:
    with boxes_of(repository, "near", "spare") as boxes:
        repository.plan(boxes.yaml(lost_after="1s") + LOST)
        boxes.approve()
        with repository.started("run") as process:
            repository.wait_for(lambda: repository.lines("started"), process)
            (first,) = repository.lines("started")
            boxes.cut(first)
            repository.wait_for(repository.marks, process)
            assert boxes.steps(first), "what counts as lost may be alive"
            boxes.connect(first)
            repository.wait_for(lambda: not boxes.steps(first), process)
            repository.wait_for(lambda: repository.git("for-each-ref", "refs/weft/kept"), process)
            (repository.outside / "end").touch()
            assert process.wait(60) == 0
        assert repository.files() == {"README": "hello", "a": "a"}
        assert len(repository.marks()) == 1
        kept = repository.git("for-each-ref", "--format=%(refname)", "refs/weft/kept")
        assert repository.files(kept)["stale"] == "stale", "the work of the lost attempt"


def test_a_host_that_is_not_approved_gets_nothing(repository: Repository) -> None:
    with boxes_of(repository, "near") as boxes:
        repository.plan(boxes.yaml() + GATED)
        refused = repository.weft("run")
        assert refused.returncode == 2
        assert "weft config approve --plan weft.yaml" in refused.stderr
        assert not [*repository.outside.glob("near/*")]


AGENT = """
merge: {mode: auto}
agents:
  coder:
    use: command
    command: "touch OUTSIDE/started; until test -e OUTSIDE/go; do sleep 0.02; done; echo a > a; MARK"
subplans:
  - {id: a, steps: [{id: code, agent: coder, prompt: Write it}]}
"""


def test_an_edited_plan_waits_for_an_agent_on_another_machine(repository: Repository) -> None:
    with boxes_of(repository, "near") as boxes:
        repository.plan(boxes.yaml() + AGENT)
        boxes.approve()
        with repository.started("run") as process:
            repository.wait_for(lambda: is_started(repository), process)
            process.send_signal(signal.SIGKILL)
        repository.plan(
            boxes.yaml() + AGENT + "  - {id: b, host: local, steps: [{id: write, run: 'echo b > b'}]}\n"
        )
        with repository.started("run") as process:
            repository.wait_for(lambda: boxes.steps("near"), process)
            (repository.outside / "go").touch()
            assert process.wait(60) == 0
        assert repository.files() == {"README": "hello", "a": "a", "b": "b"}
        assert len(repository.marks()) == 1, "nothing is paid for twice"


def test_weft_stop_ends_the_steps_on_another_machine_without_a_coordinator(repository: Repository) -> None:
    with boxes_of(repository, "near") as boxes:
        repository.plan(boxes.yaml() + GATED)
        boxes.approve()
        with repository.started("run") as process:
            repository.wait_for(lambda: is_started(repository), process)
            process.send_signal(signal.SIGKILL)
        assert boxes.steps("near")
        stopped = repository.weft("stop")
        assert stopped.returncode == 0, stopped.stdout + stopped.stderr
        assert not boxes.steps("near")
