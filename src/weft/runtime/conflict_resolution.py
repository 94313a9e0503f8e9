"""Resolution of merge conflicts by agents. Weft opens a conflict in the workspace, and closes it afterwards."""

from functools import partial

from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch, LaunchKind, Merge
from weft.errors import WeftError
from weft.ports.workspaces import OpenConflict, ResultMerges, StepWork
from weft.runtime.jobs import with_error
from weft.runtime.lineage import Lineage
from weft.runtime.patience import Patience, raise_shortage
from weft.threads import run_sync

_MOST_FILES = 50

_PROMPT = """\
Your task in this directory: resolve a merge conflict.

Work was done here, on a branch of its own, and passed its checks. Meanwhile others changed the same files. Both
are being merged; the merge has stopped at a conflict, and you find it as git left it.

What the work here was about:

{task}

Files in conflict:
{files}

Between `<<<<<<< {into}` and `|||||||` is what the others have, then up to `=======` what both began with,
and up to `>>>>>>> {branch}` what was done here.

What the others did to these files, the last thing first:
{others}

What was done to them here:
{own}

What to do:
- Edit these files so that both do what they were meant to do. Do not just take one side, unless the other is of no
  use any more.
- Remove all conflict marks.
- A file without marks is in conflict as a whole: one side removed or renamed it, or it is not text. Decide what
  is to become of it, and tell git by `git add FILE` or `git rm FILE`.
- Change nothing else, but for what does not work any more because of the merge.
- Stay on this branch. You need not commit; do not abort the merge, rebase or reset.

{judged}
"""


def prompt(task: str, conflict: OpenConflict, verify: str) -> str:
    judged = f"Then these commands must pass:\n\n{verify}" if verify else "Then the whole must work."
    return _PROMPT.format(
        task=task.strip(),
        files=_list_lines(conflict.files),
        into=conflict.into,
        branch=conflict.branch,
        others=_list_lines(conflict.others),
        own=_list_lines(conflict.own),
        judged=judged,
    )


def _list_lines(lines: tuple[str, ...]) -> str:
    more = [f"- and {len(lines) - _MOST_FILES} more"] if len(lines) > _MOST_FILES else []
    return "\n".join([*(f"- {line}" for line in lines[:_MOST_FILES]), *more]) or "- nothing that is known"


class ConflictResolution:
    def __init__(self, workspaces: ResultMerges, lineage: Lineage, patience: Patience) -> None:
        self._workspaces = workspaces
        self._lineage = lineage
        self._patience = patience

    def concerns(self, launch: Launch) -> bool:
        return launch.kind is LaunchKind.RESOLVE

    async def open(self, launch: Launch) -> Launch | None:
        """Opens the conflict in the workspace and returns the launch of the agent; None if there is no conflict.

        Raises `WeftError` or `OSError`.
        """
        merge = Merge(
            firing=launch.firing, execution=launch.execution, row=launch.row, path=launch.path, resolved=True
        )
        request = self._lineage.merge(merge)
        conflict = await run_sync(self._workspaces.open_conflict, request, _work(launch))
        if not conflict.files:
            return None
        commands = self._lineage.verify_of(launch.row)
        verify = "\n".join(command if isinstance(command, str) else " ".join(command) for command in commands)
        assert launch.task is not None
        text = prompt(launch.task.prompt, conflict, verify)
        return replace(launch, work=replace(launch.task, prompt=text))

    async def close(self, launch: Launch, fact: Ended) -> Ended:
        """Keeps the work of the agent, whatever its outcome. Without a valid resolution the step has failed.

        Raises the `OSError` of a lasting shortage.
        """
        failed = "" if fact.how is StepOutcome.DONE else fact.message or f"it was {fact.how}"
        # An agent that says it is done may have left conflict marks; then the workspace decides, and the step
        # has failed.
        how = StepOutcome.FAILED if fact.how is StepOutcome.DONE else fact.how
        try:
            close = partial(self._workspaces.close_conflict, _work(launch), failed=failed)
            closed = await self._patience.do(close)
        except (WeftError, OSError) as error:
            raise_shortage(error)
            return replace(with_error(fact, "its work could not be kept", error), how=how)
        if not closed.message:
            return replace(fact, moves=closed.moves)
        return replace(fact, how=how, message=closed.message, moves=closed.moves)


def _work(launch: Launch) -> StepWork:
    path = launch.path
    return StepWork(
        path=path, step=launch.step, attempt=launch.attempt, subject=f"{path}: resolve a conflict"
    )


def verify_failed(fact: Ended, order: Merge, place: str) -> Ended:
    """Returns the end of a merge with a failed verify. After a resolved conflict, it is held for the user."""
    if fact.how not in {StepOutcome.FAILED, StepOutcome.TIMEOUT}:
        return fact
    if order.resolved:
        message = (
            f"`verify` fails on the resolved conflict: {fact.message}; fix it in {place} and commit it there, "
            f"then type: weft merge {order.path}"
        )
        return replace(fact, message=message, how=StepOutcome.HELD)
    message = f"`verify` fails on the merged result, although it passed before: {fact.message}"
    return replace(fact, message=message)
