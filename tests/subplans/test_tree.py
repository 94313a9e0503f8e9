import pytest

from weft.errors import ConfigError, InputError, SubplanTreeError
from weft.subplans.model import FailureMode, ParallelExecutionConfig, Policy, Subplan, SubplanGroup
from weft.subplans.order import longest_paths
from weft.subplans.tree import read_tree


async def work() -> None: ...


CONFIG = ParallelExecutionConfig()


def leaf(id_: str, *depends_on: str, estimate: float = 1.0) -> Subplan:
    return Subplan(id_, work, depends_on, estimate)


def group(id_: str, *subplans: Subplan | SubplanGroup, **settings: object) -> SubplanGroup:
    return SubplanGroup(id_, subplans, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, 33, -1, "4", 2.5, True, None])
def test_max_parallel_out_of_range_is_refused_with_value_and_range(value: object) -> None:
    with pytest.raises(
        ConfigError, match=f"max_parallel is {value!r}; a whole number from 1 to 32 is needed"
    ):
        ParallelExecutionConfig(max_parallel=value)  # type: ignore[arg-type]


def test_the_defaults_are_four_at_once_and_fail_fast() -> None:
    assert ParallelExecutionConfig() == ParallelExecutionConfig(
        max_parallel=4, failure_mode=FailureMode.FAIL_FAST, policy=Policy.PARALLEL
    )


