"""How `weft decompose` tells what it does and what it proposes."""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from msgspec import structs, to_builtins

from weft.app.decompose.decompose import Proposal
from weft.app.decompose.refinement import Refinement
from weft.cli.output import Progress
from weft.cli.wording.words import count, span
from weft.decompose.model import Part
from weft.decompose.paths import folder_of

_SHOWN = 5


class _Working(Progress):
    """Says what is being done, once it takes long; nothing at all clears the line for somebody else."""

    def says(self, what: str) -> None:
        if not what:
            self.clear()
        elif self._clock() >= self._next:
            self._draw(what)


@contextmanager
def watching(*, as_json: bool) -> Generator[Callable[[str], None]]:
    """A line on a terminal that goes away in the end; elsewhere nobody watches."""
    stream = sys.stderr
    if as_json or stream is None or not stream.isatty():
        yield lambda _what: None
        return
    working = _Working(stream)
    try:
        yield working.says
    finally:
        working.clear()


def part_lines(part: Part, depth: int = 0) -> Iterator[str]:
    """The tree, one line for each part."""
    name = part.id or "everything"
    after = f", after {', '.join(part.depends_on)}" if part.depends_on else ""
    large = ", too large" if part.too_large else ""
    size = f"{count(len(part.files), 'file')}, {count(part.tokens, 'token')}"
    yield f"{'  ' * depth}{name}  {part.title} ({size}{after}{large})"
    for one in part.parts:
        yield from part_lines(one, depth + 1)


def summary_lines(found: Proposal) -> Iterator[str]:
    if found.refinement is not None:
        yield _refined(found.refinement)
    leaves = list(found.whole.leaves())
    levels = f" on {count(found.whole.depth, 'level')}" if found.whole.depth > 1 else ""
    yield f"{count(len(found.whole.files), 'file')} in {count(len(leaves), 'slice')}{levels}"
    if len(leaves) > 1:
        yield from _cohesion(found)
    large = sum(leaf.too_large for leaf in leaves)
    if large:
        most = count(found.limits.max_tokens_per_subplan, "token")
        yield f"{_have(large)} more than {most}, and could not be split further"
    if found.crowded:
        most = count(found.limits.max_files_per_subplan, "file")
        fits = "its tokens fit one agent" if found.crowded == 1 else "the tokens of each fit one agent"
        yield f"{_have(found.crowded)} more than {most}, and could not be split further; {fits}"
    yield from _unknown(found)


def _have(slices: int) -> str:
    return f"{count(slices, 'slice')} {'has' if slices == 1 else 'have'}"


def _refined(done: Refinement) -> str:
    moved = f"{done.agent} moved {count(done.moved, 'file')}"
    named = (
        f"gave another id to {count(done.renamed, 'part')} and other words to {count(done.worded, 'part')}"
    )
    return f"{moved}, {named} (in {span(done.spent.seconds)}, {done.spent.words()})"


def _cohesion(found: Proposal) -> Iterator[str]:
    """What stays within a slice is what nobody has to wait or look out for."""
    told = list[str]()
    if found.references:
        told.append(_share(found.references_inside, found.references, "reference"))
    if found.changes:
        share = _share(found.changes_inside, found.changes, "pair")
        told.append(f"{share} of files that changed together")
    if told:
        yield f"within a slice: {' and '.join(told)}"


def _unknown(found: Proposal) -> Iterator[str]:
    if found.history_fault:
        yield f"what changed together is not known, as git cannot read the history: {found.history_fault}"
    if found.left_out:
        yield f"left out, being no files here: {_some(found.left_out)}"
    if found.no_work:
        number, names = count(len(found.no_work), "file"), _some([*_by_folder(found.no_work)])
        yield f"left out of the plan, as they give an agent nothing to do: {number} ({names})"
    for one in found.unread[:_SHOWN]:
        yield f"cannot read {one.path}: {one.why}; what it refers to is not known"
    if len(found.unread) > _SHOWN:
        yield f"nor can {count(len(found.unread) - _SHOWN, 'more file')} be read"


def _share(inside: int, total: int, what: str) -> str:
    return f"{100 * inside // total} % of {count(total, what)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _by_folder(paths: Sequence[str]) -> Iterator[str]:
    for folder, inside in groupby(paths, key=folder_of):
        names = [*inside]
        yield names[0] if len(names) == 1 else f"{len(names):,} in {folder or '.'}"


def part_data(found: Proposal, written: str | None) -> dict[str, object]:
    return {
        **({"text": found.text} if written is None else {"file": written}),
        "files": len(found.whole.files),
        "depth": found.whole.depth,
        "references": {"all": found.references, "inside": found.references_inside},
        "changes": {"all": found.changes, "inside": found.changes_inside},
        "unread": [structs.asdict(one) for one in found.unread],
        "left_out": list(found.left_out),
        "no_work": list(found.no_work),
        "history_fault": found.history_fault or None,
        "refined": None if found.refinement is None else _refined_data(found.refinement),
        "tree": _tree(found.whole),
    }


def _refined_data(done: Refinement) -> dict[str, object]:
    spent = done.spent
    return {
        "agent": done.agent,
        "model": done.model,
        "questions": done.questions,
        "tries": spent.tries,
        "seconds": round(spent.seconds, 3),
        "tokens": spent.tokens,
        "cost_usd": None if spent.cost is None else spent.cost / 1_000_000,
        "moved": done.moved,
        "renamed": done.renamed,
        "worded": done.worded,
    }


def _tree(part: Part) -> dict[str, object]:
    """Files are told with the leaves only."""
    return {
        "id": part.id,
        "title": part.title,
        **({"prompt": part.prompt} if part.prompt else {}),
        "tokens": part.tokens,
        "depends_on": list(part.depends_on),
        "too_large": part.too_large,
        "risks": to_builtins(part.risks),
        **({"parts": [_tree(one) for one in part.parts]} if part.parts else {"files": list(part.files)}),
    }
