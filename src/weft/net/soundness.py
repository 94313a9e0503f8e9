"""Soundness of workflow nets, decided without visiting their states where that is possible.

A workflow net is *sound* if from every marking that can be reached from one token in its source it can still
end with one token in its sink (option to complete), nothing is left over when the sink gets its token (proper
completion), and every transition can fire in some run. By van der Aalst's theorem this is so if and only if
the *closed* net, with a transition from the sink back to the source, is live and bounded.

For free-choice nets that is decided by the **rank theorem** of Desel and Esparza (*Free Choice Petri Nets*,
1995): a closed net has a marking in which it is live and bounded if and only if it has a positive
P-invariant, a positive T-invariant, and a rank (that of its incidence matrix) one less than its number of
clusters; and one token in the source is such a marking if and only if every siphon is marked. All four are
checked in exact integers. A plan of 38,000 transitions has more markings than can be written down, and the
proof takes about a second.

The theorem alone never leads to "refuted": that needs a trace with a replay that ends badly. The replay is stuck,
marks the sink too early, or has emptied a siphon that contains the sink. `weft.net.runs` looks for such a run;
if it finds none, a search through the states does.
"""

from collections.abc import Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from weft.net.flows import place_side, positive_flow, transition_side
from weft.net.invariants import leaking_transition, unbalanced_place
from weft.net.linear import incidence, rank
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet
from weft.net.runs import suspicious_runs
from weft.net.structure import (
    Circuit,
    NotAWorkflowNet,
    WorkflowNet,
    close,
    free_choice,
    unmarked_siphon,
    workflow_net,
)
from weft.net.verdict import Answer, Verdict

MAX_STATES = 200_000
MAX_CELLS = 4_000_000
"""Places times transitions up to which states are searched: each transition is tried on each state, and both are
as long as there are places; a net beyond this has too many states anyway."""


class Soundness(Struct, frozen=True, kw_only=True):
    """The verdict on a net, with the properties on which it is based."""

    free_choice: bool
    workflow_net: bool
    verdict: Verdict


def soundness(net: PlainNet, *, max_states: int = MAX_STATES) -> Soundness:
    """Decides whether the workflow net can always end, ends without leftovers, and has no dead transitions.

    A net without any token starts with one in its source. Up to `max_states` markings are visited if the rank
    theorem does not apply, or if it denies soundness and no run was found that shows why.
    """
    choice = free_choice(net)
    shape = _find_shape(net)
    if isinstance(shape, NotAWorkflowNet):
        verdict = Verdict(answer=Answer.UNKNOWN, why=shape.why)
        return Soundness(free_choice=choice.holds, workflow_net=False, verdict=verdict)
    start = tuple(int(place == shape.source) for place in range(len(net.place_ids)))
    # Files often omit the initial marking of a workflow net.
    if not any(net.initial):
        net = replace(net, initial=start)
    if not choice.holds:
        verdict = _by_states(net, shape, max_states, f"not free-choice, since {choice.why}")
    elif net.initial != start:
        verdict = _by_states(
            net, shape, max_states, "the net does not start with just one token in its source"
        )
    else:
        verdict = _by_rank_theorem(net, shape, max_states)
    return Soundness(free_choice=choice.holds, workflow_net=True, verdict=verdict)


def _find_shape(net: PlainNet) -> WorkflowNet | NotAWorkflowNet:
    pools = [place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL]
    if pools:
        why = (
            f"a net with pools is not a workflow net ({_list_places(net, pools)}): "
            "strip them with skeleton(), and check their conservation apart"
        )
        return NotAWorkflowNet(why=why)
    return workflow_net(net)


def _by_states(net: PlainNet, shape: WorkflowNet, max_states: int, reason: str) -> Verdict:
    verdict = _search_states(net, shape, max_states)
    return structs.replace(verdict, why=f"{reason}; {verdict.why}")


def _search_states(net: PlainNet, shape: WorkflowNet, max_states: int) -> Verdict:
    # A search in such a net would not get far in reasonable time.
    if len(net.place_ids) * len(net.transition_ids) > MAX_CELLS:
        return Verdict(answer=Answer.UNKNOWN, why="the net is too large for a search through its states")
    from weft.net.behaviour import sound_by_states  # noqa: PLC0415 - a search is rare, and its imports are many

    return sound_by_states(net, final=shape.sink, max_states=max_states)


