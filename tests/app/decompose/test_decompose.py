"""From a project to the text of a plan that Weft takes."""

import os
from pathlib import Path

import pytest
from hypothesis import given

from decompose.sets import LIMITS, files, signals
from weft.app.decompose import decompose as decomposing
from weft.app.decompose.decompose import Proposal, propose
from weft.app.decompose.plan_text import plan_text
from weft.app.init.survey import CheckCommand, GitState, ProjectSurvey
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.parts import decompose
from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.loader.load import load_plan
from weft.plan.order.globs import matches
from weft.workspaces.git.base.program import Git

NOTHING = ProjectSurvey(agents=(), tests=(), setup="", git=GitState())
MUCH = ProjectSurvey(
    agents=(AGENT_PROGRAMS["codex"],),
    tests=(CheckCommand("make test", "Makefile"),),
    setup="npm ci",
    git=GitState(is_repository=True),
)


def project(folder: Path) -> Path:
    for part, uses in (("store", "store.m0"), ("cli", "cli.m0, store.m0")):
        (folder / part).mkdir()
        for number in range(4):
            (folder / part / f"m{number}.py").write_text(f"import {uses}\n")
    return folder


def proposed(folder: Path, *globs: str, **limits: int) -> Proposal:
    return propose(folder, "Do it.", globs=globs, limits=Limits(**limits), environ=os.environ)


@given(signals(most=30), LIMITS)
def test_any_tree_of_parts_is_a_plan_in_which_each_file_has_one_slice(files: Signals, limits: Limits) -> None:
    whole = decompose(files, limits)
    text = plan_text(whole, name="x", goal="Do it.", found=NOTHING)
    plan = load_plan(text, "x.yaml")
    patterns = {
        part.files[0]: plan_part.files
        for part, plan_part in zip(
            whole.leaves(), (subplan for subplan in plan.subplans if subplan.files), strict=True
        )
    }
    assert all(
        any(matches(item, path) for item in patterns[leaf.files[0]])
        for leaf in whole.leaves()
        for path in leaf.files
    )


def test_a_project_becomes_a_plan(tmp_path: Path) -> None:
    result = proposed(project(tmp_path), max_files_per_subplan=4)
    plan = load_plan(result.text, "x.yaml")
    assert [(item.id, item.files) for item in plan.subplans[1:]] == [
        ("cli", ("cli/**",)),
        ("store", ("store/**",)),
    ]
    assert [part.depends_on for part in result.whole.parts] == [("store",), ()]
    assert (result.references, result.references_inside) == (10, 6)


def test_a_folder_of_which_some_files_are_not_meant_is_not_named_as_a_whole(tmp_path: Path) -> None:
    chosen = proposed(project(tmp_path), "store/m[012].py", "cli/**")
    (files,) = (item.files for item in load_plan(chosen.text, "x.yaml").subplans[1:])
    assert files == ("cli/**", "store/m0.py", "store/m1.py", "store/m2.py")


