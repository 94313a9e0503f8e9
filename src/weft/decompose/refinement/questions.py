"""The questions to an agent about a tree of parts, as many as it takes.

A question shows as many whole subtrees, with their files, as fit into it: the agent may name each of these parts
and write prompts, and move files between their slices. Groups that are too large for one question come last.
They are shown with only the titles of their parts, which are final by then.

Each part is therefore named in exactly one question, no file occurs in two, and the paths in a question are
those of the tree at the time of the question.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from weft.decompose.model import LONGEST_ID, Limits, Part, Risk, Signals
from weft.decompose.refinement.answers import LONGEST_PROMPT, LONGEST_TITLE, SCHEMA
from weft.decompose.words import risk_lines, shown

WHOLE = "everything"
"""The path of a tree that is one leaf."""
MOST_BYTES = 100_000
"""The most bytes of one question and its answer."""
_BYTES_OF_ANSWER = 500
"""The estimated answer about one part. Models can write less than they can read."""
MOST_BYTES_OF_FILES = 16_000
"""The most bytes of the files of one slice; a slice that fits an agent has far fewer."""
_PARTS_SHOWN = 12
_RISKS_SHOWN = 5


class QuestionScope(Struct, frozen=True, kw_only=True):
    """The parts that a question is about, by path."""

    subtrees: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    """Shown without the contents of their parts."""

    def parts(self, whole: Part) -> dict[str, Part]:
        """Returns the parts that the agent may name. Files may be moved between their leaves."""
        named = {*self.subtrees, *self.groups}
        inside = tuple(f"{path}/" for path in self.subtrees)
        return {path: part for path, part in part_paths(whole) if path in named or path.startswith(inside)}


def part_paths(whole: Part) -> Iterator[tuple[str, Part]]:
    """Yields all parts except the whole, each after its group; only the whole if it is a leaf."""
    if not whole.parts:
        yield WHOLE, whole
    for part in whole.parts:
        yield from _walk(part, part.id)


def _walk(part: Part, path: str) -> Iterator[tuple[str, Part]]:
    yield path, part
    for child in part.parts:
        yield from _walk(child, f"{path}/{child.id}")


class Questions:
    """Divides a tree into questions and writes them."""

    def __init__(self, signals: Signals, limits: Limits, goal: str, *, most_bytes: int = MOST_BYTES) -> None:
        self._tokens = dict(zip(signals.paths, signals.tokens, strict=True))
        self._symbols = dict(zip(signals.paths, signals.symbols, strict=False))
        self._limits = limits
        self._goal = goal.strip()
        self._most_bytes = most_bytes

    # Scopes

    def scopes(self, whole: Part) -> list[QuestionScope]:
        """Returns the scopes of all questions, in the order of asking."""
        sizes = self._sizes(whole)
        subtrees, groups = list[tuple[str, int]](), list[tuple[str, int]]()
        covered = "/"  # no path starts with it
        for path, part in part_paths(whole):
            # A parent is in a question already, with its whole subtree.
            if path.startswith(covered):
                continue
            if sizes[path] <= self._most_bytes or not part.parts:
                subtrees.append((path, sizes[path]))
                covered = f"{path}/"
            else:
                groups.append((path, _BYTES_OF_ANSWER + _byte_size(_outline(path, part))))
        return [
            *(QuestionScope(subtrees=paths_in_scope) for paths_in_scope in _pack(subtrees, self._most_bytes)),
            # Groups come last and in reverse, the innermost first: the titles of their parts are final by then.
            *(
                QuestionScope(groups=paths_in_scope)
                for paths_in_scope in _pack(reversed(groups), self._most_bytes)
            ),
        ]

    def _sizes(self, whole: Part) -> dict[str, int]:
        """Returns the size in bytes of each subtree in a question, with its answer."""
        sizes = dict[str, int]()
        # Children come after their parent in the list, so backwards they are known before it.
        for path, part in reversed(list(part_paths(whole))):
            below = sum(sizes[f"{path}/{child.id}"] for child in part.parts)
            sizes[path] = _BYTES_OF_ANSWER + _byte_size(self._lines(path, part)) + below
        return sizes

    # Texts

    def text(self, whole: Part, scope: QuestionScope) -> str:
        parts = scope.parts(whole)
        described = [*_risk_lines("", whole.risks)] if len(parts) == sum(1 for _ in part_paths(whole)) else []
        for path, part in parts.items():
            described += _outline(path, part) if path in scope.groups else self._lines(path, part)
        instructions = _instructions(self._goal, self._limits, are_slices=bool(scope.subtrees))
        return "\n".join((instructions, *described))

    def _lines(self, path: str, part: Part) -> Iterator[str]:
        yield from _heading(path, part)
        yield from _risk_lines(f"{path}/", part.risks) if part.parts else self._files(part.files)

    def _files(self, files: Sequence[str]) -> Iterator[str]:
        """Yields a line for each file. Files with unprintable names are only counted; they cannot be moved."""
        count, room = 0, MOST_BYTES_OF_FILES
        for file in filter(str.isprintable, files):
            symbol = self._symbols.get(file)
            line = f"  - {file} ({self._tokens[file]:,} tokens{f', {shown(symbol)}' if symbol else ''})"
            room -= _byte_size([line])
            if room < 0:
                break
            count += 1
            yield line
        if count < len(files):
            yield f"  and {len(files) - count:,} more"


def _pack(items: Iterable[tuple[str, int]], room: int) -> Iterator[tuple[str, ...]]:
    """Packs neighbours into batches of at most `room` bytes."""
    batch, batch_size = list[str](), 0
    for path, size in items:
        if batch and batch_size + size > room:
            yield tuple(batch)
            batch, batch_size = [], 0
        batch.append(path)
        batch_size += size
    if batch:
        yield tuple(batch)


def _byte_size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


# Words

_TASK = """\
A change over many files is split into parts, and several agents will work on them at the same time. Make the
split easier to read and to work with. Nothing but an answer is wanted: there are no files here to look at, nor
to change.

