"""Subplans: ids, who waits for whom, what is told of them."""

import pytest

from plan.problem_texts import AGENT, HEAD, problems, with_subplans
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan

X = "prompt: x, verify: v"


def plan_of(*lines: str) -> Plan:
    return load_plan(with_subplans(*lines))


def waits(plan: Plan) -> dict[str, list[str]]:
    paths, depends_on = plan.outline.paths, plan.outline.depends_on
    return {
        paths[row]: [paths[target] for target in targets] for row, targets in enumerate(depends_on) if targets
    }


def test_rows_stand_in_plan_order_a_group_before_what_is_in_it() -> None:
    group = f"{{id: g, verify: v, subplans: [{{id: a, {X}}}, {{id: h, subplans: [{{id: a, {X}}}]}}]}}"
    plan = plan_of(group, f"{{id: a, title: The first, {X}}}")
    assert plan.outline.paths == ["", "g", "g/a", "g/h", "g/h/a", "a"]
    assert plan.outline.leaves == [False, False, True, False, True, True]
    assert [subplan.title for subplan in plan.subplans] == ["p", "g", "a", "h", "a", "The first"]


def test_dependencies_are_siblings_or_paths_from_the_root() -> None:
    group = f"{{id: g, verify: v, subplans: [{{id: a, {X}}}, {{id: b, {X}, depends_on: [a, /b, a]}}]}}"
    plan = plan_of(
        group, f"{{id: b, {X}}}", f"{{id: c, {X}, depends_on: [/g/a, b]}}", f"{{id: d, {X}, depends_on: [g]}}"
    )
    assert waits(plan) == {"g/b": ["g/a", "b"], "c": ["g/a", "b"], "d": ["g"]}


@pytest.mark.parametrize(
    ("depends_on", "message"),
    [
        ("a", "5:48 'a' depends on itself"),
        ("/a", "5:48 'a' depends on itself"),
        ("stor", "5:48 depends_on names 'stor', which does not exist; did you mean 'store'?"),
        ("zzz", "5:48 depends_on names 'zzz', which does not exist; known: store, b"),
        (
            "model",
            "5:48 depends_on names 'model', which does not exist beside it; did you mean '/store/model'?",
        ),
        (
            "/store/mdel",
            "5:48 depends_on names '/store/mdel', which does not exist; did you mean '/store/model'?",
        ),
        ("/b/model", "5:48 depends_on names '/b/model', which does not exist; did you mean '/store/model'?"),
    ],
)
def test_a_dependency_must_lead_to_another_subplan(depends_on: str, message: str) -> None:
    store = f"{{id: store, subplans: [{{id: model, {X}}}]}}"
    text = with_subplans(f"{{id: a, {X}, depends_on: [{depends_on}]}}", store, f"{{id: b, {X}}}")
    assert problems(text) == [message]


def test_nothing_can_wait_for_what_it_is_in_or_for_a_part_of_itself() -> None:
    text = with_subplans(
        f"{{id: g, verify: v, depends_on: [/g/a], subplans: [{{id: a, {X}, depends_on: [/g]}}]}}"
    )
    assert problems(text) == [
        "5:37 'g' depends on 'g/a', which is a part of it",
        "5:98 'g/a' depends on 'g', which contains it",
    ]


def test_every_cycle_is_reported_once_and_the_rest_is_checked() -> None:
    text = with_subplans(
        f"{{id: a, {X}, depends_on: [b]}}",
        f"{{id: b, {X}, depends_on: [a]}}",
        f"{{id: c, {X}, depends_on: [e]}}",
        f"{{id: d, {X}, depends_on: [c]}}",
        f"{{id: e, {X}, depends_on: [d], pipeline: nope}}",
        f"{{id: f, {X}, depends_on: [e]}}",
    )
    message = "the dependencies form a cycle, in which each waits for the one before it"
    assert problems(text) == [
        f"5:47 {message}: a → b → a",
        f"7:47 {message}: c → d → e → c",
        "9:62 unknown pipeline 'nope'; known: direct, tdd",
    ]


def test_a_cycle_through_a_group_is_reported_where_something_waits() -> None:
    text = with_subplans(
        f"{{id: g, subplans: [{{id: a, {X}, depends_on: [/h]}}]}}", f"{{id: h, {X}, depends_on: [g]}}"
    )
    (message,) = problems(text)
    assert message.startswith("6:47 the dependencies form a cycle")
    assert message.endswith(": g → h → g/a → g")


def test_of_many_cycles_some_are_reported() -> None:
    lines = [f"{{id: s{n}, {X}, depends_on: [s{n ^ 1}]}}" for n in range(60)]
    assert len(problems(with_subplans(*lines))) == 20


