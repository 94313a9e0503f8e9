"""Changes of agents in their worktrees: readers make none, and an agent that makes none by mistake is reported."""

import json
import signal

from e2e.projects import Outcome
from e2e.repositories import Repository

READER = """
merge: {mode: auto}
infra_retries: 0
agents:
  coder: {use: command, command: "cat > made"}
  reader: {use: command, command: READER}
subplans:
  - id: a
    prompt: x
    steps:
      - {id: code, prompt: write, agent: coder}
      - {id: look, prompt: look, agent: reader, read_only: true, on_error: continue}
      - {id: more, run: echo more > more}
"""


def kept(repository: Repository) -> dict[str, str]:
    refs = repository.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/weft/kept")
    return dict(line.split() for line in refs.splitlines())


def reading(repository: Repository, command: str) -> Outcome:
    repository.plan(READER.replace("READER", json.dumps(command)))
    return repository.run()


def test_a_reader_that_writes_fails_and_what_it_wrote_is_kept_but_not_in_the_slice(
    repository: Repository,
) -> None:
    outcome = reading(repository, "echo mine > review; rm made; echo I looked")
    assert outcome.ends() == [("a", "code", "done"), ("a", "look", "failed"), ("a", "more", "done")]
    (event,) = outcome.of("step_finished", "a", "look")
    assert event.data["files"] == ["made", "review"]
    (ref,) = kept(repository)
    assert event.data["message"] == (
        f"it may only read, and changed made, review; that was undone, and is kept as {ref}"
    )
    assert repository.files(ref) == {"README": "hello", "review": "mine"}
    assert repository.files() == {"README": "hello", "made": "write", "more": "more"}
    assert repository.lost() == []


def test_a_reader_that_commits_fails_and_its_commit_is_kept_but_not_in_the_slice(
    repository: Repository,
) -> None:
    outcome = reading(repository, "echo mine > review; git add review; git commit --quiet --message mine")
    assert outcome.ends()[1] == ("a", "look", "failed")
    (ref,) = kept(repository)
    assert repository.git("log", "-1", "--format=%s", ref) == "mine"
    assert "mine" not in repository.git("log", "--format=%s", "main").splitlines()
    assert repository.files() == {"README": "hello", "made": "write", "more": "more"}


def test_a_reader_whose_coordinator_is_killed_is_judged_in_the_same_way(repository: Repository) -> None:
    command = "echo mine > review; touch OUTSIDE/in; until test -e OUTSIDE/on; do sleep 0.02; done"
    repository.plan(READER.replace("READER", json.dumps(command)))
    with repository.started("run", "-q") as coordinator:
        repository.wait_for((repository.outside / "in").exists, coordinator)
        coordinator.send_signal(signal.SIGKILL)
        coordinator.wait()
    (repository.outside / "on").touch()
    outcome = repository.run()
    assert [event.outcome for event in outcome.of("step_finished", "a", "look")] == ["failed"]
    (ref,) = kept(repository)
    assert repository.files(ref)["review"] == "mine"
    assert repository.files() == {"README": "hello", "made": "write", "more": "more"}


IDLE = """
merge: {mode: auto}
agents:
  coder: {use: command, command: 'cat >> OUTSIDE/prompts; test "$WEFT_ATTEMPT" = 1 || echo x > made'}
  idle: {use: command, command: cat}
subplans:
  - {id: a, prompt: Do it, agent: coder, retries: 1, verify: test -e made}
  - {id: b, prompt: Do it, agent: idle}
"""


def test_an_agent_that_changed_nothing_is_reported_to_people_programs_and_its_next_attempt(
    repository: Repository,
) -> None:
    repository.plan(IDLE)
    run = repository.weft("run")
    assert run.returncode == 0
    *done, summed_up = [line for line in run.stderr.splitlines() if "changed nothing" in line]
    assert sorted(line[9:].split(" in ")[0] for line in done) == ["a  work done", "b  work done"]
    assert summed_up == "Unchanged  b: work changed nothing"
    story = repository.story()
    ends = {path: story.of("step_finished", path, "work") for path in ("a", "b")}
    assert [event.data["changed"] for event in ends["a"]] == [False, True]
    assert [event.data["changed"] for event in ends["b"]] == [False]
    printed_lines = [line for line in repository.lines("prompts") if "changed no file" in line]
    assert printed_lines == ["The last attempt at step 'work' changed no file."]
    logs = repository.weft("logs", "b")
    assert "── b:work done: it changed nothing" in logs.stdout.splitlines()
    programs = [json.loads(line) for line in repository.weft("logs", "b", "--json").stdout.splitlines()]
    assert [program["changed"] for program in programs if "changed" in program] == [False]
