"""Prompts of slices: the content of the slice, and the work of related slices.

Each agent gets the goal and the list of files anyway. The prompt adds the boundaries of the slice: the slices that
end before it and may have changed what it uses, those that wait for it, and those that run at the same time with
related files. Each is named by its path in `weft status`, with its title.
"""

from collections.abc import Iterator, Mapping, Sequence

from weft.decompose.model import Part
from weft.decompose.words import as_line

_SHOWN = 4
_END = "Change files of other slices only where they must change with these."


class Prompts:
    """Builds the prompts of all slices of a tree."""

    def __init__(self, whole: Part) -> None:
        self._parts = dict(_by_path("", whole))
        self._before = dict[str, list[str]]()
        self._after = dict[str, list[str]]()
        for path, part in self._parts.items():
            for name in part.depends_on:
                # As in the plan language: a name without a slash is a sibling.
                other = name if name.startswith("/") else f"{path.rpartition('/')[0]}/{name}"
                self._before.setdefault(path, []).append(other)
                self._after.setdefault(other, []).append(path)
        self._linked = self._links()

    def prompt(self, path: str) -> str:
        """Returns the prompt of the leaf with this path; its own prompt, if it has one."""
        leaf = self._parts[path]
        return leaf.prompt or "\n".join(self._lines(path, leaf))

    def _lines(self, path: str, leaf: Part) -> Iterator[str]:
        files = "file" if len(leaf.files) == 1 else f"{len(leaf.files):,} files"
        yield f"Do what the goal asks for in the {files} of this slice ({_plain(leaf.title)})."
        before, after = self._around(path, self._before), self._around(path, self._after)
        if before:
            yield f"Done before it: {self._list_paths(before)}."
        if after:
            yield f"Waiting for it, as they use it: {self._list_paths(after)}."
        ordered = {*before, *after}
        linked = {other: pair for other, pair in self._linked.get(path, {}).items() if other not in ordered}
        if linked:
            yield f"At the same time, with files that are linked with these: {self._pairs(linked)}."
        yield _END

    def _around(self, path: str, others: Mapping[str, Sequence[str]]) -> list[str]:
        """Returns the entries of the slice and of the groups around it."""
        neighbours = list[str]()
        # A dependency of a group holds for everything in it.
        while path:
            neighbours += others.get(path, ())
            path = path.rpartition("/")[0]
        return [*dict.fromkeys(neighbours)]

    def _list_paths(self, paths: Sequence[str]) -> str:
        named = [f"{path[1:]} ({_plain(self._parts[path].title)})" for path in paths[:_SHOWN]]
        return "; ".join(named) + _more(len(paths))

    def _pairs(self, linked: Mapping[str, tuple[str, str]]) -> str:
        pairs = [
            f"{path[1:]} ({' with '.join(_plain(as_line(file)) for file in pair)})"
            for path, pair in [*linked.items()][:_SHOWN]
        ]
        return "; ".join(pairs) + _more(len(linked))

    def _links(self) -> dict[str, dict[str, tuple[str, str]]]:
        """Returns for each leaf the leaves that a risk links to it, each with a pair of files, its own first."""
        leaf_of = {file: path for path, part in self._parts.items() if not part.parts for file in part.files}
        links = dict[str, dict[str, tuple[str, str]]]()
        pairs = [pair for part in self._parts.values() for risk in part.risks for pair in risk.files]
        for first, second in pairs:
            leaf, other = leaf_of[first], leaf_of[second]
            links.setdefault(leaf, {}).setdefault(other, (first, second))
            links.setdefault(other, {}).setdefault(leaf, (second, first))
        return links


def _by_path(path: str, part: Part) -> Iterator[tuple[str, Part]]:
    yield path, part
    for child in part.parts:
        yield from _by_path(f"{path}/{child.id}", child)


def _more(number: int) -> str:
    return f"; and {number - _SHOWN:,} more" if number > _SHOWN else ""


def _plain(text: str) -> str:
    """Returns the text with template syntax escaped: a file name may contain any characters."""
    return text.replace("{{", "{ {").replace("{%", "{ %")