def test_settings_may_be_given_as_words() -> None:
    config = ParallelExecutionConfig(failure_mode="continue_on_error", policy="serial")  # type: ignore[arg-type]
    assert config.failure_mode is FailureMode.CONTINUE_ON_ERROR
    assert config.policy is Policy.SERIAL


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"failure_mode": "panic"}, "failure_mode is 'panic'; allowed: fail_fast, continue_on_error"),
        ({"policy": 3}, "policy is 3; allowed: parallel, serial"),
    ],
)
def test_an_unknown_choice_is_refused_with_what_is_allowed(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ParallelExecutionConfig(**settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=f"g: {message}"):
        read_tree([group("g", leaf("a"), **settings)], CONFIG)


@pytest.mark.parametrize(
    ("subplans", "message"),
    [
        ([leaf("a", "a")], "a: depends on itself"),
        (
            [leaf("a", "b"), leaf("b", "a")],
            "form a cycle, in which each waits for the one before it: a → b → a$",
        ),
        (
            [leaf("a", "c"), leaf("b", "a"), leaf("c", "b"), leaf("d", "c")],
            "form a cycle, in which each waits for the one before it: a → b → c → a$",
        ),
        (
            [group("g", leaf("x"), depends_on=("h",)), group("h", leaf("y", "/g/x"))],
            "form a cycle, in which each waits for the one before it: g → g/x → h/y → h → g$",
        ),
        (
            [leaf("alpha"), leaf("b", "alhpa")],
            "b: depends_on names 'alhpa', which does not exist; did you mean 'alpha'",
        ),
        ([leaf("a"), leaf("b", "zzz")], "b: depends_on names 'zzz', which does not exist; known here: a, b"),
        ([leaf("a", "/")], "a: depends_on names '/'"),
        ([group("g", leaf("a", "/g"))], "g/a: depends on 'g', which contains it"),
        (
            [group("g", leaf("a"), depends_on=("/g/a",))],
            "g: depends on 'g/a', which contains it or is contained",
        ),
        ([leaf("a"), leaf("a")], "a: two subplans here have the id 'a'"),
        ([leaf("")], "a subplan in the plan has the id ''"),
        ([leaf("a/b")], "has the id 'a/b'"),
        ([leaf("..")], r"has the id '\.\.'"),
        ([group("g", leaf("a\nb"))], r"a subplan in g has the id 'a\\nb'"),
        ([leaf(3)], "has the id 3"),  # type: ignore[arg-type]
        ([group("g")], "g: the group is empty"),
        ([SubplanGroup("g", "ab")], "g: subplans is 'ab'; a list is needed"),  # type: ignore[arg-type]
        ([Subplan("a", 42)], r"a: work is 42 \(int\), which cannot be called; give an async function"),  # type: ignore[arg-type]
        ([42], r"number 1 of the subplans is 42 \(int\); a Subplan, a SubplanGroup or an async function"),
        ([group("g", leaf("a"), "b")], "number 2 of g is 'b'"),  # type: ignore[arg-type]
        ([leaf("a", estimate=-1)], "a: estimate is -1; a number ≥ 0"),
        ([leaf("a", estimate=float("nan"))], "a: estimate is nan"),
        ([leaf("a", estimate="3")], "a: estimate is '3'"),  # type: ignore[arg-type]
        ([Subplan("a", work, "b")], "a: depends_on is 'b'; a list is needed"),  # type: ignore[arg-type]
        ([leaf("a", 3)], "a: depends_on holds 3; ids are needed"),  # type: ignore[arg-type]
        ("ab", "the subplans is 'ab'; a list is needed"),
        (None, "the subplans is None; a list is needed"),
    ],
)
def test_what_is_not_a_plan_is_refused_and_the_message_says_what(subplans: object, message: str) -> None:
    with pytest.raises(SubplanTreeError, match=message):
        longest_paths(read_tree(subplans, CONFIG))  # type: ignore[arg-type]


def test_a_coroutine_in_place_of_its_function_is_told_apart() -> None:
    coroutine = work()
    with pytest.raises(SubplanTreeError, match="give the function itself, not the coroutine"):
        read_tree([Subplan("a", coroutine)], CONFIG)  # type: ignore[arg-type]
    coroutine.close()


@pytest.mark.parametrize("value", [0, 33, "4", 2.5, True])
def test_a_group_with_a_wrong_limit_is_named(value: object) -> None:
    with pytest.raises(ConfigError, match=f"g: max_parallel is {value!r}"):
        read_tree([group("g", leaf("a"), max_parallel=value)], CONFIG)


def test_many_unknown_siblings_are_listed_in_short() -> None:
    subplans = [*(leaf(f"s{n}") for n in range(20)), leaf("x", "nothing-like-it")]
    with pytest.raises(InputError, match=r"known here: s0, s1, s2, s3, s4, s5, s6, s7, …"):
        read_tree(subplans, CONFIG)


def test_a_bare_async_function_is_named_by_its_position() -> None:
    tree = read_tree([work, leaf("b", "subplan-1"), work], CONFIG)
    assert tree.paths == ["", "subplan-1", "b", "subplan-3"]


def test_rows_stand_in_plan_order_and_know_their_place() -> None:
    tree = read_tree(
        [leaf("a"), group("g", leaf("x"), group("h", leaf("y")), depends_on=("a",)), leaf("z")], CONFIG
    )
    assert tree.paths == ["", "a", "g", "g/x", "g/h", "g/h/y", "z"]
    assert tree.parents == [-1, 0, 0, 2, 2, 4, 0]
    assert tree.sizes == [7, 1, 4, 1, 2, 1, 1]
    assert [list(tree.children(row)) for row in (0, 2, 4)] == [[1, 2, 6], [3, 4], [5]]
    assert tree.depends_on[2] == (1,)


def test_groups_inherit_mode_and_policy_and_may_change_them() -> None:
    inner = group("h", leaf("y"), failure_mode=FailureMode.FAIL_FAST)
    tree = read_tree(
        [group("g", leaf("x"), inner, failure_mode="continue_on_error", policy="serial", max_parallel=3)],
        CONFIG,
    )
    modes = dict(zip(map(str, tree.paths), tree.modes, strict=True))
    assert modes["g/x"] is FailureMode.CONTINUE_ON_ERROR
    assert modes["g/h/y"] is FailureMode.FAIL_FAST
    assert dict(zip(tree.paths, tree.caps, strict=True)) == {
        "": 4, "g": 1, "g/x": None, "g/h": None, "g/h/y": None,
    }  # fmt: skip


def lengths(*subplans: Subplan | SubplanGroup, **config: object) -> dict[str, float]:
    tree = read_tree(subplans, ParallelExecutionConfig(**config))  # type: ignore[arg-type]
    return dict(zip(tree.paths, longest_paths(tree), strict=True))


def test_the_longest_remaining_path_counts_what_comes_after_through_groups() -> None:
    sizes = lengths(
        leaf("a", estimate=2),
        leaf("b", "a", estimate=3),
        group("g", leaf("x", estimate=5), leaf("y", "x", estimate=1), depends_on=("a",)),
        leaf("z", "g", estimate=7),
        leaf("free", estimate=1),
    )
    assert sizes == {"": 15, "a": 15, "b": 3, "g": 13, "g/x": 13, "g/y": 8, "z": 7, "free": 1}


def test_in_a_serial_group_the_order_written_decides_and_its_length_is_the_sum() -> None:
    sizes = lengths(
        group("g", leaf("x", estimate=5), leaf("y", estimate=9), policy=Policy.SERIAL),
        leaf("z", "g", estimate=2),
    )
    assert sizes["g"] == sizes["g/x"] == sizes["g/y"] == 16


def test_a_tree_may_be_deeper_than_the_interpreter_can_recurse() -> None:
    tree: Subplan | SubplanGroup = leaf("leaf")
    for n in range(3000):
        tree = SubplanGroup(f"g{n}", (tree,))
    assert len(read_tree([tree], CONFIG).paths) == 3002
