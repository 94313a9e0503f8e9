"""The subplans that a person has named, and what is said of that before they are run."""

import pytest

from app.pasts import a_group, a_plan, a_slice
from weft.app.run.selection import WHOLE, choose, row_of
from weft.errors import InputError

PLAN = a_plan(
    a_group("store", a_slice("model"), a_slice("disk", "model"), verify="make store"),
    a_group("web", a_slice("model"), a_slice("page"), verify="make web"),
    a_slice("page-two", "/store"),
    verify="make all",
)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("store", "store"),
        ("store/model", "store/model"),
        ("/store/model/", "store/model"),
        ("disk", "store/disk"),
        ("page", "web/page"),
        ("/", ""),
    ],
)
def test_a_subplan_is_named_by_its_path_or_by_its_end_if_no_other_ends_so(name: str, path: str) -> None:
    assert PLAN.outline.paths[row_of(PLAN, name)] == path


def test_a_whole_path_comes_before_the_end_of_another() -> None:
    plan = a_plan(a_slice("model"), a_group("store", a_slice("model")))
    assert plan.outline.paths[row_of(plan, "model")] == "model"


MORE = "store/disk, web, web/model, web/page, page-two, disk, page"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("stoer", "the plan has no subplan 'stoer'; did you mean 'store'?"),
        ("store/modle", "the plan has no subplan 'store/modle'; did you mean 'store/model'?"),
        ("dsik", "the plan has no subplan 'dsik'; did you mean 'disk'?"),
        ("model", "several subplans are called 'model'; name one of them in full: store/model, web/model"),
        ("x" * 99, f"the plan has no subplan '{'x' * 99}'; known: store, store/model, {MORE}"),
        ("", f"the plan has no subplan ''; known: store, store/model, {MORE}"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_reported(name: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        choose(PLAN, ["store", name])
    assert str(raised.value) == said


def test_of_very_many_that_could_be_meant_a_few_are_named() -> None:
    plan = a_plan(*(a_group(f"g{number}", a_slice("same")) for number in range(9)))
    with pytest.raises(InputError, match=r"g0/same, g1/same, g2/same, g3/same, g4/same and 4 more$"):
        choose(plan, ["same"])


@pytest.mark.parametrize("names", [[], ["/"], ["store", "web", "page-two"], ["page-two", "web"]])
def test_naming_nothing_or_everything_means_the_whole_plan(names: list[str]) -> None:
    plan, choice = choose(PLAN, names)
    assert plan is PLAN
    assert choice is WHOLE


def test_the_choice_is_in_plan_order_however_it_is_named() -> None:
    plan, choice = choose(PLAN, ["page", "store/model", "/web/page/"])
    assert choice.paths == ("store/model", "web/page")
    assert choice.parts == {"", "store", "web"}
    assert plan.outline.paths == ["", "store", "store/model", "web", "web/page"]


@pytest.mark.parametrize(
    ("names", "notes"),
    [
        (["disk"], ["2 of 5 slices are run: store/disk, with what it needs",
                    "only a part of the plan is run, so its verify is not run"]),
        (["store/model"], ["1 of 5 slices is run: store/model, with what it needs",
                           "only parts of these are run, so their verify is not run: the plan, store"]),
    ],
)  # fmt: skip
def test_it_is_said_what_is_run_and_what_is_not_verified(names: list[str], notes: list[str]) -> None:
    assert list(choose(PLAN, names)[1].notes) == notes


def test_of_groups_without_verify_there_is_nothing_to_say() -> None:
    plan = a_plan(a_group("g", a_slice("a"), a_slice("b")), a_slice("c"))
    assert choose(plan, ["a", "c"])[1].notes == ("2 of 3 slices are run: g/a, c, with what they need",)


def test_completed_slices_of_a_group_belong_to_it_so_that_it_is_verified_as_a_whole() -> None:
    part, choice = choose(PLAN, ["web/page"], completed={"web/model", "store/model"})
    assert [str(path) for path in part.outline.paths] == ["", "web", "web/model", "web/page"]
    assert (choice.paths, choice.parts) == (("web/page",), frozenset({""}))
    web = list(map(str, part.outline.paths)).index("web")
    assert part.subplans[web].verify == ("make web",)


def test_a_group_of_which_a_slice_was_never_completed_is_not_verified_as_a_whole() -> None:
    part, choice = choose(PLAN, ["web/page"], completed={"store/model"})
    assert choice.parts == {"", "web"}
    assert part.subplans[list(map(str, part.outline.paths)).index("web")].verify == ()
