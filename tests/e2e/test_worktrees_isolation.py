"""Each slice in a worktree of its own: whole, proven, given what it needs; and nothing done there is lost."""

import shutil

import pytest

from e2e.projects import Outcome
from e2e.repositories import Repository
from e2e.turnstile import Turnstile
from weft.errors import InputError

WAITS = "until test -e OUTSIDE/on; do sleep 0.02; done"


def last_message(outcome: Outcome, subplan: str, step: str) -> str:
    return str(outcome.of("step_finished", subplan, step)[-1].data["message"])


# --- many at once ---


def test_fifteen_worktrees_at_once_are_all_valid_and_all_are_merged(repository: Repository) -> None:
    """All are in their step before any may leave, so all come to be merged at once."""
    with Turnstile(repository.outside / "t", hold_until=15) as turnstile:
        run = f"{turnstile.enter}; git rev-parse --show-toplevel --abbrev-ref HEAD > me; {turnstile.leave}"
        lines = [
            f"  - {{id: s{number}, steps: [{{id: x, run: '{run}; mv me s{number}'}}]}}"
            for number in range(15)
        ]
        repository.plan("\n".join(["max_parallel: 15", "merge: {mode: auto}", "subplans:", *lines]))
        assert repository.run().state == "completed"
    files = repository.files()
    del files["README"]
    assert files == {
        f"s{number}": f"{repository.worktree(f's{number}')}\n{repository.branch(f's{number}')}"
        for number in range(15)
    }
    assert len(repository.landed()) == 15
    listed = repository.git("worktree", "list", "--porcelain").splitlines()
    assert [line for line in listed if line.startswith(("locked", "prunable"))] == []
    assert repository.is_whole()


# --- steps that spoil their worktree ---

SPOILT = """
failure_mode: continue_on_error
infra_retries: 1
merge: {mode: auto}
max_parallel: 8
subplans:
  - {id: ghost, steps: [{id: x, run: 'echo g > g; mv .git OUTSIDE/ghost.git'}, {id: y, run: MARK}]}
  - id: plain
    steps: [{id: x, run: 'cd ..; mv plain OUTSIDE/away; mkdir plain; echo p > plain/README'}, {id: y, run: MARK}]
  - {id: gone, steps: [{id: x, run: 'cd ..; rm -rf gone'}, {id: y, run: MARK}]}
  - {id: nameless, steps: [{id: x, run: 'echo n > n; git switch --quiet --detach'}, {id: y, run: MARK}]}
  - id: elsewhere
    steps: [{id: x, run: 'echo e > e; git switch -qc mine; git add e; git commit -qm mine'}, {id: y, run: MARK}]
  - id: deleted
    steps:
      - {id: x, run: 'echo d > d; git add d; git commit -qm d; git update-ref -d refs/heads/weft/tried/deleted'}
      - {id: y, run: MARK}
  - {id: fine, steps: [{id: x, run: echo f > f}, {id: y, run: MARK}]}
"""
SAID = {
    "ghost": "ghost",
    "plain": "plain",
    "gone": "gone",
    "nameless": "no branch checked out",
    "elsewhere": "the branch mine checked out",
    "deleted": "is gone",
}


def test_no_step_begins_in_what_is_not_its_worktree_and_what_was_done_is_kept(repository: Repository) -> None:
    outcome = repository.plan(SPOILT).run()
    assert outcome.state == "failed"
    assert [mark.split()[0] for mark in repository.marks()] == ["fine"]
    assert repository.files() == {"README": "hello", "f": "f"}
    failed = {path for path, state in outcome.states().items() if state.startswith("failed")}
    assert failed == set(SAID)
    messages = {path: outcome.message(path) for path in SAID}
    assert {path: SAID[path] in message for path, message in messages.items()} == dict.fromkeys(SAID, True)
    assert repository.lost() == []
    kept = repository.git("for-each-ref", "--format=%(refname:lstrip=4)", "refs/weft/kept").split()
    assert sorted({name.split("/")[0] for name in kept}) == ["deleted", "elsewhere", "nameless"]
    assert (repository.outside / "away" / ".git").is_file()


