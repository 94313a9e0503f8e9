"""Agents that were to change files, and did not: that is no failure, but people and the next attempt are told.

An attempt may take several executions, as after a usage limit. It has changed files if one of them has; if it is
not known of one, it is not known of the attempt.
"""

from weft.engine.messages.facts import Ended
from weft.engine.state.slice_state import StepFiring, SubplanState


def note(firing: StepFiring, fact: Ended) -> None:
    """An execution has ended."""
    if firing.step and firing.launch is not None and firing.launch.is_to_change:
        attempt, before = firing.play.changes.get(firing.step, (0, False))
        known = (fact.changed, before if attempt == firing.attempt else False)
        changed = True if True in known else None if None in known else False
        firing.play.changes[firing.step] = (firing.attempt, changed)


def changed(firing: StepFiring) -> bool | None:
    """Whether the attempt has changed files so far; None: that is not known, or it was not to."""
    attempt, changed = firing.play.changes.get(firing.step, (0, None))
    return changed if attempt == firing.attempt else None


def taken(play: SubplanState) -> tuple[str, ...]:
    """The steps that were done without a change, each told once; those that failed have said so themselves."""
    idle = [address for address, (_, changed) in play.changes.items() if changed is False]
    told = tuple(
        address for address in idle if address in play.outputs and play.outputs[address].status == "done"
    )
    for address in told:
        del play.changes[address]
    return told
