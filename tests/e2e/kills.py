"""What a run in worktrees or clones leaves that was killed, beside what an undisturbed one leaves."""

from collections import Counter
from pathlib import Path

from msgspec import Struct

from e2e.repositories import Repository

PLAN = """
base: start
target: main
infra_retries: 10
merge: {mode: auto}
subplans:
  - id: g
    verify: MARK; cat a b
    subplans:
      - {id: a, verify: cat a, steps: [{id: x, run: MARK; echo a > a}, {id: y, run: MARK; echo more >> a}]}
      - {id: b, depends_on: [a], steps: [{id: x, run: MARK; cat a > b}]}
  - {id: h, verify: MARK; cat c, subplans: [{id: c, depends_on: [/g/a], steps: [{id: x, run: MARK; cat a > c}]}]}
  - {id: clash, depends_on: [g, h], steps: [{id: x, run: MARK; echo slice > same}]}
"""


class Traces(Struct, frozen=True):
    """All that must be the same, whatever happened on the way."""

    state: str
    states: dict[str, str]
    files: dict[str, dict[str, str]]
    """Of the target, and of where all comes together; what else a slice has seen is a matter of time."""
    landed: list[str]
    held: set[str]
    steps: dict[str, int]
    """How often each step of the plan has run."""


def made(root: Path, plan: str = PLAN) -> Repository:
    """What slices start from is not what they land on: that has moved, and one of them is in conflict with it."""
    repository = Repository(root)
    repository.commit(same="s\n")
    repository.git("tag", "start")
    repository.commit(same="person\n")
    return repository.plan(plan)


def traces(repository: Repository) -> Traces:
    story = repository.story()
    marks = (mark.split() for mark in repository.marks())
    return Traces(
        state=story.state,
        states=story.states(),
        files={branch: repository.files(branch) for branch in ("main", repository.branch(""))},
        landed=sorted(repository.landed()),
        held={event.subplan for event in story.of("merge") if event.outcome == "conflict"},
        steps=dict(
            Counter(
                f"{words[0]} {words[1]}" for words in marks if not any(word.startswith("@") for word in words)
            )
        ),
    )


def check(repository: Repository, whole: Traces) -> None:
    """After the killed process has been replaced."""
    repository.run()
    assert traces(repository) == whole
    assert repository.lost() == []
    assert repository.is_whole()
    repository.end()


def check_losses(repository: Repository, whole: Traces) -> None:
    """What was lost with the supervisor is done again, and nothing else."""
    repository.run()
    lines = traces(repository)
    lost = [event for event in repository.story().of("step_finished") if event.outcome == "lost"]
    again = Counter(f"{event.subplan} {event.step}" for event in lost)
    assert [name for name, times in lines.steps.items() if times > 1 + again[name]] == []
    assert (lines.files, lines.landed, lines.held) == (whole.files, whole.landed, whole.held)
    assert (lines.state, lines.states) == (whole.state, whole.states)
    assert repository.lost() == []
    assert repository.is_whole()
    repository.end()