def _by_rank_theorem(net: PlainNet, shape: WorkflowNet, max_states: int) -> Verdict:
    circuit = close(net, shape)
    theorem = _rank_theorem(circuit)
    if theorem.answer is Answer.PROVED:
        return theorem
    attempts = 0
    for run in suspicious_runs(circuit):
        fault = _find_fault(net, shape.sink, run)
        if fault is not None:
            trace = tuple(net.transition_ids[number] for number in run)
            return Verdict(answer=Answer.REFUTED, why=fault, trace=trace)
        attempts += 1
    search_verdict = _search_states(net, shape, max_states)
    if search_verdict.answer is not Answer.UNKNOWN:
        return search_verdict
    why = f"{theorem.why}, but none of {attempts} runs ended badly; {search_verdict.why}"
    return Verdict(answer=Answer.UNKNOWN, why=why)


def _rank_theorem(circuit: Circuit) -> Verdict:
    """Returns proved, with the figures; or unknown, with the condition that fails."""
    net = circuit.net
    failed = _missing_invariant(circuit)
    rank_found, expected = 0, len(circuit.clusters) - 1
    # The rank costs most, so it is computed only if the invariants exist.
    if failed is None:
        rank_found = rank(incidence(net))
        siphon = unmarked_siphon(net, net.initial, circuit.wires)
        if rank_found != expected:
            failed = f"its rank is {rank_found:,}, not {expected:,} (clusters less one)"
        elif siphon:
            failed = f"the siphon of {_list_places(net, siphon)} has no token and never gets one"
    if failed is not None:
        return Verdict(answer=Answer.UNKNOWN, why=f"the rank theorem does not prove it, since {failed}")
    return Verdict(
        answer=Answer.PROVED,
        why=(
            f"rank theorem: the net is free-choice; rank {rank_found:,} = clusters {expected + 1:,} "
            "\N{MINUS SIGN} 1; positive P- and T-invariants checked; every siphon is marked"
        ),
    )


def _missing_invariant(circuit: Circuit) -> str | None:
    # The flows are computed by a method that is right only for well-formed nets, so each vector is checked: the
    # proof rests on the check alone.
    counts = positive_flow(transition_side(circuit))
    if counts is None or min(counts) < 1 or unbalanced_place(circuit.net, counts):
        return "no positive T-invariant was found"
    weights = positive_flow(place_side(circuit))
    if weights is None or min(weights) < 1 or leaking_transition(circuit.net, weights):
        return "no positive P-invariant was found"
    return None


def _find_fault(net: PlainNet, sink: int, run: Sequence[int]) -> str | None:
    """Replays the run from the initial marking and describes the fault at its end; None if there is none."""
    tokens = list(net.initial)
    for number in run:
        for place, weight in net.inputs[number]:
            if tokens[place] < weight:
                return None  # the run cannot be replayed, so it proves nothing
            tokens[place] -= weight
        for place, weight in net.outputs[number]:
            tokens[place] += weight
    leftover = [place for place, count in enumerate(tokens) if count and place != sink]
    after = "after 1 firing" if len(run) == 1 else f"after {len(run):,} firings"
    end = f"the sink {net.place_ids[sink]!r}"
    if leftover and tokens[sink]:
        return f"{after} {end} has its token, but tokens are left in {_list_places(net, leftover)}"
    stuck = not any(all(tokens[p] >= w for p, w in arcs) for arcs in net.inputs)
    if leftover and stuck:
        return f"{after} nothing can fire, but tokens are left in {_list_places(net, leftover)}"
    if sink in unmarked_siphon(net, tokens):
        return f"{after} {end} can never get a token: the siphon it belongs to is empty"
    return None


def _list_places(net: PlainNet, places: Sequence[int], most: int = 3) -> str:
    names = ", ".join(repr(net.place_ids[place]) for place in places[:most])
    return names if len(places) <= most else f"{names} and {len(places) - most:,} more"
