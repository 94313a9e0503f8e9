"""Where a run and those who are told of it meet. Where nobody is, nothing is loaded and nothing is done."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from weft.app.project.places import Places
from weft.engine.messages.events import Recorded
from weft.plan.model import Plan
from weft.ports.journal import JournalReader


class NotificationHook(Protocol):
    """Those who are told of what happens in a run."""

    def hears(self, events: Sequence[Recorded]) -> None:
        """What has happened, after it is in the journal. Returns at once."""
        ...

    async def finish(self) -> None:
        """Waits a little until all that was heard has been told."""
        ...


class _Nobody:
    def hears(self, events: Sequence[Recorded]) -> None:
        pass

    async def finish(self) -> None:
        pass


def notified(
    plan: Plan,
    run: str,
    *,
    places: Places,
    journal: JournalReader,
    observer: object,
    environ: Mapping[str, str],
) -> NotificationHook:
    """`observer` is shown what could not be told to somebody, if it listens to such things."""
    if not plan.notify:
        return _Nobody()
    from weft.app.notify.notifier import Notifier  # noqa: PLC0415 - threads and HTTP, for those who want them

    return Notifier(plan, history=journal.events(run), places=places, observer=observer, environ=environ)