def test_of_a_folder_in_a_repository_nothing_above_it_is_named(tmp_path: Path) -> None:
    for name in ("src/a/b/x.py", "src/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    git = Git(tmp_path, environ=os.environ)
    git.do("init", "--quiet")
    git.do("add", "--all")
    assert load_plan(proposed(tmp_path / "src/a").text, "x.yaml").subplans[1].files == ("src/a/**",)


def test_it_is_said_what_is_being_done(tmp_path: Path) -> None:
    text = list[str]()
    limits = Limits()
    propose(project(tmp_path), "g", globs=(), limits=limits, environ=os.environ, watch=text.append)
    assert text == [
        "listing files",
        "reading files: 0 of 8",
        "looking up what files refer to",
        "splitting 8 files",
        "writing the plan",
    ]


def test_what_was_found_in_the_project_is_in_the_plan() -> None:
    whole = decompose(Signals(paths=("a.py",), tokens=(1,)), Limits())
    text = plan_text(whole, name="My Plan", goal="Do it: now", found=MUCH)
    plain = [line for line in text.splitlines() if not line.startswith("#")]
    assert plain == [
        "weft: 1",
        "plan: my-plan",
        'goal: "Do it: now"',
        "setup: npm ci",
        "verify: make test",
        "agent: coder",
        "agents:",
        "  coder:",
        "    use: codex",
        "subplans:",
        "  - id: everything",
        "    title: a",
        "    prompt: |-",
        "      Do what the goal asks for in the file of this slice (a).",
        "      Change files of other slices only where they must change with these.",
        "    files: [a.py]",
    ]


def test_a_written_prompt_is_kept() -> None:
    whole = Part(id="", title="t", files=("a.py",), tokens=1, prompt="Rename {{ it }}: #1")
    text = plan_text(whole, name="x", goal="g", found=NOTHING)
    assert load_plan(text, "x.yaml").subplans[1].prompt == "Rename {{ it }}: #1"


def test_what_a_person_should_know_is_said_in_comments() -> None:
    flat = Signals(paths=tuple(f"f{number:02}" for number in range(30)), tokens=(4000,) * 30)
    text = plan_text(decompose(flat, Limits()), name="x", goal="g", found=NOTHING)
    comments = [line.strip() for line in text.splitlines() if line.strip().startswith("#")]
    assert comments == [
        "# A proposal for 30 files, based on their references and on what changed together, not on the goal:",
        "# read it, and change what you know better.",
        "#   weft check   checks it; shows what runs at once and what it may cost",
        "#   weft run     runs it",
        "# No command was found that tests the project.",
        "# `verify: COMMAND` names one that must pass in the end.",
        "# None was found on this machine.",
        "# Larger than one agent should take, but there is no basis for splitting it.",
    ]


def test_risks_stand_where_the_parts_begin() -> None:
    paths = tuple(f"{folder}/{number}.py" for folder in "abcde" for number in range(3))
    uses = ((0, 3), (3, 0))
    together = ((0, 6, 2), (0, 9, 2), (1, 9, 1), (0, 12, 1))
    whole = decompose(
        Signals(paths=paths, tokens=(1,) * 15, uses=uses, together=together), Limits(max_files_per_subplan=3)
    )
    text = plan_text(whole, name="x", goal="g", found=MUCH)
    lines = text.splitlines()
    at = lines.index("subplans:")
    assert lines[at - 4 : at] == [
        "# a and b refer to each other: a/0.py with b/0.py",
        "# a and d often change together: a/0.py with d/0.py and 1 more",
        "# a and c often change together: a/0.py with c/0.py",
        "# So do 1 more pairs; `weft decompose --json` lists all.",
    ]


def test_groups_are_subplans_and_shared_folders_are_reported_by_file() -> None:
    rings = [
        (f"src/p/{side}{item}.py", f"src/p/{side}{(item + 1) % 9}.py") for side in "xy" for item in range(9)
    ]
    others = [f"src/q/{number:02}/{name}.py" for number in range(12) for name in "abcd"]
    whole = decompose(
        files(*(user for user, _used in rings), *others, uses=tuple(rings)), Limits(max_files_per_subplan=9)
    )
    plan = load_plan(plan_text(whole, name="x", goal="g", found=MUCH), "x.yaml")
    by_path = dict(zip(map(str, plan.outline.paths), plan.subplans, strict=True))
    assert by_path["p/x0"].files == tuple(f"src/p/x{number}.py" for number in range(9))
    assert all(
        file.endswith("/**") for path, part in by_path.items() if path.startswith("q") for file in part.files
    )


def test_where_all_files_are_gone_there_is_nothing_to_decompose(tmp_path: Path) -> None:
    git = Git(tmp_path, environ=os.environ)
    git.do("init", "--quiet")
    (tmp_path / "a.py").touch()
    git.do("add", "--all")
    (tmp_path / "a.py").unlink()
    with pytest.raises(InputError, match="there are no files to decompose; name some that are there"):
        proposed(tmp_path)


@pytest.mark.parametrize("count", [1, 2])
def test_very_few_files_are_one_slice(tmp_path: Path, count: int) -> None:
    for number in range(count):
        (tmp_path / f"{number}.py").write_bytes(b"x = 1\n" * 100_000)
    assert [len(part.files) for part in proposed(tmp_path).whole.leaves()] == [count]


@pytest.mark.parametrize(("goal", "said"), [(" ", "the goal is empty"), ("\udcff", "is not text in UTF-8")])
def test_a_goal_that_says_nothing_is_an_error(tmp_path: Path, goal: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        propose(tmp_path, goal, globs=(), limits=Limits(), environ=os.environ)


@pytest.mark.parametrize("goal", ["Do: it # now\n- a\n", "\x1b[31m\t\u2028", "{{ goal }}", "yes", "'\""])
def test_any_other_goal_is_in_the_plan_as_it_is(tmp_path: Path, goal: str) -> None:
    (tmp_path / "a").touch()
    proposal = propose(tmp_path, goal, globs=(), limits=Limits(), environ=os.environ)
    assert load_plan(proposal.text, "x.yaml").goal == goal


def test_without_the_extra_it_is_said_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposing, "_EXTRA", ("no_such_module",))
    with pytest.raises(InputError, match=r"pip install 'weft\[decompose\]'"):
        proposed(tmp_path)


def test_names_that_are_no_line_of_text_do_no_harm_in_comments() -> None:
    paths = tuple(f"{folder}/{number}\udc80\x1b" for folder in "ab" for number in range(3))
    whole = decompose(
        Signals(paths=paths, tokens=(1,) * 6, together=((0, 3, 1),)), Limits(max_files_per_subplan=3)
    )
    text = plan_text(whole, name="x", goal="g", found=MUCH)
    assert text.encode().decode() == text
    assert r"# a and b often change together: 'a/0\udc80\x1b' with 'b/0\udc80\x1b'" in text.splitlines()


def test_slices_and_groups_have_the_verify_that_runs_their_tests(tmp_path: Path) -> None:
    """The files that tests are made of hold a test; what has none has no verify."""
    for part in ("cli", "store", "web"):
        for name in ("a", "b"):
            code, test = tmp_path / f"src/{part}/{name}.py", tmp_path / f"tests/{part}/test_{name}.py"
            for file in (code, test):
                file.parent.mkdir(parents=True, exist_ok=True)
            code.write_text("VALUE = 1")
            test.write_text("def test_it(): ..." if part != "web" else "VALUE = 1")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pytest").touch(0o755)
    proposal = propose(
        tmp_path,
        "Do it.",
        globs=("src/**", "tests/**"),
        limits=Limits(max_files_per_subplan=4),
        environ={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
    )
    plan = load_plan(proposal.text, "x.yaml")
    assert {item.id: item.verify for item in plan.subplans[1:]} == {
        "cli": ("pytest -q tests/cli",),
        "store": ("pytest -q tests/store",),
        "web": (),
    }
