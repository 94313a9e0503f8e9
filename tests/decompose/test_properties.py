"""What holds of every decomposition, whatever the files are and however they are linked."""

import pytest
from hypothesis import given

from decompose.sets import LIMITS, VALID_ID, all_parts, leaf_waits, reached, signals
from weft.decompose.model import DEPTH_FOR_FEW_FILES, FEW_FILES, Limits, Signals
from weft.decompose.parts import decompose
from weft.decompose.split.cycles import find_circles
from weft.decompose.split.graph import LOAD_OF_AN_AGENT, build_graph


@given(signals(), LIMITS)
def test_every_file_is_in_exactly_one_leaf(given_files: Signals, limits: Limits) -> None:
    whole = decompose(given_files, limits)
    assert sorted(path for leaf in whole.leaves() for path in leaf.files) == list(given_files.paths)


@given(signals(), LIMITS)
def test_a_group_has_the_files_and_the_tokens_of_its_parts(given_files: Signals, limits: Limits) -> None:
    for group in all_parts(decompose(given_files, limits)):
        inside = [path for part in group.parts for path in part.files]
        assert not group.parts or sorted(inside) == list(group.files)
        assert not group.parts or group.tokens == sum(part.tokens for part in group.parts)
        assert len(group.parts) != 1


@given(signals(), LIMITS)
def test_depth_is_limited(given_files: Signals, limits: Limits) -> None:
    depth = decompose(given_files, limits).depth
    assert depth <= limits.max_depth
    assert depth <= DEPTH_FOR_FEW_FILES or len(given_files.paths) >= FEW_FILES


@given(signals(), LIMITS)
def test_a_leaf_has_no_more_tokens_than_allowed_or_is_too_large(given_files: Signals, limits: Limits) -> None:
    for leaf in decompose(given_files, limits).leaves():
        assert leaf.too_large is (leaf.tokens > limits.max_tokens_per_subplan)


@given(signals(), LIMITS)
def test_no_part_is_smaller_than_the_least(given_files: Signals, limits: Limits) -> None:
    least = min(limits.min_files_per_subplan, len(given_files.paths))
    assert all(len(leaf.files) >= least for leaf in decompose(given_files, limits).leaves())


@given(signals(), LIMITS)
def test_ids_are_valid_and_siblings_have_different_ones(given_files: Signals, limits: Limits) -> None:
    for group in all_parts(decompose(given_files, limits)):
        names = [part.id for part in group.parts]
        assert len(set(names)) == len(names)
        assert all(VALID_ID.fullmatch(name) for name in names)
        assert all(part.title.isprintable() and part.title for part in group.parts)


@given(signals(), LIMITS)
def test_no_leaf_waits_for_what_it_does_not_use(given_files: Signals, limits: Limits) -> None:
    """Neither directly nor through others. The invariants check that a part waits for what it uses."""
    whole = decompose(given_files, limits)
    leaf_of = {path: number for number, leaf in enumerate(whole.leaves()) for path in leaf.files}
    own = [leaf_of[path] for path in given_files.paths]
    uses: dict[int, set[int]] = {leaf: set() for leaf in own}
    for user, used in given_files.uses:
        uses[own[user]].add(own[used])
    for leaf, waits_for in leaf_waits(whole).items():
        assert waits_for <= reached(uses, leaf)


@given(signals(), LIMITS)
def test_files_in_a_circle_are_together_or_it_is_reported(given_files: Signals, limits: Limits) -> None:
    whole = decompose(given_files, limits)
    loads = build_graph(given_files, limits).loads
    leaf_of = {path: number for number, leaf in enumerate(whole.leaves()) for path in leaf.files}
    for circle in find_circles(len(given_files.paths), given_files.uses):
        names = {given_files.paths[file] for file in circle}
        small = sum(loads[file] for file in circle) <= LOAD_OF_AN_AGENT // 2
        assert len({leaf_of[name] for name in names}) == 1 or not small
        for group in all_parts(whole):
            torn = {part.id for part in group.parts if names.intersection(part.files)}
            reported_pairs = {frozenset((risk.first, risk.second)) for risk in group.risks if risk.circle}
            assert (
                len(torn) < 2
                or not names.issubset(group.files)
                or any(pair <= torn for pair in reported_pairs)
            )


@given(signals(), LIMITS)
def test_no_group_is_wider_than_it_must_be(given_files: Signals, limits: Limits) -> None:
    """Eight, or as many as fill as many agents as there are loads, if that has to be on one level."""
    agents = sum(build_graph(given_files, limits).loads) / LOAD_OF_AN_AGENT
    whole = decompose(given_files, limits)
    assert max(len(group.parts) for group in all_parts(whole)) <= max(8, 1.2 * agents + 1)


@given(signals(), LIMITS)
def test_parts_are_in_the_order_of_their_first_files(given_files: Signals, limits: Limits) -> None:
    for group in all_parts(decompose(given_files, limits)):
        assert [part.files[0] for part in group.parts] == sorted(part.files[0] for part in group.parts)
        assert list(group.files) == sorted(group.files)


@given(signals(), LIMITS)
def test_the_same_files_give_the_same_parts(given_files: Signals, limits: Limits) -> None:
    assert decompose(given_files, limits) == decompose(given_files, limits)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_few_files_are_one_leaf(number: int) -> None:
    paths = tuple(f"{name}.py" for name in "abc"[:number])
    whole = decompose(Signals(paths=paths, tokens=(1,) * number), Limits())
    assert (whole.parts, whole.files, whole.depth) == ((), paths, 0)