ASKED = """
failure_mode: continue_on_error
infra_retries: 0
merge: {mode: auto}
pipelines:
  asked: [{id: x, run: echo x > $WEFT_SUBPLAN}, {id: sure, action: ask, question: Sure?}, {id: y, run: MARK}]
subplans:
  - {id: ghost, pipeline: asked}
  - {id: plain, pipeline: asked}
  - {id: nameless, pipeline: asked}
  - {id: foreign, pipeline: asked}
  - {id: fine, pipeline: asked}
"""


def test_a_worktree_is_proven_before_each_step(repository: Repository) -> None:
    """While a question is open, somebody does this to them."""
    assert repository.plan(ASKED).run(waits=False).state == "waiting"
    place = {name: repository.worktree(name) for name in ("ghost", "plain", "nameless", "foreign", "fine")}
    (place["ghost"] / ".git").unlink()
    place["plain"].rename(repository.outside / "away")
    shutil.copytree(repository.outside / "away", place["plain"], ignore=shutil.ignore_patterns(".git"))
    repository.git("switch", "--quiet", "--detach", at=place["nameless"])
    repository.git("init", "--quiet", str(repository.outside / "other"))
    (place["foreign"] / ".git").write_text(f"gitdir: {repository.outside}/other/.git\n")
    for name in place:
        repository.answer(name)
    outcome = repository.run()
    assert [mark.split()[0] for mark in repository.marks()] == ["fine"]
    del place["fine"]
    states = outcome.states()
    assert {name: states[name] for name in place} == dict.fromkeys(place, "failed infra")
    messages = {name: last_message(outcome, name, "y") for name in place}
    assert {name: str(place[name]) in message for name, message in messages.items()} == dict.fromkeys(
        place, True
    )
    assert repository.files() == {"README": "hello", "fine": "x"}
    assert {name: repository.files(repository.branch(name))[name] for name in place} == dict.fromkeys(
        place, "x"
    )


# --- a person, between runs ---

TO_LAND = """
merge: {mode: manual}
subplans:
  - {id: a, steps: [{id: x, run: echo a > a}]}
  - {id: b, steps: [{id: x, run: echo b > b}]}
  - {id: c, steps: [{id: x, run: echo c > c}]}
"""


def test_what_a_person_did_to_branches_and_worktrees_is_said_and_can_be_fixed(
    repository: Repository,
) -> None:
    """A worktree that was removed is not needed any more; a branch is, and the message says how to get it back."""
    assert repository.plan(TO_LAND).weft("run").returncode == 4
    repository.git("worktree", "remove", str(repository.worktree("a")))
    repository.git("worktree", "remove", str(repository.worktree("b")))
    lost = repository.tip(repository.branch("b"))
    repository.git("branch", "--quiet", "-D", repository.branch("b"))
    repository.git("switch", "--quiet", "--detach", at=repository.worktree("c"))
    tried = repository.weft("merge")
    assert tried.returncode == 4
    assert repository.landed() == ["Merge a"]
    again = f"git branch {repository.branch('b')} {lost[:12]}"
    assert f"the branch {repository.branch('b')} of b is gone; to restore it, type: {again}" in tried.stdout
    switch = f"git -C {repository.worktree('c')} switch {repository.branch('c')}"
    assert switch in tried.stdout
    repository.git(*again.split()[1:])
    repository.git(*switch.split()[1:])
    assert repository.weft("merge").returncode == 0
    assert repository.files() == {"README": "hello", "a": "a", "b": "b", "c": "c"}
    assert repository.is_whole()
    assert repository.lost() == []


def test_nothing_that_has_not_landed_is_lost_by_another_run(repository: Repository) -> None:
    """A changed plan, what a person left in a worktree, and all anew."""
    repository.plan(TO_LAND).run()
    first = repository.works()
    repository.write(at=repository.worktree("a"), unsaved="u\n")
    repository.plan(TO_LAND.replace("echo a > a", "echo other > a")).run()
    second = repository.works()
    assert "unsaved" in repository.git("log", "--all", "--format=", "--name-only")
    repository.run(fresh=True)
    assert first < second < repository.works()
    assert second <= repository.reachable()
    assert repository.lost() == []
    assert repository.files(repository.branch("a")) == {"README": "hello", "a": "other"}


