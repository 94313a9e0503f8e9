"""The questions that the API answers about a run, by the name in the address."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from weft.app.read_model.charts import chrome_trace, timeline
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.log_page import LogReader
from weft.app.read_model.run_shapes import EventPage
from weft.app.read_model.stored_stream import Stream
from weft.app.read_model.subplan_detail import subplan_detail
from weft.app.read_model.tables import conflict_pairs, cost_tables, pool_tables
from weft.app.record.journal import open_book
from weft.app.record.subplan_journal import is_inside
from weft.app.views.event_json import event_json
from weft.engine.messages.event_codec import CLASSES, kind_of
from weft.web.api.envelope import RefusedError

_NEAREST = 3
_MOST_EVENTS = 1_000
_MOST_RAW = 256 << 20


class Query:
    """The query of a request. A value that is wrong is refused with what is allowed."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def number(self, name: str) -> int | None:
        text = self._values.get(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdecimal() or len(text) > 15:  # noqa: PLR2004 - beyond any size of a file
            raise RefusedError(400, f"{name} must be a number, not {text[:40]!r}")
        return int(text)

    def flag(self, name: str) -> bool:
        return self._values.get(name, "") not in {"", "0"}

    def stream(self) -> Stream:
        match self._values.get("stream", "out"):
            case "out":
                return "out"
            case "err":
                return "err"
            case other:
                raise RefusedError(400, f"stream must be out or err, not {other[:40]!r}")

    def since_attempt(self) -> bool:
        """Returns whether only the changes of the last attempt are wanted."""
        since = self._values.get("since", "base")
        if since not in {"base", "attempt"}:
            raise RefusedError(400, f"since must be base or attempt, not {since[:40]!r}")
        return since == "attempt"


def row_of(live: LiveRun, path: str) -> int:
    """Returns the row of a subplan; raises `RefusedError` with the nearest names."""
    row = live.view.find_row(path.strip("/"))
    if row is None:
        names = get_close_matches(path, live.view.outline.paths, _NEAREST, 0.3)
        raise RefusedError(404, f"run {live.id} has no subplan {path!r}", nearest=names)
    return row


# Answers from the open run


def _subplan(live: LiveRun, query: Query) -> object:
    live.catch_up()
    return subplan_detail(live, row_of(live, query.text("path")))


def _timeline(live: LiveRun, query: Query) -> object:
    live.catch_up()
    return timeline(live, by_pool=query.text("by") == "pool")


# The modules of pictures and of git are 6 MB of memory, and most servers are never asked for a graph or a diff.


def _graph(live: LiveRun, query: Query) -> object:
    from weft.app.read_model.graph import plan_graph, siblings  # noqa: PLC0415

    row, first, last = row_of(live, query.text("path")), query.number("first"), query.number("last")
    if live.view.outline.leaves[row]:
        raise RefusedError(400, f"{query.text('path')!r} is a slice; a graph shows the parts of a group")
    part = None
    if first is not None and last is not None:
        part = siblings(live.compiled, row, first, last)
    return plan_graph(live.compiled, row, part)


def _net(live: LiveRun, query: Query) -> object:
    from weft.app.read_model.net_graph import net_graph  # noqa: PLC0415

    return net_graph(live, row_of(live, query.text("path")))


def _reader(live: LiveRun, query: Query) -> LogReader:
    live.catch_up()
    row = row_of(live, query.text("path"))
    return LogReader(live, row)


def _log(live: LiveRun, query: Query) -> object:
    return _reader(live, query).page(
        query.text("part"),
        query.stream(),
        start=query.number("from"),
        before=query.number("before"),
        lines=query.number("tail") or 1_000,
        is_raw=query.flag("raw"),
    )


RUN_QUESTIONS: Mapping[str, Callable[[LiveRun, Query], object]] = {
    "snapshot": lambda live, _query: live.snapshot(),
    "subplan": _subplan,
    "conflicts": lambda live, _query: conflict_pairs(live),
    "timeline": _timeline,
    "trace": lambda live, _query: chrome_trace(live),
    "graph": _graph,
    "net": _net,
    "cost": lambda live, _query: cost_tables(live),
    "pools": lambda live, _query: pool_tables(live),
    "log": _log,
}
"""Answered in the thread of the open runs."""


# Answers that take longer, with a reader of their own


def _search(directory: Path, run: str, query: Query) -> object:
    live = LiveRun(directory, run)
    try:
        if not query.text("text"):
            raise RefusedError(400, "text must not be empty")
        reader = _reader(live, query)
        return reader.search(
            query.text("part"),
            query.stream(),
            query.text("text"),
            query.number("from") or 0,
            is_raw=query.flag("raw"),
        )
    finally:
        live.close()


def _raw(directory: Path, run: str, query: Query) -> object:
    live = LiveRun(directory, run)
    try:
        return _reader(live, query).raw(query.text("part"), query.stream(), _MOST_RAW)
    finally:
        live.close()


def _diff(directory: Path, run: str, query: Query) -> object:
    from weft.app.read_model.change_set import change_set  # noqa: PLC0415

    with open_book(directory, run) as recorded_run:
        return change_set(
            recorded_run,
            query.text("path"),
            file=query.text("file"),
            force=query.flag("force"),
            since_attempt=query.since_attempt(),
        )


def _events(directory: Path, run: str, query: Query) -> object:
    limit = min(query.number("limit") or 200, _MOST_EVENTS)
    kinds = frozenset(filter(None, query.text("kind").split(",")))
    path = query.text("path")
    with open_book(directory, run) as recorded_run:
        events = (
            recorded
            for recorded in recorded_run.journal.events(run, after=query.number("after") or 0)
            if (not kinds or kind_of(recorded.event) in kinds) and is_inside(recorded.event.subplan, path)
        )
        page = list(islice(events, limit + 1))
    return EventPage(
        events=[event_json(recorded) for recorded in page[:limit]],
        next=page[limit - 1].seq if len(page) > limit else None,
        kinds=sorted(CLASSES),
    )


SLOW_QUESTIONS: Mapping[str, Callable[[Path, str, Query], object]] = {
    "log/search": _search,
    "log/raw": _raw,
    "diff": _diff,
    "events": _events,
}
