"""Invariants of a net. Checking one takes linear time for any net; finding them is feasible for small nets.

A *P-invariant* weighs places so that no transition changes the weighted sum of the tokens. A *T-invariant* counts
transitions so that firing them that often, in some order, leads back to the same marking. The minimal non-negative
ones are found by Farkas' algorithm: start with one row for each place; for each transition in turn, keep the
rows that it does not change and the sums of two that it changes in opposite directions. A row is
dropped if its support contains that of another. There may be exponentially many rows, so there is a limit;
reaching it is an error, never a shorter answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import TypeVar

from msgspec import Struct

from weft.errors import InputError, NetError
from weft.ids import PlaceId, TransitionId
from weft.net.linear import incidence
from weft.net.model import Arcs, Net, PlaceKind
from weft.net.plain import PlainNet
from weft.net.verdict import Answer, Verdict

FARKAS_LIMIT = 5_000
"""The most rows that the search for minimal invariants may hold at a time."""

Key = TypeVar("Key", PlaceId, TransitionId)


class TooManyInvariantsError(InputError):
    """The search for minimal invariants needs more rows than its limit allows; there is no partial answer."""


def check_invariant(net: PlainNet, weights: Mapping[PlaceId, int]) -> Verdict:
    """Checks that no transition changes the sum of weight times tokens; places without a weight count 0."""
    numbers = {id_: number for number, id_ in enumerate(net.place_ids)}
    by_number = [0] * len(numbers)
    for id_, weight in weights.items():
        if id_ not in numbers:
            raise NetError(f"the net has no place {id_!r}")
        by_number[numbers[id_]] = weight
    leak = leaking_transition(net, by_number)
    if leak is None:
        total = sum(weight * tokens for weight, tokens in zip(by_number, net.initial, strict=True))
        count = len(net.transition_ids)
        return Verdict(
            answer=Answer.PROVED, why=f"the sum is {total:,} and none of the {count:,} transitions changes it"
        )
    transition, change = leak
    name = net.transition_ids[transition]
    is_enabled = all(net.initial[place] >= weight for place, weight in net.inputs[transition])
    return Verdict(
        answer=Answer.REFUTED,
        why=f"transition {name!r} changes the sum by {_signed_number(change)}",
        trace=(name,) if is_enabled else (),
    )


def _signed_number(number: int) -> str:
    return f"{number:+,}".replace("-", "\N{MINUS SIGN}")


def leaking_transition(net: PlainNet, weights: Sequence[int]) -> tuple[int, int] | None:
    """Returns the first transition that changes the weighted sum, and the change; None if there is none."""
    for number, (inputs, outputs) in enumerate(zip(net.inputs, net.outputs, strict=True)):
        change = 0
        for place, weight in outputs:
            change += weights[place] * weight
        for place, weight in inputs:
            change -= weights[place] * weight
        if change:
            return number, change
    return None


def unbalanced_place(net: PlainNet, counts: Sequence[int]) -> tuple[int, int] | None:
    """Returns the first place that changes if each transition fires `counts` times, and the change."""
    changes = [0] * len(net.place_ids)
    for count, inputs, outputs in zip(counts, net.inputs, net.outputs, strict=True):
        for place, weight in outputs:
            changes[place] += count * weight
        for place, weight in inputs:
            changes[place] -= count * weight
    return next(((place, change) for place, change in enumerate(changes) if change), None)


def pool_conservation(net: Net) -> Verdict:
    """Checks that each outcome of a transition returns to the pools the tokens that the transition took."""
    pools = {place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL}
    leak = next(_pool_leaks(net, pools), None)
    if leak is not None:
        return Verdict(answer=Answer.REFUTED, why=leak)
    outcomes = sum(map(len, net.outcomes))
    return Verdict(
        answer=Answer.PROVED,
        why=f"each of the {outcomes:,} outcomes gives every pool back what was taken (pools: {len(pools):,})",
    )


def _pool_leaks(net: Net, pools: set[int]) -> Iterator[str]:
    for number, inputs in enumerate(net.inputs):
        claims = _claims(inputs, pools)
        for name, outputs in zip(net.outcomes[number], net.outputs[number], strict=True):
            returned = _claims(outputs, pools)
            for pool in () if returned == claims else sorted(claims.keys() | returned.keys()):
                before, after = claims.get(pool, 0), returned.get(pool, 0)
                if before != after:
                    yield (
                        f"transition {net.transition_ids[number]!r} takes {before:,} from pool "
                        f"{net.place_ids[pool]!r} and gives back {after:,} with outcome {name!r}"
                    )


def _claims(arcs: Arcs, pools: set[int]) -> dict[int, int]:
    return {place: weight for place, weight in arcs if place in pools}


def p_invariants(net: PlainNet, *, limit: int = FARKAS_LIMIT) -> tuple[dict[PlaceId, int], ...]:
    """Returns all minimal P-invariants without negative weights, each divided by its greatest common divisor."""
    changes: list[dict[int, int]] = [{} for _ in net.place_ids]
    for transition, row in enumerate(incidence(net)):
        for place, change in row.items():
            changes[place][transition] = change
    return _name_rows(_farkas(changes, limit), net.place_ids)


def t_invariants(net: PlainNet, *, limit: int = FARKAS_LIMIT) -> tuple[dict[TransitionId, int], ...]:
    """Returns all minimal T-invariants without negative counts, each divided by its greatest common divisor."""
    return _name_rows(_farkas(incidence(net), limit), net.transition_ids)


def _name_rows(rows: list["_Row"], ids: Sequence[Key]) -> tuple[dict[Key, int], ...]:
    return tuple({ids[number]: row.parts[number] for number in sorted(row.parts)} for row in rows)


class _Row(Struct, frozen=True):
    support: int
    """A bit for each part."""
    parts: dict[int, int]
    """The multiplicity of each row of the matrix."""
    rest: dict[int, int]
    """The weighted sum of these rows."""


def _farkas(matrix: Sequence[Mapping[int, int]], limit: int) -> list[_Row]:
    """Returns the minimal combinations of matrix rows that add up to zero."""
    rows = [_Row(1 << n, {n: 1}, dict(rest)) for n, rest in enumerate(matrix)]
    while (column := _cheapest_column(rows)) is not None:
        new_rows = [row for row in rows if column not in row.rest]
        gains = [row for row in rows if row.rest.get(column, 0) > 0]
        losses = [row for row in rows if row.rest.get(column, 0) < 0]
        # Checked before the sums are built: the product may be enormous.
        if len(new_rows) + len(gains) * len(losses) > limit:
            raise TooManyInvariantsError(
                f"the search for minimal invariants needs more than {limit:,} rows at a time; "
                "raise its limit, or check an invariant that you expect"
            )
        new_rows.extend(_sum(a, b, column) for a in gains for b in losses)
        rows = _minimal(new_rows)
    return sorted(rows, key=lambda row: sorted(row.parts))


def _cheapest_column(rows: Sequence[_Row]) -> int | None:
    """Returns the column that gives the fewest sums; None if all rows are zero."""
    signs: dict[int, list[int]] = {}
    for row in rows:
        for column, entry in row.rest.items():
            signs.setdefault(column, [0, 0])[entry > 0] += 1
    return min(signs, key=lambda column: signs[column][0] * signs[column][1], default=None)


def _sum(gain: _Row, loss: _Row, column: int) -> _Row:
    """Returns the smallest sum of multiples of the two that is zero in this column."""
    up, down = gain.rest[column], -loss.rest[column]
    parts = _combine(gain.parts, down, loss.parts, up)
    rest = _combine(gain.rest, down, loss.rest, up)
    common = gcd(*parts.values())  # it divides the rest too, which is a sum of rows with these factors
    return _Row(
        gain.support | loss.support,
        {n: part // common for n, part in parts.items()},
        {n: entry // common for n, entry in rest.items()},
    )


def _combine(a: Mapping[int, int], times_a: int, b: Mapping[int, int], times_b: int) -> dict[int, int]:
    total = {key: value * times_a for key, value in a.items()}
    for key, value in b.items():
        total[key] = total.get(key, 0) + value * times_b
    return {key: value for key, value in total.items() if value}


def _minimal(rows: list[_Row]) -> list[_Row]:
    """Returns the rows with minimal support; of several with the same support, the first."""
    minimal: list[_Row] = []
    # By size of support: a row can only contain rows that came before it.
    for row in sorted(rows, key=lambda row: row.support.bit_count()):
        if not any(smaller.support & row.support == smaller.support for smaller in minimal):
            minimal.append(row)
    return minimal
