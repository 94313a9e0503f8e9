"""What has landed is pushed to a real remote, which may be ahead, fail the verify or refuse."""

from pathlib import Path

import pytest

from e2e.repositories import Repository

PLAN = """
verify: "! test -e bad"
merge: {mode: auto, push: PUSH}
subplans:
  - {id: a, steps: [{id: write, run: echo a > a}]}
"""


class Remote:
    """The bare repository of `origin`, which is the upstream of `main`."""

    def __init__(self, repository: Repository) -> None:
        self.place = repository.outside / "origin.git"
        self._repository = repository
        repository.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.place))
        repository.git("remote", "add", "origin", str(self.place))
        repository.git("push", "--quiet", "--set-upstream", "origin", "main")

    @property
    def tip(self) -> str:
        return self._repository.tip("main", at=self.place)

    def push_as_another(self, **files: str) -> str:
        """A commit that another person pushes."""
        place = self._repository.outside / "another"
        self._repository.git("clone", "--quiet", str(self.place), str(place))
        made = self._repository.commit(at=place, **files)
        self._repository.git("push", "--quiet", at=place)
        return made

    def refuse(self, words: str) -> Path:
        hook = self.place / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {words}\nexit 1\n")
        hook.chmod(0o755)
        return hook


@pytest.fixture
def remote(repository: Repository) -> Remote:
    return Remote(repository)


def status(repository: Repository) -> list[str]:
    shown = repository.weft("status")
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.splitlines()


def test_a_remote_that_is_ahead_is_merged_verified_and_pushed(repository: Repository, remote: Remote) -> None:
    theirs = remote.push_as_another(theirs="1")
    outcome = repository.plan(PLAN.replace("PUSH", "true")).run()
    assert outcome.state == "completed"
    assert repository.files() == {"README": "hello", "a": "a", "theirs": "1"}
    assert remote.tip == repository.tip()
    assert repository.git("rev-parse", "main^2") == theirs
    verified = [event.data["tree"] for event in outcome.of("verify") if event.outcome == "passed"]
    assert verified == [repository.git("rev-parse", f"{commit}^{{tree}}") for commit in ("main^", "main")]
    assert [(event.outcome, event.data["commit"]) for event in outcome.of("push")] == [("pushed", remote.tip)]
    assert repository.is_whole()
    assert status(repository)[-1] == f"landed, pushed to its upstream ({remote.tip[:7]})"


def test_a_remote_that_fails_the_verify_does_not_reach_the_target(
    repository: Repository, remote: Remote
) -> None:
    theirs = remote.push_as_another(bad="1")
    outcome = repository.plan(PLAN.replace("PUSH", "origin")).run()
    assert outcome.state == "completed"
    assert repository.files() == {"README": "hello", "a": "a"}
    assert remote.tip == theirs
    assert [(event.outcome, event.data["final"]) for event in outcome.of("push")] == [
        ("failed", False),
        ("failed", True),
    ]
    (line,) = [line for line in status(repository) if line.startswith("landed, ")]
    assert line.startswith("landed, not pushed: `verify` fails on main with the remote's commits: ")


def test_a_remote_that_refuses_leaves_the_landing_and_the_command_that_is_shown_pushes_it(
    repository: Repository, remote: Remote
) -> None:
    before, hook = remote.tip, remote.refuse("no commits on a Friday")
    outcome = repository.plan(PLAN.replace("PUSH", "origin")).run()
    assert outcome.state == "completed"
    assert (repository.files(), remote.tip) == ({"README": "hello", "a": "a"}, before)
    lines = status(repository)
    assert "landed, not pushed: remote: no commits on a Friday" in lines
    hook.unlink()
    (command,) = [line.partition("  ")[0] for line in lines if line.startswith("git push ")]
    repository.git(*command.split()[1:])
    assert remote.tip == repository.tip()


@pytest.mark.parametrize(
    ("push", "text"),
    [
        ("elsewhere", "`merge.push` names the remote elsewhere, which does not exist"),
        ("true", "main has no upstream to push to"),
    ],
)
def test_a_run_that_could_not_push_is_refused(repository: Repository, push: str, text: str) -> None:
    repository.plan(PLAN.replace("PUSH", push))
    result = repository.weft("run")
    assert result.returncode == 2
    assert text in result.stderr
