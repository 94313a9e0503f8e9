"""A step that loses its supervisor and coordinator: its work counts, or the next execution is informed."""

import os

from e2e.repositories import Repository
from hosts.places import proc

PLAN = """
merge: {mode: auto}
agents: {coder: {use: command, command: 'sh OUTSIDE/agent.sh'}}
subplans: [{id: a, steps: [{id: code, prompt: Do it}]}]
"""
AGENT = """
cat >> OUTSIDE/prompts; echo >> OUTSIDE/prompts
echo half > half.txt
test -e OUTSIDE/second && exit
touch OUTSIDE/second
echo > OUTSIDE/here
read word < OUTSIDE/gate
echo whole > half.txt
exit $word
"""


def left_alone(repository: Repository, word: str) -> None:
    """The agent exits with this code when neither coordinator nor supervisor is alive."""
    outside = repository.outside
    repository.plan(PLAN)
    (outside / "agent.sh").write_text(AGENT.replace("OUTSIDE", str(outside)))
    for name in ("here", "gate"):
        os.mkfifo(outside / name)
    with repository.started("run") as process:
        (outside / "here").read_text()
        process.kill()
    (supervisor,) = repository.supervisors()
    repository.kill_supervisors()
    while proc(supervisor, "stat"):  # then the reaper has opened the pipes of the agent
        os.sched_yield()
    (outside / "gate").write_text(f"{word}\n")
    (host,) = repository.hosts()
    while not (host / "exits").exists():
        os.sched_yield()


def prompts(repository: Repository) -> list[str]:
    return (repository.outside / "prompts").read_text().splitlines()


def test_an_agent_that_finished_alone_is_not_run_again(repository: Repository) -> None:
    left_alone(repository, "0")
    assert repository.run().state == "completed"
    assert prompts(repository) == ["Do it"]
    assert repository.files()["half.txt"] == "whole"


def test_a_step_with_an_unknown_end_is_run_again_and_learns_what_it_left(repository: Repository) -> None:
    left_alone(repository, "3")
    assert repository.run().state == "completed"
    assert prompts(repository) == [
        "Do it",
        "An earlier attempt at this task was cut off before it ended: how it ended is unknown.",
        "It left these changes in the directory (A: added, M: modified, D: deleted):",
        "- A half.txt",
        "Look at them first: keep what is right, and finish the task.",
        "",
        "Do it",
    ]
