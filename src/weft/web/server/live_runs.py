"""The runs that are open.

All questions about open runs are answered one after the other, so that no run is read twice at once. A run of ten
thousand slices takes a second to open; it then stays open while it is asked about.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from anyio import CapacityLimiter

from weft.app.project.places import find_used_project
from weft.app.read_model.live_run import LiveRun
from weft.errors import InputError
from weft.garbage import return_memory
from weft.store.sqlite import open_reader
from weft.threads import run_sync
from weft.web.api.envelope import RefusedError

Result = TypeVar("Result")
LAST = "last"
_MOST_OPEN = 3
_NEAREST = 3


class LiveRuns:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._one_at_a_time = CapacityLimiter(1)
        self._open: OrderedDict[str, LiveRun] = OrderedDict()
        """The one that was asked about last is at the end."""

    async def ask(self, run: str, question: Callable[[LiveRun], Result]) -> Result:
        """Answers a question about a run; raises `RefusedError` if there is no such run."""
        return await run_sync(self._answer, run, question, limiter=self._one_at_a_time)

    def _answer(self, run: str, question: Callable[[LiveRun], Result]) -> Result:
        return question(self._find(run))

    def _find(self, name: str) -> LiveRun:
        # A poll names an open run, and should not open the journal once more.
        run = name if name in self._open else existing_run(self.directory, name)
        live = self._open.get(run)
        if live is None:
            while len(self._open) >= _MOST_OPEN:
                _, oldest = self._open.popitem(last=False)
                oldest.close()
            live = self._open[run] = LiveRun(self.directory, run)
            live.drop_text()
            return_memory()
        self._open.move_to_end(run)
        return live

    async def close(self) -> None:
        """Closes all runs."""
        await run_sync(self._close_all, limiter=self._one_at_a_time)

    def _close_all(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


def existing_run(directory: Path, name: str) -> str:
    """Returns the id of a run; raises `RefusedError` if there is none of that name."""
    try:
        places = find_used_project(directory)
    except InputError as error:
        raise RefusedError(404, str(error)) from None
    with closing(open_reader(places.journal)) as journal:
        record = journal.record(None if name == LAST else name)
        if record is not None:
            return record.run
        names = [other.run for other in journal.runs()]
    if name == LAST:
        raise RefusedError(404, "nothing has been run here yet", hint="to run the plan, type: weft run")
    raise RefusedError(
        404,
        f"there is no run {name!r}",
        nearest=get_close_matches(name, names, _NEAREST, 0.3) or names[:_NEAREST],
    )