The goal of the change:
{goal}

A part is named by its path, which is made of ids. A part with parts is a group. A part with files is a slice:
one agent gets it, changes its files, and leaves all others alone. A part comes after those that it uses; that
order is computed from the files, also after your changes. Beside a file stands what other files use of it most.

What you may do:
- In `parts`, give parts another `id` (up to {longest_id} small letters, digits, - and _; parts beside each other
  have different ones), and another `title`: one line of up to {longest_title} characters that says what the part
  is about. Keep what is good."""
_ABOUT_SLICES = """\
- There, too, give slices a `prompt`: what its agent is to do to reach the goal, in up to {longest_prompt:,}
  characters. It is told the goal and its files anyway; say what is special about this slice.
- In `moves`, put single files into another of the slices below, where they fit better. Afterwards no slice may
  have fewer than {least:,} files, nor more than {most:,} files or {tokens:,} tokens; one that is beyond that now
  must not get larger."""
_ABOUT_GROUPS = """\
The parts below are groups. Of each you see what it consists of; find an id and a title that say that."""
_FORM = """
Name parts by the paths below, also those that get another id. What you leave out stays as it is.

Answer with one JSON object of this schema, and nothing else:
{schema}

The parts:
"""


def _instructions(goal: str, limits: Limits, *, are_slices: bool) -> str:
    rules = _ABOUT_SLICES if are_slices else _ABOUT_GROUPS
    return f"{_TASK}\n{rules}\n{_FORM}".format(
        goal=goal,
        schema=json.dumps(SCHEMA),
        longest_id=LONGEST_ID,
        longest_title=LONGEST_TITLE,
        longest_prompt=LONGEST_PROMPT,
        least=limits.min_files_per_subplan,
        most=limits.max_files_per_subplan,
        tokens=limits.max_tokens_per_subplan,
    )


def _heading(path: str, part: Part) -> Iterator[str]:
    kind = f"a group of {len(part.parts):,} parts" if part.parts else "a slice"
    yield f"{path}: {kind}, {len(part.files):,} files, {part.tokens:,} tokens"
    yield f"  title: {part.title}"
    if part.depends_on:
        yield f"  comes after {', '.join(part.depends_on)}"


def _outline(path: str, part: Part) -> Iterator[str]:
    yield from _heading(path, part)
    yield from (f"  - {child.id}: {child.title}" for child in part.parts[:_PARTS_SHOWN])
    if len(part.parts) > _PARTS_SHOWN:
        yield f"  and {len(part.parts) - _PARTS_SHOWN:,} more"


def _risk_lines(inside: str, risks: Sequence[Risk]) -> Iterator[str]:
    return (f"  {line}" for line in risk_lines(risks, most=_RISKS_SHOWN, inside=inside))
