"""Explains what is wrong with a shape that is not sound, in terms of the plan."""

from weft.ids import TransitionId
from weft.net.behaviour import sound_by_states
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet
from weft.net.trace import fire, replay
from weft.net.verdict import Answer, Verdict
from weft.plan.compile.parts import Shape
from weft.plan.proof.words import in_words

MOST_STATES = 2_000
"""The most states that are searched for a shorter trace."""


def explain_refutation(
    net: PlainNet, shape: Shape, path: str, verdict: Verdict
) -> tuple[str, tuple[str, ...]]:
    """Returns why the verdict is not a proof, and the shortest run that shows it; `net` is the skeleton."""
    if verdict.answer is Answer.REFUTED:
        # A structural refutation may have a long trace, or none.
        verdict = _shortest(net, verdict)
    why = f"{path} {_fault(net, verdict.trace)}" if verdict.trace else f"{path}: {verdict.why}"
    return why, tuple(in_words(shape, path, verdict.trace))


def _shortest(net: PlainNet, verdict: Verdict) -> Verdict:
    """Returns the verdict with a shortest trace, if a short search finds one."""
    searched = sound_by_states(net, final=_end(net), max_states=MOST_STATES)
    return searched if searched.answer is Answer.REFUTED and searched.trace else verdict


def _fault(net: PlainNet, trace: tuple[TransitionId, ...]) -> str:
    tokens = replay(net, trace)
    # The order of these questions is that of their meaning for a reader, from the clearest fault to the vaguest.
    if tokens[_end(net)] > 1:
        return "can end twice"
    if tokens[_end(net)]:
        return "can end while a part of it still runs"
    if any(fire(net, tokens, number) for number in range(len(net.transition_ids))):
        return "can reach a state from which it cannot end"
    return "can get stuck: nothing more can happen in it, and it has not ended"


def _end(net: PlainNet) -> int:
    return net.place_kinds.index(PlaceKind.END)
