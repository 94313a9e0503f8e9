"""What holds of every tree of parts, whoever made it: said once, for whoever changes one, and for tests."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.decompose.model import ID, Limits, Part, Signals
from weft.decompose.order_invariants import wrong_order


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
    said = [*checks.below(whole, "everything")]
    yield from said or wrong_order(whole, signals)


class _Checks(Struct, frozen=True, kw_only=True):
    tokens: Mapping[str, int]
    limits: Limits
    least: int

    def below(self, part: Part, path: str) -> Iterator[str]:
        said = _group(part) if part.parts else self._leaf(part)
        yield from (f"{path}: {one}" for one in said)
        for one in part.parts:
            yield from (f"{path}/{one.id}: {wrong}" for wrong in _words(one))
            yield from self.below(one, f"{path}/{one.id}")

    def _leaf(self, leaf: Part) -> Iterator[str]:
        if leaf.tokens != sum(self.tokens.get(path, 0) for path in leaf.files):
            yield "its tokens are not those of its files"
        if len(leaf.files) < self.least:
            yield f"it has {len(leaf.files)} files, and {self.least} are the fewest"
        if leaf.too_large is not (leaf.tokens > self.limits.max_tokens_per_subplan):
            yield "whether it is too large is not told as it is"


def _group(group: Part) -> Iterator[str]:
    if list(group.files) != sorted(path for part in group.parts for path in part.files):
        yield "its files are not those of its parts"
    if group.tokens != sum(part.tokens for part in group.parts):
        yield "its tokens are not those of its parts"
    if len(group.parts) == 1:
        yield "it has one part only"
    if group.prompt or group.too_large:
        yield "it is no leaf, and has what only leaves have"
    if len({part.id for part in group.parts}) != len(group.parts):
        yield "two of its parts have the same id"


def _words(part: Part) -> Iterator[str]:
    if not ID.fullmatch(part.id):
        yield "its id is none"
    if not part.title or not part.title.isprintable():
        yield "its title is no line"
    if not part.prompt.replace("\n", "").replace("\t", "").isprintable():
        yield "its prompt is no plain text"
