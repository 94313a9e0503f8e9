"""Agent steps that should have changed files and did not.

This is not a failure, but the events and the feedback for the next attempt mention it. An attempt may take several
executions, for example after a usage limit. It has changed files if any of them has. If that is unknown for one
execution and no other changed files, it is unknown for the attempt.
"""

from weft.engine.messages.facts import Ended
from weft.engine.state.slice_state import StepFiring, SubplanState


def note(firing: StepFiring, fact: Ended) -> None:
    """Records whether an execution that has ended changed files."""
    if firing.step and firing.task is not None and firing.task.is_to_change:
        attempt, before = firing.subplan.changes.get(firing.step, (0, False))
        executions = (fact.changed, before if attempt == firing.attempt else False)
        changed = True if True in executions else None if None in executions else False
        firing.subplan.changes[firing.step] = (firing.attempt, changed)


def changed(firing: StepFiring) -> bool | None:
    """Returns whether the attempt has changed files so far; None if unknown, or if it need not change any."""
    attempt, changed = firing.subplan.changes.get(firing.step, (0, None))
    return changed if attempt == firing.attempt else None


def take_unchanged(subplan: SubplanState) -> tuple[str, ...]:
    """Removes and returns the successful steps that changed nothing. Failed steps are reported as failures."""
    idle = [address for address, (_, changed) in subplan.changes.items() if changed is False]
    reported = tuple(
        address
        for address in idle
        if address in subplan.outputs and subplan.outputs[address].status == "done"
    )
    for address in reported:
        del subplan.changes[address]
    return reported
