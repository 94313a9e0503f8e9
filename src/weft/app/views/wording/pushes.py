"""Phrases that say whether landed commits were pushed."""

from weft.app.views.push import PushState

_UPSTREAM = "true"


def push_lines(push: PushState) -> list[str]:
    """Returns `landed, pushed to origin (bd7e5b6)` or `landed, not pushed: REASON`, then the output of git."""
    if push.is_pushed:
        remote = "its upstream" if push.remote == _UPSTREAM else push.remote
        return [f"landed, pushed to {remote} ({push.commit[:7]})"]
    first, *more = push.message.splitlines()
    return [f"landed, not pushed: {first}", *more]