def test_a_large_cycle_is_reported_in_a_few_names() -> None:
    lines = [f"{{id: s{n}, {X}, depends_on: [s{(n - 1) % 60}]}}" for n in range(60)]
    (message,) = problems(with_subplans(*lines))
    assert message.endswith(": s0 → s1 → s2 → s3 → … → s56 → s57 → s58 → s59 → s0")


def test_siblings_have_different_ids() -> None:
    inner = f"{{id: g, verify: v, subplans: [{{id: a, {X}}}, {{id: a, {X}}}]}}"
    assert problems(with_subplans(f"{{id: a, {X}}}", inner, f"{{id: a, {X}}}")) == [
        "6:71 duplicate subplan id 'a'; the first is in line 6",
        "7:10 duplicate subplan id 'a'; the first is in line 5",
    ]


@pytest.mark.parametrize(
    "id_", ["..", "a/b", "'a\\b'", "''", "'a:b'", "/a", "A", "'a b'", "-a", "a.b", "x" * 65]
)
def test_an_id_that_could_lead_somewhere_else_is_refused(id_: str) -> None:
    (message,) = problems(with_subplans(f"{{id: {id_}, {X}}}"))
    assert message.startswith("5:10 id is ")
    assert (
        "it must be an id: up to 64 lowercase letters, digits, - or _, starting with a letter or digit"
        in message
    )


def test_the_longest_id_is_allowed() -> None:
    assert problems(with_subplans(f"{{id: {'x' * 64}, {X}}}")) == []


def test_an_empty_group_is_refused_and_not_asked_for_a_verify() -> None:
    assert problems(with_subplans("{id: g, subplans: []}")) == [
        "5:23 subplans is an empty list; at least 1 is needed"
    ]


def test_a_prompt_that_reaches_no_agent_is_warned_of() -> None:
    assert problems(with_subplans(f"{{id: g, prompt: y, subplans: [{{id: a, {X}}}]}}")) == [
        "5:13 no agent sees the prompt of a group; move it to its slices or to the plan's goal"
    ]


@pytest.mark.parametrize("key", ["files", "copy", "link"])
@pytest.mark.parametrize("glob", ["/etc/passwd", "../x", "a/../../b", "'a\\b'"])
def test_a_glob_that_leaves_the_repository_is_reported_once(key: str, glob: str) -> None:
    assert len(problems(with_subplans(f"{{id: a, {X}, {key}: [src/**, {glob}]}}"))) == 1


def test_a_bad_subplan_does_not_hide_what_is_wrong_with_the_others_and_is_not_missed() -> None:
    text = with_subplans("a", f"{{id: b, {X}, depends_on: [a], pipeline: nope}}")
    assert problems(text) == [
        "5:5 subplans is 'a'; it must be a mapping with the keys id, title, prompt, depends_on, …; write {id: a}",
        "6:62 unknown pipeline 'nope'; known: direct, tdd",
    ]


@pytest.mark.parametrize("group", ["{id: g, subplans: 5}", "{id: g, subplans: [5]}"])
def test_what_may_be_in_a_group_that_cannot_be_read_is_not_missed(group: str) -> None:
    assert len(problems(with_subplans(group, f"{{id: b, {X}, depends_on: [/g/a]}}"))) == 1


def test_a_subplan_without_an_id_may_be_the_one_that_is_meant() -> None:
    assert problems(with_subplans(f"{{{X}}}", f"{{id: b, {X}, depends_on: [a]}}", f"{{{X}}}")) == [
        f"{line}:5 a subplan needs the key 'id' (an id: up to 64 lowercase letters, digits, - or _, "
        "starting with a letter or digit)"
        for line in (5, 7)
    ]


def test_an_id_that_is_a_number_is_reported_where_it_stands_and_not_where_it_is_named() -> None:
    (message,) = problems(with_subplans(f"{{id: 7, {X}}}", f"{{id: b, {X}, depends_on: ['7']}}"))
    assert message.startswith("5:10 id is 7 (a number)")


def test_sixty_levels_are_no_problem_and_more_than_the_document_allows_are_reported() -> None:
    def nested(levels: int) -> str:
        return "{id: g, subplans: [" * levels + f"{{id: a, {X}}}" + "]}" * levels

    assert load_plan(with_subplans(nested(30))).outline.paths[-1] == "g/" * 30 + "a"
    assert problems(with_subplans(nested(60)))[0].endswith("more than 64 levels within each other")


def test_a_plan_without_subplans_is_refused() -> None:
    (message,) = problems(HEAD + AGENT)
    assert message.startswith("1:1 the plan needs the key 'subplans'")
