"""Expected conflicts, each reported once: when it appears, when its files change, and when it is over."""

from collections.abc import Iterator, Mapping, Sequence

from weft.engine.messages.facts import Foreseen


class Outlook:
    """The expected conflicts that were reported last."""

    def __init__(self) -> None:
        self._reported: dict[tuple[str, str], tuple[str, ...]] = {}
        """By pair of subplans: the files on which they conflict."""

    def news(self, path: str, conflicts: Mapping[str, Sequence[str]], *, at: float) -> Iterator[Foreseen]:
        """Yields what changed for a subplan, given all its conflicts: files by the other subplan."""
        before = {pair for pair in self._reported if path in pair}
        now = {_pair(path, opponent): tuple(files) for opponent, files in conflicts.items()}
        # Pairs from before that are missing now are over, and are reported with no files.
        for pair in sorted(before | now.keys()):
            files = now.get(pair, ())
            if self._reported.get(pair, ()) == files:
                continue
            self._reported[pair] = files
            if not files:
                del self._reported[pair]
            yield Foreseen(at=at, subplan=pair[0], other=pair[1], files=files)


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)
