"""What holds of every tree of parts, whoever made it: said once, for whoever changes one, and for tests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec import Struct

from weft.decompose.model import ID, Limits, Part, Signals

_Link = tuple[str, str]


def broken(whole: Part, signals: Signals, limits: Limits) -> Iterator[str]:
    """A sentence for everything that does not hold; each begins with the part."""
    if sorted(path for leaf in whole.leaves() for path in leaf.files) != list(signals.paths):
        yield "everything: not each file is in exactly one leaf"
    if whole.depth > limits.depth_for(len(signals.paths)):
        yield f"everything: it is {whole.depth} levels deep"
    checks = _Checks(
        tokens=dict(zip(signals.paths, signals.tokens, strict=True)),
        limits=limits,
        least=min(limits.min_files_per_subplan, len(signals.paths)),
    )
    pairs = (*signals.uses, *((first, second) for first, second, _times in signals.together))
    yield from checks.below(
        whole, "everything", [(signals.paths[one], signals.paths[other]) for one, other in pairs]
    )


class _Checks(Struct, frozen=True, kw_only=True):
    tokens: Mapping[str, int]
    limits: Limits
    least: int

    def below(self, part: Part, path: str, links: Sequence[_Link]) -> Iterator[str]:
        """`links` are those between its files."""
        inside, between = _sorted_out(part, links)
        said = _group(part, between) if part.parts else self._leaf(part)
        yield from (f"{path}: {one}" for one in said)
        for one, its_links in zip(part.parts, inside, strict=True):
            yield from (f"{path}/{one.id}: {wrong}" for wrong in _words(one))
            yield from self.below(one, f"{path}/{one.id}", its_links)

    def _leaf(self, leaf: Part) -> Iterator[str]:
        if leaf.tokens != sum(self.tokens.get(path, 0) for path in leaf.files):
            yield "its tokens are not those of its files"
        if len(leaf.files) < self.least:
            yield f"it has {len(leaf.files)} files, and {self.least} are the fewest"
        is_beyond = (
            len(leaf.files) > self.limits.max_files_per_subplan
            or leaf.tokens > self.limits.max_tokens_per_subplan
        )
        if leaf.too_large is not is_beyond:
            yield "whether it is too large is not told as it is"


def _sorted_out(group: Part, links: Sequence[_Link]) -> tuple[list[list[_Link]], set[_Link]]:
    """The links within each of its parts, and which parts have links between them, by id."""
    part_of = {path: number for number, part in enumerate(group.parts) for path in part.files}
    inside: list[list[_Link]] = [[] for _ in group.parts]
    between = set[_Link]()
    for one, other in links:
        first, second = part_of.get(one), part_of.get(other)
        if first is not None and first == second:
            inside[first].append((one, other))
        elif first is not None and second is not None:
            between.add((group.parts[first].id, group.parts[second].id))
    return inside, between


def _group(group: Part, between: Iterable[_Link]) -> Iterator[str]:
    if list(group.files) != sorted(path for part in group.parts for path in part.files):
        yield "its files are not those of its parts"
    if group.tokens != sum(part.tokens for part in group.parts):
        yield "its tokens are not those of its parts"
    if len(group.parts) == 1:
        yield "it has one part only"
    if group.prompt or group.too_large:
        yield "it is no leaf, and has what only leaves have"
    before = {part.id: set(part.depends_on) for part in group.parts}
    if len(before) != len(group.parts):
        yield "two of its parts have the same id"
    elif not set[str]().union(*before.values()) <= before.keys():
        yield "a part of it depends on what is not beside it"
    else:
        yield from _order(group, before, between)


def _order(group: Part, before: Mapping[str, set[str]], between: Iterable[_Link]) -> Iterator[str]:
    try:
        in_order = [*TopologicalSorter(before).static_order()]
    except CycleError:
        yield "its parts depend on each other in a circle"
        return
    for name in in_order:
        before[name].update(*(before[used] for used in before[name]))
    told = {frozenset((risk.first, risk.second)) for risk in group.risks}
    for first, second in sorted(between):
        in_line = first in before[second] or second in before[first]
        if not in_line and frozenset((first, second)) not in told:
            yield f"{first} and {second} are linked, and have no order and no risk"


def _words(part: Part) -> Iterator[str]:
    if not ID.fullmatch(part.id):
        yield "its id is none"
    if not part.title or not part.title.isprintable():
        yield "its title is no line"
    if not part.prompt.replace("\n", "").replace("\t", "").isprintable():
        yield "its prompt is no plain text"
