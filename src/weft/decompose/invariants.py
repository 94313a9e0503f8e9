"""The invariants of a tree of parts, for the code that changes trees and for tests."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.decompose.model import ID, Limits, Part, Signals
from weft.decompose.order_invariants import find_order_violations


def find_violations(whole: Part, signals: Signals, limits: Limits) -> Iterator[str]:
    """Yields a sentence for each violation; each starts with the part."""
    if sorted(path for leaf in whole.leaves() for path in leaf.files) != list(signals.paths):
        yield "everything: not each file is in exactly one leaf"
    if whole.depth > limits.depth_for(len(signals.paths)):
        yield f"everything: it is {whole.depth} levels deep"
    checks = _Checks(
        tokens=dict(zip(signals.paths, signals.tokens, strict=True)),
        limits=limits,
        least=min(limits.min_files_per_subplan, len(signals.paths)),
    )
    violations = [*checks.check_part(whole, "everything")]
    # The order can be checked only in a tree that is otherwise valid.
    yield from violations or find_order_violations(whole, signals)


class _Checks(Struct, frozen=True, kw_only=True):
    tokens: Mapping[str, int]
    limits: Limits
    least: int

    def check_part(self, part: Part, path: str) -> Iterator[str]:
        violations = _check_group(part) if part.parts else self._check_leaf(part)
        yield from (f"{path}: {violation}" for violation in violations)
        for child in part.parts:
            yield from (f"{path}/{child.id}: {violation}" for violation in _check_texts(child))
            yield from self.check_part(child, f"{path}/{child.id}")

    def _check_leaf(self, leaf: Part) -> Iterator[str]:
        if leaf.tokens != sum(self.tokens.get(path, 0) for path in leaf.files):
            yield "its tokens are not those of its files"
        if len(leaf.files) < self.least:
            yield f"it has {len(leaf.files)} files, and {self.least} are the fewest"
        if leaf.too_large is not (leaf.tokens > self.limits.max_tokens_per_subplan):
            yield "too_large does not match its tokens"


def _check_group(group: Part) -> Iterator[str]:
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


def _check_texts(part: Part) -> Iterator[str]:
    if not ID.fullmatch(part.id):
        yield "its id is invalid"
    if not part.title or not part.title.isprintable():
        yield "its title is not a printable line"
    if not part.prompt.replace("\n", "").replace("\t", "").isprintable():
        yield "its prompt is not plain text"
