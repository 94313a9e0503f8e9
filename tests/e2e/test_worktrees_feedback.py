"""A person reads the work of an agent and sends it back: `weft retry` with feedback."""

import pytest

from e2e.repositories import REMOVES, Repository

TESTED = """
agents: {coder: {use: command, command: 'sh OUTSIDE/agent.sh'}}
merge: {mode: manual}
failure_mode: continue_on_error
subplans:
  - id: a
    prompt: Build it
    steps:
      - {id: tests, run: 'echo tests >> OUTSIDE/steps; echo tests > tests.out'}
      - {id: code, prompt: "{{ slice.prompt }} {{ feedback }}", on_error: abort}
      - {id: check, run: 'echo check >> OUTSIDE/steps; test -e tests.out'}
  - {id: g, subplans: [{id: plain, steps: [{id: work, run: 'echo 1 > plain.out'}]}]}
"""
AGENT = """
echo code >> OUTSIDE/steps
echo ---- >> OUTSIDE/prompts
cat >> OUTSIDE/prompts
echo again >> work.out
test -e OUTSIDE/fixed
"""


@pytest.fixture(params=[REMOVES, Repository.head], ids=["removed worktree", "kept worktree"])
def tested(request: pytest.FixtureRequest, repository: Repository) -> Repository:
    repository.head = request.param
    repository.plan(TESTED)
    (repository.outside / "agent.sh").write_text(AGENT.replace("OUTSIDE", str(repository.outside)))
    return repository


def steps(repository: Repository) -> list[str]:
    return (repository.outside / "steps").read_text().split()


def last_prompt(repository: Repository) -> str:
    return (repository.outside / "prompts").read_text().rpartition("----")[2]


def retried(repository: Repository, text: str) -> None:
    """As the coordinator does that `weft retry` starts."""
    assert repository.run(ids=("a",), feedback={"a": text}, waits=False).state == "waiting"


def refused(repository: Repository, *words: str) -> str:
    done = repository.weft("retry", *words)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def test_the_work_goes_back_to_the_agent_with_the_text_until_it_lands(tested: Repository) -> None:
    assert tested.weft("run").returncode == 1
    assert "A person" not in last_prompt(tested)
    (tested.outside / "fixed").touch()
    retried(tested, "src/a.py:12: shorter\nsrc/b.py:3: why?")
    assert "src/a.py:12: shorter\nsrc/b.py:3: why?" in last_prompt(tested)
    first = tested.tip(tested.branch("a"))
    assert steps(tested) == ["tests", "code", "tests", "code", "check"]
    # The slice is completed and waits to land: it continues at its agent, with its work.
    retried(tested, "once more")
    assert "once more" in last_prompt(tested)
    assert "src/a.py:12" not in last_prompt(tested)
    assert steps(tested)[5:] == ["code", "check"]
    tested.git("merge-base", "--is-ancestor", first, tested.branch("a"))
    assert tested.weft("merge").returncode == 0
    landed = {"README": "hello", "plain.out": "1", "tests.out": "tests", "work.out": "again\nagain"}
    assert tested.files() == landed
    assert tested.lost() == []
    assert "a has landed" in refused(tested, "a", "--text", "too late")
    assert [event.data["text"] for event in tested.told("feedback", "a")] == [
        "src/a.py:12: shorter\nsrc/b.py:3: why?",
        "once more",
    ]


def test_feedback_that_no_agent_can_use_is_refused_with_what_to_do(repository: Repository) -> None:
    repository.plan(TESTED)
    (repository.outside / "agent.sh").write_text("exit 1")
    assert repository.weft("run").returncode == 1
    text = ("--text", "shorter")
    assert "to retry it if it has failed, type: weft retry g/plain" in refused(repository, "g/plain", *text)
    assert "g is a group, and feedback is for the agent of a slice; name a slice, such as g/plain" in refused(
        repository, "g", *text
    )
    assert "exclude each other" in refused(repository, "a", *text, "--file", "x")
    assert "name the slice that the feedback is for" in refused(repository, *text)
    assert "the feedback is empty" in refused(repository, "a", "--text", " \n")
    assert "cannot read none.txt: no such file" in refused(repository, "a", "--file", "none.txt")
    assert "too long; allowed are 65,536 bytes" in refused(repository, "a", "--text", "é" * 40_000)
    (repository.outside / "bad").write_bytes(b"a\0b")
    assert "NUL" in refused(repository, "a", "--file", str(repository.outside / "bad"))
    assert len(repository.told("run_started")) == 1