def test_another_run_starts_with_what_people_have_committed_since(repository: Repository) -> None:
    plan = """
merge: {mode: auto}
subplans:
  - {id: a, steps: [{id: x, run: echo a > a}]}
  - id: g
    verify: 'true'
    subplans:
      - {id: b, steps: [{id: x, run: 'echo b > b; ls > OUTSIDE/seen'}]}
"""
    assert repository.plan(plan).run().state == "completed"
    repository.commit(person="p\n")
    more = plan + "      - {id: c, steps: [{id: x, run: 'ls > OUTSIDE/seen; echo c > c'}]}\n"
    assert repository.plan(more).run().state == "completed"
    assert repository.lines("seen") == ["README", "a", "b", "person"]
    assert repository.files() == {"README": "hello", "a": "a", "b": "b", "c": "c", "person": "p"}


# --- what a slice is given ---


def test_settings_and_dependencies_are_there_and_are_not_committed(repository: Repository) -> None:
    repository.commit(__gitignore="deps/\nsecret.local\n", __worktreeinclude="secret.local\n")
    repository.write(__env="KEY=1\n", node_modules___dep="dep\n", secret__local="s\n")
    see = "cat .env node_modules/dep secret.local deps/built"
    repository.plan(f"""
copy: [.env]
link: [node_modules]
setup: mkdir -p deps; echo built > deps/built
merge: {{mode: auto}}
subplans:
  - id: g
    verify: cat .env node_modules/dep secret.local > OUTSIDE/verified
    subplans:
      - {{id: a, steps: [{{id: x, run: '{see} > OUTSIDE/seen; echo a > a; echo more >> .env; git add --all'}}]}}
""")
    assert repository.run().state == "completed"
    assert repository.lines("seen") == ["KEY=1", "dep", "s", "built"]
    assert repository.lines("verified") == ["KEY=1", "dep", "s"]
    assert sorted(repository.files()) == [".gitignore", ".worktreeinclude", "README", "a"]
    assert repository.worktree("g/a").joinpath("node_modules").is_symlink()
    assert (repository.root / ".env").read_text() == "KEY=1\n"


# --- names and links that would lead elsewhere ---


@pytest.mark.parametrize(
    "name", ["..", ".", "a/b", r"a\b", "", "a:b", "/etc/a", "a b", "-a", "a\n", "_plan", "a.lock/"]
)
def test_a_name_that_could_lead_elsewhere_is_refused(repository: Repository, name: str) -> None:
    quoted = name.replace("\\", "\\\\").replace("\n", "\\n")
    before = repository.git("for-each-ref")
    repository.plan(f'subplans: [{{id: "{quoted}", steps: [{{id: x, run: MARK}}]}}]')
    with pytest.raises(InputError):
        repository.run()
    repository.plan("subplans: [{id: a, steps: [{id: x, run: MARK}]}]")
    text = (repository.root / "weft.yaml").read_text().replace("plan: tried", f'plan: "{quoted}"')
    (repository.root / "weft.yaml").write_text(text)
    with pytest.raises(InputError):
        repository.run()
    assert repository.git("for-each-ref") == before
    assert repository.marks() == []


def test_links_that_a_step_leaves_lead_nobody_outside(repository: Repository) -> None:
    """Neither what is copied in afterwards, nor a merge, nor a verify, nor what lands."""
    outside = repository.outside / "elsewhere"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    repository.commit(sub___f="f\n", conf___x="tracked\n")
    repository.write(conf___y="given\n")
    repository.plan("""
copy: [conf/y]
merge: {mode: auto}
subplans:
  - id: g
    verify: 'true'
    subplans:
      - id: a
        steps:
          - {id: x, run: 'rm -r conf sub; ln -s OUTSIDE/elsewhere conf; ln -s OUTSIDE/elsewhere sub'}
          - {id: y, run: 'ln -s ../../../.. up; ln -s OUTSIDE/elsewhere/secret one'}
      - {id: b, depends_on: [a], steps: [{id: x, run: 'rm sub; mkdir sub; echo mine > sub/secret'}]}
""")
    outcome = repository.run()
    assert outcome.state == "waiting"  # conf is in the way, with a file that is not tracked
    assert [event.data["files"] for event in outcome.of("merge", "g", "@land")] == [["conf"]]
    (repository.root / "conf" / "y").unlink()
    assert repository.run().state == "completed"
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"secret": "secret\n"}
    assert repository.files()["one"] == str(outside / "secret")
    assert repository.files()["sub/secret"] == "mine"
    assert repository.is_whole()


