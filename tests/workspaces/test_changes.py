"""The fold of what slices did: which version of a file results, and which slices are in conflict."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from weft.ports.workspaces import ConflictError
from weft.workspaces.changes import Change, FileVersion, Folded, SliceChanges, VersionKind, fold


def text(content: str | None) -> FileVersion | None:
    return None if content is None else FileVersion(kind=VersionKind.FILE, content=content.encode())


def did(after: Sequence[str] = (), /, **files: tuple[str | None, str | None]) -> SliceChanges:
    changes = {
        name.replace("__", "/").encode(): Change(before=text(before), after=text(then))
        for name, (before, then) in files.items()
    }
    return SliceChanges(preparation="", after=tuple(after), changes=changes)


def folded(**records: SliceChanges) -> dict[str, str | None]:
    return {
        file.decode(): None if version is None else version.content.decode()
        for file, version in fold(records).items()
    }


def test_no_changes_fold_to_nothing() -> None:
    assert folded() == {}


def test_files_of_different_slices_come_together() -> None:
    assert folded(a=did(x=(None, "1")), b=did(y=(None, "2"))) == {"x": "1", "y": "2"}


def test_the_last_of_those_that_come_after_each_other_decides() -> None:
    a, b, c = did(x=(None, "1")), did(["a"], x=("1", "2")), did(["a", "b"], x=("2", "3"))
    assert folded(a=a, b=b, c=c) == {"x": "3"}
    assert folded(c=c, b=b, a=a) == {"x": "3"}


def test_a_file_that_was_removed_is_none() -> None:
    assert folded(a=did(x=(None, "1")), b=did(["a"], x=("1", None))) == {"x": None}


def test_two_that_wrote_the_same_agree() -> None:
    assert folded(a=did(x=(None, "1")), b=did(x=("0", "1"))) == {"x": "1"}


def test_two_that_wrote_one_file_differently_are_a_conflict_that_names_both_and_the_file() -> None:
    with pytest.raises(ConflictError, match=r"different ways: x \(a, b\)\. Let one") as caught:
        folded(a=did(x=(None, "1"), z=(None, "1")), b=did(x=(None, "2")), c=did(y=(None, "1")))
    assert caught.value.files == ("x",)


def test_one_that_removed_and_one_that_changed_a_file_are_a_conflict() -> None:
    with pytest.raises(ConflictError):
        folded(a=did(x=(None, "1")), b=did(["a"], x=("1", None)), c=did(["a"], x=("1", "2")))


def test_a_conflict_is_reported_the_latest_slices_only() -> None:
    records = {
        "a": did(x=(None, "1")),
        "b": did(["a"], x=("1", "2")),
        "c": did(x=(None, "3")),
    }
    with pytest.raises(ConflictError, match=r"x \(b, c\)"):
        fold(records)


def test_the_executable_bit_is_part_of_a_version() -> None:
    program = Change(before=None, after=FileVersion(kind=VersionKind.PROGRAM, content=b"1"))
    with pytest.raises(ConflictError):
        folded(a=did(x=(None, "1")), b=SliceChanges(preparation="", after=(), changes={b"x": program}))


def test_who_has_seen_a_change_has_seen_the_same_change_of_another() -> None:
    assert folded(a=did(x=(None, "1")), b=did(x=(None, "1")), c=did(["a"], x=("1", "2"))) == {"x": "2"}


def test_a_slice_that_takes_a_change_back_outlives_the_same_change_of_another() -> None:
    records = {
        "r": did(x=(None, "1")),
        "a": did(["r"], x=("1", "2")),
        "c": did(["r", "a"], x=("2", "1")),
        "b": did(["r"], x=("1", "2")),
    }
    assert folded(**records) == {"x": "1"}


def test_a_change_that_was_taken_back_and_made_again_is_not_held_to_be_the_first_one() -> None:
    records = {
        "r": did(x=(None, "1")),
        "t": did(["r"], x=("1", None)),
        "u": did(["r", "t"], x=(None, "1")),
        "o": did(["r"], x=("1", None)),
    }
    assert folded(**records) == {"x": "1"}


def test_two_that_have_each_seen_the_other_s_change_elsewhere_are_a_conflict() -> None:
    records = {
        "a": did(x=("1", "2")),
        "b": did(x=("2", "1")),
        "c": did(["a"], x=("2", "1")),
        "d": did(["b"], x=("1", "2")),
    }
    with pytest.raises(ConflictError, match=r"x \(c, d\)"):
        fold(records)


def test_a_slice_outside_of_the_fold_does_not_count() -> None:
    assert folded(b=did(["a"], x=("1", "2"))) == {"x": "2"}
    with pytest.raises(ConflictError):
        folded(b=did(["a"], x=("1", "2")), c=did(x=(None, "1")))


def test_a_file_where_another_made_a_directory_is_a_conflict_with_all_that_wrote_below() -> None:
    with pytest.raises(ConflictError, match=r"x/y \(a, b, c\)") as caught:
        folded(a=did(x__y=(None, "1")), b=did(x__y__z=(None, "1")), c=did(x__y__w__v=(None, "1")))
    assert caught.value.files == ("x/y",)


def test_a_directory_in_place_of_a_file_that_was_seen_is_none() -> None:
    records = {"a": did(x=(None, "1")), "b": did(["a"], x=("1", None), x__y=(None, "2"))}
    assert folded(**records) == {"x": None, "x/y": "2"}


def test_a_long_list_of_conflicts_is_cut_in_the_message_only() -> None:
    files = {f"f{number:02}": (None, "1") for number in range(13)}
    others = dict.fromkeys(files, (None, "2"))
    with pytest.raises(ConflictError, match=r"f09 \(a, b\); and 3 more\.") as caught:
        folded(a=did([], **files), b=did([], **others))
    assert len(caught.value.files) == 13


def test_a_name_that_is_no_text_is_shown_as_text_on_one_line() -> None:
    def record(content: str) -> SliceChanges:
        return SliceChanges(
            preparation="", after=(), changes={b"\xff\n\xc3\xa9": Change(before=None, after=text(content))}
        )

    with pytest.raises(ConflictError) as caught:
        folded(a=record("1"), b=record("2"))
    assert caught.value.files == (r"\xff\né",)


# Against the rules as they are written, for plans of any shape


@st.composite
def histories(draw: st.DrawFn) -> dict[str, SliceChanges]:
    """Slices in plan order that change the file `x`, each after some of those before it."""
    records: dict[str, SliceChanges] = {}
    for name in "abcdef"[: draw(st.integers(1, 6))]:
        near = draw(st.lists(st.sampled_from(sorted(records)), unique=True)) if records else []
        after = sorted({*near, *(far for item in near for far in records[item].after)})
        contents = st.sampled_from([None, "1", "2"])
        before, then = draw(contents), draw(contents)
        records[name] = did(after, x=(before, then))
    return records


def result(records: Mapping[str, SliceChanges]) -> Folded | str:
    try:
        return fold(records)
    except ConflictError:
        return "conflict"


def result_by_the_rules(records: Mapping[str, SliceChanges]) -> Folded | str:
    def change(path: str) -> Change:
        return records[path].changes[b"x"]

    latest = [record for record in records if not any(record in other.after for other in records.values())]
    unseen = [
        item
        for item in latest
        if not any(
            change(seen) == change(item) and seen not in records[item].after
            for other in latest
            for seen in records[other].after
        )
    ]
    versions = {change(entry).after for entry in unseen or latest}
    return {b"x": versions.pop()} if len(versions) == 1 else "conflict"


@given(histories())
def test_a_fold_is_what_the_rules_say(records: dict[str, SliceChanges]) -> None:
    assert result(records) == result_by_the_rules(records)


@given(histories(), st.randoms(use_true_random=False))
def test_a_fold_does_not_depend_on_the_order(records: dict[str, SliceChanges], random) -> None:
    names = list(records)
    random.shuffle(names)
    assert result({name: records[name] for name in names}) == result(records)


def one_after_the_other(
    order: Sequence[str], records: Mapping[str, SliceChanges]
) -> FileVersion | str | None:
    """As patches are applied: each where its version before is there, or its version after already."""
    now = text(None)
    for name in order:
        change = records[name].changes[b"x"]
        if now not in {change.before, change.after}:
            return "conflict"
        now = change.after
    return now


def orders(records: Mapping[str, SliceChanges]) -> Iterator[Sequence[str]]:
    for order in permutations(records):
        if all(order.index(state) < order.index(name) for name in order for state in records[name].after):
            yield order


@st.composite
def true_histories(draw: st.DrawFn) -> dict[str, SliceChanges]:
    """As `histories`, but each slice really starts with what the fold of those before it is."""
    records: dict[str, SliceChanges] = {}
    for name, record in draw(histories()).items():
        before = result({state: records[state] for state in record.after if state in records})
        assume(before != "conflict")
        start = before.get(b"x") if isinstance(before, dict) else None
        then = record.changes[b"x"].after
        changes = {b"x": Change(before=start, after=then)}
        records[name] = SliceChanges(preparation="", after=record.after, changes=changes)
    return records


@given(true_histories())
def test_where_all_orders_of_patching_agree_the_fold_agrees_with_them(
    records: dict[str, SliceChanges],
) -> None:
    results = {one_after_the_other(order, records) for order in orders(records)}
    assume(len(results) == 1 and "conflict" not in results)
    assert result(records) == {b"x": results.pop()}
