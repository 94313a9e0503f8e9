"""Conflicts that are coming, told once: when one is first seen, when its files change, and when it is over."""

from collections.abc import Iterator, Mapping, Sequence

from weft.engine.messages.facts import Foreseen


class Outlook:
    def __init__(self) -> None:
        self._told: dict[tuple[str, str], tuple[str, ...]] = {}
        """For two subplans, by name, the files that they will not agree about."""

    def news(self, path: str, found: Mapping[str, Sequence[str]], *, at: float) -> Iterator[Foreseen]:
        """What is new of one subplan, of which all that is known now is what was found."""
        before = {pair for pair in self._told if path in pair}
        now = {_pair(path, other): tuple(files) for other, files in found.items()}
        for pair in sorted(before | now.keys()):
            files = now.get(pair, ())
            if self._told.get(pair, ()) == files:
                continue
            self._told[pair] = files
            if not files:
                del self._told[pair]
            yield Foreseen(at=at, subplan=pair[0], other=pair[1], files=files)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)
