"""Green alone, red together: the culprits are named, and what is left lands if it may."""

import os
import signal

from e2e.repositories import REMOVES, Repository

TOGETHER = "for one in model disk cache; do until test -e OUTSIDE/at-$one; do sleep 0.02; done; done"
"""All have started, so that none starts with the work of another."""
PLAN = f"""
merge: {{mode: auto}}
failure_mode: MODE
subplans:
  - id: store
    verify: >-
      MARK; GATE ls >> OUTSIDE/seen; echo -- >> OUTSIDE/seen;
      test $(cat model disk 2>&1 | grep -c bad) -lt 2 || {{ echo they clash; exit 1; }}
    subplans:
      - {{id: model, steps: [{{id: write, run: 'touch OUTSIDE/at-model; {TOGETHER}; cat OUTSIDE/word > model'}}]}}
      - {{id: disk, steps: [{{id: write, run: 'touch OUTSIDE/at-disk; {TOGETHER}; cat OUTSIDE/word > disk'}}]}}
      - {{id: cache, steps: [{{id: write, run: 'MARK; touch OUTSIDE/at-cache; {TOGETHER}; echo fine > cache'}}]}}
  - {{id: user, depends_on: [store], steps: [{{id: use, run: cat model disk cache > all}}]}}
"""
SAID = (
    "`verify` of store fails with model and disk together; it passes without them (6 more runs): exit code 1"
)


def clashing(repository: Repository, mode: str, gate: str = "") -> Repository:
    (repository.outside / "word").write_text("bad\n")
    return repository.plan(PLAN.replace("MODE", mode).replace("GATE", gate))


def verified_on(repository: Repository) -> list[list[str]]:
    """The files of slices that were there, each time that verify was run."""
    runs = "\n".join(repository.lines("seen")).split("--")[:-1]
    return [[file for file in run.split() if file != "README"] for run in runs]


SEARCH = [
    ["cache", "disk", "model"],
    ["cache", "disk", "model"],
    [],
    ["model"],
    ["disk", "model"],
    ["disk"],
    ["cache"],
]


def test_under_fail_fast_nothing_lands_and_the_culprits_are_named(repository: Repository) -> None:
    before = repository.tip()
    ran = clashing(repository, "fail_fast").weft("run")
    assert (ran.returncode, repository.tip()) == (1, before)
    assert verified_on(repository) == SEARCH
    story = repository.story()
    assert story.states()["store"] == "failed error"
    assert story.message("store").startswith(f"@verify: {SAID}")
    assert SAID in ran.stderr
    assert "they clash" in ran.stderr
    assert story.of("left_out") == []
    assert repository.is_whole()


def test_under_continue_on_error_what_is_left_lands_and_the_rest_is_done_again(
    repository: Repository,
) -> None:
    ran = clashing(repository, "continue_on_error").weft("run")
    assert ran.returncode == 1
    assert repository.files() == {"README": "hello", "cache": "fine"}
    assert verified_on(repository) == SEARCH
    story = repository.story()
    assert story.state == "failed"
    assert [(event.subplan, event.data["group"]) for event in story.of("left_out")] == [
        ("store/model", "store"),
        ("store/disk", "store"),
    ]
    assert story.states()["user"] == "failed blocked"
    check_summary(ran.stderr)
    assert repository.files(repository.branch("store/model"))["model"] == "bad"
    assert repository.weft("replay").returncode == 0
    assert repository.is_whole()

    (repository.outside / "word").write_text("good\n")
    again = repository.weft("run")
    assert again.returncode == 0, again.stderr
    assert repository.files() == {
        "README": "hello",
        "all": "good\ngood\nfine",
        "cache": "fine",
        "disk": "good",
        "model": "good",
    }
    cached = [mark for mark in repository.marks() if mark.startswith("store/cache")]
    assert len(cached) == 1
    assert repository.lost() == []
    assert repository.is_whole()


def check_summary(text: str) -> None:
    messages = text[text.index("Left out") :]
    assert messages.startswith(f"Left out   store/model, store/disk: {SAID}\n")
    assert "| they clash" in messages
    assert "what was done is on weft/tried/store.model, weft/tried/store.disk" in messages
    assert "Landed     1 on main: store" in messages
    assert "weft run" in messages


def test_a_verify_that_passes_when_run_again_is_called_unreliable(repository: Repository) -> None:
    plan = """
    merge: {mode: auto}
    subplans:
      - id: store
        verify: test -e OUTSIDE/before || { touch OUTSIDE/before; exit 1; }
        subplans:
          - {id: a, steps: [{id: x, run: echo a > a}]}
          - {id: b, steps: [{id: x, run: echo b > b}]}
    """
    ran = repository.plan(plan.replace("\n    ", "\n")).weft("run")
    assert ran.returncode == 1
    assert "it failed, and then passed on the same files" in ran.stderr


def test_after_a_kill_between_two_runs_the_next_coordinator_continues(repository: Repository) -> None:
    """Each run of verify waits until the coordinator that started it is dead."""
    gate = "until test -e OUTSIDE/go-$WEFT_JOB; do sleep 0.02; done;"
    clashing(repository, "continue_on_error", gate)
    jobs: list[str] = []

    def started() -> list[str]:
        return [mark.split()[3] for mark in repository.marks() if " @verify " in mark]

    def is_next_started() -> bool:
        return len(started()) > len(jobs)

    while len(jobs) < len(SEARCH):
        with repository.started("run") as process:
            repository.wait_for(is_next_started, process)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        jobs = started()
        (repository.outside / f"go-{jobs[-1]}").touch()
    ran = repository.weft("run")
    assert ran.returncode == 1, ran.stderr
    assert verified_on(repository) == SEARCH
    assert len(set(jobs)) == len(started()) == len(SEARCH)
    assert repository.files() == {"README": "hello", "cache": "fine"}
    assert SAID in ran.stderr
    assert repository.is_whole()


BY_CHANCE = """
merge: {mode: auto}
failure_mode: continue_on_error
max_parallel: 1
subplans:
  - id: store
    verify: 'test ! -e bad || { echo they clash; exit 1; }'
    subplans:
      - {id: model, steps: [{id: write, run: 'touch bad'}]}
      - {id: disk, steps: [{id: write, run: 'touch disk'}]}
      - {id: cache, depends_on: [disk], steps: [{id: write, run: 'touch cache'}]}
      - {id: more, depends_on: [model], steps: [{id: write, run: 'touch more'}]}
"""
"""Each slice but the first starts with the work of the first, and only the last one depends on it."""


def test_slices_that_only_started_after_the_culprit_land_without_it(repository: Repository) -> None:
    repository.head = REMOVES
    ran = repository.plan(BY_CHANCE).weft("run")
    assert ran.returncode == 1, ran.stderr
    assert repository.files().keys() == {"README", "disk", "cache"}
    assert repository.files(repository.branch("store/disk")).keys() == {"README", "disk"}
    assert repository.lost() == []
    assert repository.weft("replay").returncode == 0
