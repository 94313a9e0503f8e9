"""Who is to blame when parts are green alone and red together: what is asked, and what may be relied on."""

from collections.abc import Callable
from itertools import combinations
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from weft.engine.suspects import (
    MOST,
    BisectionResult,
    SearchEnd,
    Suspect,
    VerifyAnswer,
    VerifyQuestion,
    describe,
    look,
)

Verify = Callable[[frozenset[str]], VerifyAnswer]
RED, GREEN, UNCLEAR = VerifyAnswer.RED, VerifyAnswer.GREEN, VerifyAnswer.UNCLEAR
NO_LIMIT = 1_000_000


def parts(text: str) -> list[Suspect]:
    """`a b c<a,b`: c is built on a and b."""
    split = (item.partition("<") for item in text.split())
    return [Suspect(name, tuple(filter(None, holds.split(",")))) for name, _, holds in split]


def broken_by(*sets: str) -> Verify:
    """Red wherever all of one of these are."""
    return lambda names: RED if any(names.issuperset(item) for item in sets) else GREEN


class Searched(Struct):
    finding: BisectionResult
    asked: list[str]


def search(suspects: list[Suspect], verify: Verify, *, most: int = NO_LIMIT) -> Searched:
    answers: list[VerifyAnswer] = []
    asked: list[str] = []
    while isinstance(result := look(suspects, answers, most=most), VerifyQuestion):
        asked.append("".join(result.names))
        answers.append(verify(frozenset(result.names)))
    return Searched(result, asked)


# --- what is found ---


@pytest.mark.parametrize(
    ("text", "breaks", "sets", "left_out"),
    [
        ("a b", ("ab",), ("ab",), ""),
        ("a b c", ("ab",), ("ab",), "ab"),
        ("a b c", ("b",), ("b",), "b"),
        ("a b c d", ("ad", "b"), ("b", "ad"), "abd"),
        ("a b c d e f g h", ("bg",), ("bg",), "bg"),
        ("a b<a c", ("ac",), ("ac",), ""),
        ("a b<a c d", ("ac",), ("ac",), "abc"),
        ("a b<a c d", ("bc",), ("bc",), "bc"),
        ("a b<a c<b d", ("b",), ("b",), "bc"),
        ("a b c", ("a", "b", "c"), ("a", "b", "c"), ""),
    ],
)
def test_all_sets_that_break_it_are_found_and_what_passes_without_them(
    text: str, breaks: tuple[str, ...], sets: tuple[str, ...], left_out: str
) -> None:
    result = search(parts(text), broken_by(*breaks)).finding
    assert result == BisectionResult(
        why=SearchEnd.FOUND, sets=tuple(map(tuple, sets)), left_out=tuple(left_out)
    )


def test_the_whole_is_asked_again_then_nothing_then_parts() -> None:
    assert search(parts("a b c"), broken_by("ab")).asked == ["abc", "", "a", "ab", "b", "c"]


def test_a_verify_that_passes_when_asked_again_is_not_reliable() -> None:
    done = search(parts("a b"), lambda names: GREEN)
    assert (done.finding, done.asked) == (BisectionResult(why=SearchEnd.UNRELIABLE), ["ab"])


@pytest.mark.parametrize("answer", [RED, UNCLEAR])
def test_nobody_is_to_blame_if_it_does_not_pass_without_anybody(answer: VerifyAnswer) -> None:
    done = search(parts("a b"), lambda names: RED if names else answer)
    assert (done.finding, done.asked) == (BisectionResult(why=SearchEnd.BASE), ["ab", ""])


def test_what_is_unclear_is_no_reason_to_blame() -> None:
    def verify(names: frozenset[str]) -> VerifyAnswer:
        return UNCLEAR if names == {"a"} else broken_by("bc")(names)

    assert search(parts("a b c d"), verify).finding.sets == (("b", "c"),)


def test_where_it_is_unclear_whether_the_others_pass_nothing_is_left_out() -> None:
    result = search(
        parts("a b c"), lambda names: UNCLEAR if names == {"c"} else broken_by("ab")(names)
    ).finding
    assert result == BisectionResult(why=SearchEnd.FOUND, sets=(("a", "b"),), unclear=True)


def test_after_too_many_questions_it_gives_up_with_what_it_has() -> None:
    suspects = [Suspect(f"{number:02}") for number in range(40)]
    alone = search(suspects, lambda names: RED if names else GREEN, most=MOST)
    assert len(alone.asked) == MOST
    assert alone.finding.why is SearchEnd.TOO_MANY
    assert alone.finding.sets[:2] == (("00",), ("01",))
    assert alone.finding.left_out == ()


def test_a_pair_among_many_takes_few_questions() -> None:
    names = [f"{number:03}" for number in range(200)]

    def verify(chosen: frozenset[str]) -> VerifyAnswer:
        return RED if {"017", "181"} <= chosen else GREEN

    done = search([Suspect(name) for name in names], verify)
    assert done.finding.sets == (("017", "181"),)
    assert len(done.asked) <= 2 * ceil(log2(len(names))) + 5


# --- by chance ---

NAMES = "abcdefg"


class World(Struct, frozen=True):
    suspects: list[Suspect]
    red: frozenset[frozenset[str]]
    """All sets that are."""

    def is_closed(self, names: frozenset[str]) -> bool:
        return all(names.issuperset(suspect.holds) for suspect in self.suspects if suspect.name in names)

    def sets(self) -> list[frozenset[str]]:
        every = [suspect.name for suspect in self.suspects]
        chosen = (frozenset(some) for size in range(len(every) + 1) for some in combinations(every, size))
        return [item for item in chosen if self.is_closed(item)]

    def verify(self, names: frozenset[str]) -> VerifyAnswer:
        assert self.is_closed(names)
        return RED if names in self.red else GREEN


