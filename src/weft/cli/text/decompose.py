"""Output of `weft decompose`: a progress line, the proposed parts, and a summary."""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from msgspec import structs, to_builtins

from weft.app.decompose.decompose import Proposal
from weft.app.decompose.refinement import Refinement
from weft.app.views.wording.words import count, span
from weft.cli.output import ProgressLine
from weft.decompose.model import Part
from weft.decompose.paths import folder_of

_SHOWN = 5


class _WorkProgress(ProgressLine):
    """A progress line that shows the current work once it takes long. An empty text clears the line."""

    def show(self, activity: str) -> None:
        if not activity:
            self.clear()
        elif self._clock() >= self._next:
            self._draw(activity)


@contextmanager
def show_progress(*, as_json: bool) -> Generator[Callable[[str], None]]:
    """Yields a function that shows the current work on a terminal; elsewhere it does nothing."""
    stream = sys.stderr
    if as_json or stream is None or not stream.isatty():
        yield lambda _activity: None
        return
    working = _WorkProgress(stream)
    try:
        yield working.show
    finally:
        working.clear()


def part_lines(part: Part, depth: int = 0) -> Iterator[str]:
    """Yields the tree of parts, one line each."""
    name = part.id or "everything"
    after = f", after {', '.join(part.depends_on)}" if part.depends_on else ""
    large = ", too large" if part.too_large else ""
    size = f"{count(len(part.files), 'file')}, {count(part.tokens, 'token')}"
    yield f"{'  ' * depth}{name}  {part.title} ({size}{after}{large})"
    for subpart in part.parts:
        yield from part_lines(subpart, depth + 1)


def summary_lines(proposal: Proposal) -> Iterator[str]:
    if proposal.refinement is not None:
        yield _refinement_line(proposal.refinement)
    leaves = list(proposal.whole.leaves())
    levels = f" on {count(proposal.whole.depth, 'level')}" if proposal.whole.depth > 1 else ""
    yield f"{count(len(proposal.whole.files), 'file')} in {count(len(leaves), 'slice')}{levels}"
    if len(leaves) > 1:
        yield from _cohesion(proposal)
    large = sum(leaf.too_large for leaf in leaves)
    if large:
        most = count(proposal.limits.max_tokens_per_subplan, "token")
        yield f"{_have(large)} more than {most}, and could not be split further"
    if proposal.crowded:
        most = count(proposal.limits.max_files_per_subplan, "file")
        fits = "its tokens fit one agent" if proposal.crowded == 1 else "the tokens of each fit one agent"
        yield f"{_have(proposal.crowded)} more than {most}, and could not be split further; {fits}"
    yield from _unknown(proposal)


def _have(slices: int) -> str:
    return f"{count(slices, 'slice')} {'has' if slices == 1 else 'have'}"


def _refinement_line(refinement: Refinement) -> str:
    moved = f"{refinement.agent} moved {count(refinement.moved, 'file')}"
    renamed, worded = count(refinement.renamed, "part"), count(refinement.worded, "part")
    spent = f"in {span(refinement.spent.seconds)}, {refinement.spent.words()}"
    return f"{moved}, gave another id to {renamed} and other words to {worded} ({spent})"


def _cohesion(proposal: Proposal) -> Iterator[str]:
    """Yields how many references and common changes stay within a slice.

    Those cost nothing: no other slice has to wait for them or can conflict with them.
    """
    shares = list[str]()
    if proposal.references:
        shares.append(_share(proposal.references_inside, proposal.references, "reference"))
    if proposal.changes:
        share = _share(proposal.changes_inside, proposal.changes, "pair")
        shares.append(f"{share} of files that changed together")
    if shares:
        yield f"within a slice: {' and '.join(shares)}"


def _unknown(proposal: Proposal) -> Iterator[str]:
    if proposal.history_fault:
        yield f"what changed together is not known, as git cannot read the history: {proposal.history_fault}"
    if proposal.left_out:
        yield f"left out, being no files here: {_some(proposal.left_out)}"
    if proposal.no_work:
        number, names = count(len(proposal.no_work), "file"), _some([*_by_folder(proposal.no_work)])
        yield f"left out of the plan, as they give an agent nothing to do: {number} ({names})"
    for file in proposal.unread[:_SHOWN]:
        yield f"cannot read {file.path}: {file.why}; what it refers to is not known"
    if len(proposal.unread) > _SHOWN:
        yield f"nor can {count(len(proposal.unread) - _SHOWN, 'more file')} be read"


def _share(inside: int, total: int, noun: str) -> str:
    return f"{100 * inside // total} % of {count(total, noun)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _by_folder(paths: Sequence[str]) -> Iterator[str]:
    # `groupby` joins only neighbours; the paths are sorted.
    for folder, inside in groupby(paths, key=folder_of):
        names = [*inside]
        yield names[0] if len(names) == 1 else f"{len(names):,} in {folder or '.'}"


def part_data(proposal: Proposal, written: str | None) -> dict[str, object]:
    return {
        **({"text": proposal.text} if written is None else {"file": written}),
        "files": len(proposal.whole.files),
        "depth": proposal.whole.depth,
        "references": {"all": proposal.references, "inside": proposal.references_inside},
        "changes": {"all": proposal.changes, "inside": proposal.changes_inside},
        "unread": [structs.asdict(file) for file in proposal.unread],
        "left_out": list(proposal.left_out),
        "no_work": list(proposal.no_work),
        "history_fault": proposal.history_fault or None,
        "refined": None if proposal.refinement is None else _refinement_data(proposal.refinement),
        "tree": _tree(proposal.whole),
    }


def _refinement_data(refinement: Refinement) -> dict[str, object]:
    spent = refinement.spent
    return {
        "agent": refinement.agent,
        "model": refinement.model,
        "questions": refinement.questions,
        "tries": spent.tries,
        "seconds": round(spent.seconds, 3),
        "tokens": spent.tokens,
        "cost_usd": None if spent.cost is None else spent.cost / 1_000_000,
        "moved": refinement.moved,
        "renamed": refinement.renamed,
        "worded": refinement.worded,
    }


def _tree(part: Part) -> dict[str, object]:
    """Returns the parts as JSON. Only leaves list their files, because a group has those of its parts."""
    return {
        "id": part.id,
        "title": part.title,
        **({"prompt": part.prompt} if part.prompt else {}),
        "tokens": part.tokens,
        "depends_on": list(part.depends_on),
        "too_large": part.too_large,
        "risks": to_builtins(part.risks),
        **(
            {"parts": [_tree(subpart) for subpart in part.parts]}
            if part.parts
            else {"files": list(part.files)}
        ),
    }