# --- an agent that knows git ---

AGENT = """
agents:
  coder: {use: scripted, script: script.json}
merge: {mode: auto}
subplans:
  - {id: tidy, steps: [{id: code, prompt: work}]}
  - {id: part, steps: [{id: code, prompt: work}]}
  - {id: undone, steps: [{id: code, prompt: work}]}
  - {id: idle, steps: [{id: code, prompt: work}]}
"""
SCRIPT = """[
  {"subplan": "tidy", "do": [
    {"run": "echo 1 > t; git add t; git commit -qm one"},
    {"run": "echo 2 > t; git commit -qam two; echo > out.log"}
  ]},
  {"subplan": "part", "do": [
    {"run": "echo 1 > p; git add p; git commit -qm mine"}, {"write": {"q": "2\\n", "out.log": "log"}}
  ]},
  {"subplan": "undone", "do": [
    {"run": "echo 1 > u; git add u; git commit -qm first-try; git reset -q --hard HEAD~; echo 2 > u"}
  ]},
  {"subplan": "idle", "do": [{"say": "nothing to do"}]}
]"""


def test_what_an_agent_commits_is_kept_and_only_what_is_left_is_committed_for_it(
    repository: Repository,
) -> None:
    repository.commit(__gitignore="*.log\n")
    outcome = repository.plan(AGENT, script__json=SCRIPT).run()
    assert outcome.state == "completed"
    own = {path: own_commits(repository, path) for path in ("tidy", "part", "undone", "idle")}
    assert own == {
        "tidy": ["two", "one"],
        "part": ["part: code", "mine"],
        "undone": ["undone: code"],
        "idle": [],
    }
    files = {"README": "hello", ".gitignore": "*.log", "t": "2", "p": "1", "q": "2", "u": "2"}
    assert repository.files() == files
    assert sorted(repository.landed()[1:]) == ["Merge part", "Merge tidy", "Merge undone"]
    assert repository.lost() == []
    assert "first-try" in repository.git("log", "--format=%s", "--glob=refs/weft/kept")


def own_commits(repository: Repository, path: str) -> list[str]:
    span = f"refs/weft/start/tried/{path}..{repository.branch(path)}"
    return repository.git("log", "--format=%s", span).splitlines()


# --- an agent that does not stay in its worktree ---

STRAYS = """
agents:
  coder: {use: scripted, script: script.json}
merge: {mode: auto}
subplans:
  - {id: first, steps: [{id: code, prompt: work}]}
  - {id: second, depends_on: [first], steps: [{id: code, prompt: work}]}
"""
STRAYING = """[
  {"subplan": "first", "do": [{"write": {"a": "1\\n"}}]},
  {"subplan": "second", "do": [
    {"write": {"b": "1\\n"}},
    {"run": "cd \\"$WEFT_PLAN_DIR\\"; echo x >> README; echo x > stray"}
  ]}
]"""


def test_what_an_agent_writes_outside_of_its_worktree_is_reported_and_fails_nothing(
    repository: Repository,
) -> None:
    outcome = repository.plan(STRAYS, script__json=STRAYING).run()
    assert outcome.state == "completed"
    changes = [event for event in outcome.events if event.kind == "outside_changed"]
    (change,) = [event for event in changes if not event.data["place"]]
    assert (change.subplan, change.step) == ("second", "code")
    assert (change.data["files"], change.data["during"]) == (["README", "stray"], ["second:code"])