@st.composite
def suspects_by_chance(draw: st.DrawFn) -> list[Suspect]:
    """Each may be built on some before it, and on what these are built on; told in any order."""
    count = draw(st.integers(2, len(NAMES)))
    table: dict[str, frozenset[str]] = {}
    for name in NAMES[:count]:
        direct = draw(st.sets(st.sampled_from(sorted(table)), max_size=2)) if table else set[str]()
        table[name] = frozenset(direct).union(*(table[other] for other in direct))
    return [Suspect(name, tuple(sorted(table[name]))) for name in draw(st.permutations(sorted(table)))]


@st.composite
def monotone(draw: st.DrawFn) -> World:
    """More parts never fix anything."""
    suspects = draw(suspects_by_chance())
    names = [suspect.name for suspect in suspects]
    breaks = draw(st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=3))
    world = World(suspects, frozenset())
    every = frozenset(names)
    red = [item for item in world.sets() if item == every or any(item >= some for some in breaks)]
    return World(suspects, frozenset(red))


@st.composite
def any_world(draw: st.DrawFn) -> World:
    world = World(draw(suspects_by_chance()), frozenset())
    sets = world.sets()
    red = draw(st.sets(st.sampled_from(sets[1:]))) if sets[1:] else set[frozenset[str]]()
    return World(world.suspects, frozenset({*red, sets[-1]}))


def closure(world: World, names: frozenset[str]) -> frozenset[str]:
    return names.union(*(suspect.holds for suspect in world.suspects if suspect.name in names))


def check_rest(world: World, found: BisectionResult) -> None:
    """What is left is green, and nothing in it is built on what is not."""
    every = frozenset(suspect.name for suspect in world.suspects)
    rest = every.difference(found.left_out) if found.left_out else frozenset[str]()
    assert world.is_closed(rest)
    assert rest not in world.red
    assert rest.isdisjoint(found.culprits)


@given(monotone())
def test_culprits_are_a_smallest_set_where_more_never_fixes(world: World) -> None:
    done = search(world.suspects, world.verify)
    result = done.finding
    assert result.why is SearchEnd.FOUND
    for item in map(frozenset, result.sets):
        whole = closure(world, item)
        assert whole in world.red
        assert not any(whole - {name} in world.red for name in item)
        smaller = [some for some in world.sets() if some < whole]
        assert world.red.isdisjoint(smaller)
    check_rest(world, result)
    others = [some for some in world.sets() if some and some.isdisjoint(result.culprits)]
    assert bool(result.left_out) == bool(others)
    assert len(done.asked) == len(set(done.asked))


@given(any_world())
def test_culprits_were_seen_to_break_it_whatever_verify_does(world: World) -> None:
    result = search(world.suspects, world.verify).finding
    assert result.why is SearchEnd.FOUND
    assert len(set(result.culprits)) == len(result.culprits) > 0
    for item in map(frozenset, result.sets):
        assert closure(world, item) in world.red
    check_rest(world, result)


@given(any_world(), st.data())
def test_whoever_has_the_answers_goes_on_where_another_was(world: World, data: st.DataObject) -> None:
    """Also from every place in between, and with answers that are of no use any more."""
    answers: list[VerifyAnswer] = []
    while isinstance(result := look(world.suspects, answers, most=NO_LIMIT), VerifyQuestion):
        assert look(list(world.suspects), list(answers), most=NO_LIMIT) == result
        answers.append(data.draw(st.sampled_from(VerifyAnswer)))
    assert look(world.suspects, answers, most=NO_LIMIT) == result


# --- what is told ---


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (
            BisectionResult(
                why=SearchEnd.FOUND, sets=(("store/model", "store/disk"),), left_out=("store/model",)
            ),
            "`verify` of store fails with model and disk together; it passes without them (5 more runs)",
        ),
        (
            BisectionResult(why=SearchEnd.FOUND, sets=(("store/a", "store/b", "store/c"),)),
            "`verify` of store fails with a, b and c together; nothing is left without them (5 more runs)",
        ),
        (
            BisectionResult(why=SearchEnd.FOUND, sets=(("store/a",), ("store/b",)), left_out=("store/a",)),
            "`verify` of store fails with a alone, and with b alone; it passes without them (5 more runs)",
        ),
        (
            BisectionResult(why=SearchEnd.FOUND, sets=(("store/a",),), unclear=True),
            "`verify` of store fails with a alone; without it it could not be run (5 more runs)",
        ),
        (
            BisectionResult(why=SearchEnd.UNRELIABLE),
            "`verify` of store is not reliable: it failed, and then passed on the same files",
        ),
        (
            BisectionResult(why=SearchEnd.BASE),
            "`verify` of store fails without any of its parts, too, so none of them is to blame",
        ),
        (
            BisectionResult(why=SearchEnd.TOO_MANY),
            "`verify` of store fails, and the culprit is still unknown after 5 more runs",
        ),
        (
            BisectionResult(why=SearchEnd.TOO_MANY, sets=(("store/a",),)),
            "`verify` of store fails, and the culprit besides a alone is still unknown after 5 more runs",
        ),
    ],
)
def test_what_was_found_is_told_in_a_sentence(finding: BisectionResult, said: str) -> None:
    assert describe("store", finding, 5) == said


def test_the_whole_plan_is_called_so_and_one_run_is_one() -> None:
    bisection_result = BisectionResult(why=SearchEnd.FOUND, sets=(("a",),), left_out=("a",))
    assert (
        describe("", bisection_result, 1)
        == "`verify` of the plan fails with a alone; it passes without it (1 more run)"
    )
