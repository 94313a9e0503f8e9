"""Names of refs and worktrees: git allows each of them, and no two subplans share one."""

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.plan.language.values import ID_PATTERN
from weft.workspaces.git.base.names import RefNames, dotted
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import repository

NAMES = RefNames("notes")
COMMIT = "0123456789abcdef" * 4
LONG = "a" * 64
CUT_BEFORE_A_DOT = f"{LONG}/{LONG}/{'b' * 29}/{LONG}"
LONGEST_OF_ONE_NAME = f"{LONG}/{LONG}/{'b' * 62}/lock"
REFS = (
    NAMES.head,
    NAMES.start,
    NAMES.reported,
    NAMES.tip,
    NAMES.merging,
    lambda path: NAMES.kept(path, COMMIT),
)

ids = st.sampled_from(["a", "b", "lock", "a-", "0_", LONG]) | st.from_regex(ID_PATTERN, fullmatch=True)
paths = st.lists(ids, max_size=6).map("/".join)


def test_a_name_is_the_path_with_dots() -> None:
    assert NAMES.branch("store/model") == "weft/notes/store.model"
    assert NAMES.head("store/model") == "refs/heads/weft/notes/store.model"
    assert NAMES.start("store/model") == "refs/weft/start/notes/store.model"
    assert NAMES.reported("store/model") == "refs/weft/told/notes/store.model"
    assert NAMES.tip("store/model") == "refs/weft/tip/notes/store.model"
    assert NAMES.merging("store/model") == "refs/weft/merging/notes/store.model"
    assert NAMES.kept("store/model", COMMIT) == "refs/weft/kept/notes/store.model/0123456789abcdef"


def test_the_whole_plan_has_a_name_that_no_subplan_has() -> None:
    assert NAMES.branch("") == "weft/notes/_plan"


def test_the_prefix_of_branches_is_the_one_of_the_plan() -> None:
    names = RefNames("notes", prefix="bots/weft-")
    assert names.branch("a") == "bots/weft-notes/a"
    assert names.head("a") == "refs/heads/bots/weft-notes/a"
    assert names.start("a") == "refs/weft/start/notes/a"


@settings(max_examples=40)
@given(path=paths)
@example(path="")
@example(path="lock")
@example(path="a/lock")
@example(path="a/lock/b")
@example(path=CUT_BEFORE_A_DOT)
@example(path=LONGEST_OF_ONE_NAME)
def test_git_allows_every_name(path: str) -> None:
    git = Git(Path("/"))
    for ref_of in REFS:
        git.do("check-ref-format", ref_of(path))


@given(some=st.lists(paths, unique=True, min_size=2, max_size=6))
@example(some=["a/lock", "a/lock/lock", "a", ""])
@example(some=[CUT_BEFORE_A_DOT, CUT_BEFORE_A_DOT + "/b", CUT_BEFORE_A_DOT + "/c"])
def test_two_subplans_share_no_name(some: list[str]) -> None:
    for ref_of in REFS:
        assert len({ref_of(path) for path in some}) == len(some)


@given(path=paths)
@example(path=LONGEST_OF_ONE_NAME)
def test_a_name_is_flat_and_short_enough_for_file_systems(path: str) -> None:
    assert "/" not in dotted(path)
    assert len(f"_check.{dotted(path)}.lock".encode()) <= 255


def test_the_branch_of_a_very_long_path_can_be_made(tmp_path: Path) -> None:
    git = repository(tmp_path / "r")
    for path in ("/".join([LONG] * 8), CUT_BEFORE_A_DOT, LONGEST_OF_ONE_NAME):
        git.do("update-ref", NAMES.head(path), "HEAD")
        assert git.line("rev-parse", "--verify", NAMES.branch(path)) == git.line("rev-parse", "HEAD")
