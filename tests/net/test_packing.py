"""Bit fields: packing can be reversed, and guards show too few and too many tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.net.packing import FieldLayout, FieldTooWideError, effects, narrowest
from weft.testing.nets import net_of

WIDTHS = st.lists(st.integers(1, 21), min_size=1, max_size=12).map(tuple)
WORDS = st.sampled_from([None, 24, 64])


@st.composite
def layouts_with(draw: st.DrawFn, count: int) -> Any:
    layout = FieldLayout(draw(WIDTHS), draw(WORDS))
    value = [st.integers(0, (1 << width) - 1) for width in layout.widths]
    return layout, *(draw(st.tuples(*value)) for _ in range(count))


def covers(layout: FieldLayout, have: tuple[int, ...], need: tuple[int, ...]) -> bool:
    words = zip(layout.pack(have), layout.pack(need), layout.guards, strict=True)
    return all(((word | guards) - pre) & guards == guards for word, pre, guards in words)


@given(layouts_with(1))
def test_what_is_packed_comes_out_again(case: Any) -> None:
    layout, values = case
    assert layout.unpack(layout.pack(values)) == values


@given(layouts_with(1))
def test_a_packed_marking_touches_no_guard(case: Any) -> None:
    layout, values = case
    assert not any(word & guards for word, guards in zip(layout.pack(values), layout.guards, strict=True))


@given(layouts_with(2))
def test_guards_stay_exactly_when_every_place_has_enough(case: Any) -> None:
    layout, have, need = case
    assert covers(layout, have, need) == all(a >= b for a, b in zip(have, need, strict=True))


@given(layouts_with(2))
def test_adding_a_packed_difference_leads_from_one_marking_to_the_other(case: Any) -> None:
    layout, before, after = case
    change = layout.pack(b - a for a, b in zip(before, after, strict=True))
    sums = [word + part for word, part in zip(layout.pack(before), change, strict=True)]
    assert layout.unpack(sums) == after


@given(layouts_with(2))
def test_a_sum_too_big_sets_the_guard_of_its_field_and_that_field_grows(case: Any) -> None:
    layout, first, second = case
    sums = [a + b for a, b in zip(first, second, strict=True)]
    words = [a + b for a, b in zip(layout.pack(first), layout.pack(second), strict=True)]
    grown = tuple(width + (total >= 1 << width) for width, total in zip(layout.widths, sums, strict=True))
    wider = layout.wider(words)
    assert wider.word_bits == layout.word_bits
    assert wider.widths in (grown, tuple(width + 1 for width in grown))
    if layout.word_bits is None:
        assert wider.widths == grown


def test_fields_of_several_words_grow_together_while_they_fit_the_same_words() -> None:
    assert FieldLayout((20, 5), 24).wider([0, 1 << 5]).widths == (21, 7)
    assert FieldLayout((20, 10, 10), 24).wider([0, 1 << 10]).widths == (20, 11, 10)
    assert FieldLayout((22, 5), 24).wider([1 << 22, 0]).widths == (23, 5)


def test_a_field_of_a_single_word_grows_alone() -> None:
    assert FieldLayout((5, 7), 24).wider([1 << 5]).widths == (6, 7)
    assert FieldLayout((5, 7)).wider([1 << 13]).widths == (5, 8)


@given(layouts_with(1), st.data())
def test_moving_to_a_wider_layout_keeps_the_marking(case: Any, data: st.DataObject) -> None:
    layout, values = case
    wider = FieldLayout(
        tuple(min(23, w + data.draw(st.integers(0, 9))) for w in layout.widths), layout.word_bits
    )
    packed, moved = layout.pack(values), [0] * wider.words
    for move in layout.moves_to(wider):
        moved[move.target] |= move(packed[move.source])
    assert tuple(moved) == wider.pack(values)


@given(WIDTHS)
def test_no_field_straddles_a_word(widths: tuple[int, ...]) -> None:
    layout = FieldLayout(widths, 24)
    used_bits = [0] * layout.words
    for (word, shift), width in zip(layout.spots, widths, strict=True):
        field = ((2 << width) - 1) << shift
        assert field < 1 << 24
        assert not used_bits[word] & field
        used_bits[word] |= field


def test_a_field_that_fits_no_word_is_refused() -> None:
    assert FieldLayout((63,), 64).words == 1
    with pytest.raises(FieldTooWideError, match="65 bits in words of 64"):
        FieldLayout((64,), 64)


def test_a_gap_in_a_word_is_used_before_a_new_word() -> None:
    assert FieldLayout((40, 30, 10), 64).words == 2


def test_fields_that_move_together_cost_one_move() -> None:
    assert len(FieldLayout((1,) * 30).moves_to(FieldLayout((1,) * 10 + (2,) + (1,) * 19))) == 2


def test_fields_start_as_wide_as_the_initial_marking_and_the_heaviest_arc() -> None:
    net = net_of("a + 9 b > c\n c > 4 a", {"a": 2, "b": 0, "d": 200})
    assert dict(zip(net.place_ids, narrowest(net), strict=True)) == {"a": 3, "b": 4, "c": 1, "d": 8}


def test_the_effect_of_a_loop_is_what_it_takes_and_the_difference() -> None:
    ((inputs, change),) = effects(net_of("3 a + b > a + 2 b", {}))
    assert (inputs, change) == (((0, 3), (1, 1)), ((0, -2), (1, 1)))


def test_what_the_transitions_do_takes_no_more_room_than_their_arcs() -> None:
    steps = 4_000
    chain = net_of("\n".join(f"p{n} > p{n + 1}" for n in range(steps)), {"p0": 1})
    assert sum(len(inputs) + len(change) for inputs, change in effects(chain)) == 3 * steps
