"""Soundness by the rank theorem, against a search through all states that shares no code with it."""

from collections import Counter, defaultdict
from random import Random

import pytest
from msgspec.structs import replace

from weft.net.flows import place_side, positive_flow, topological, transition_side
from weft.net.invariants import leaking_transition, unbalanced_place
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet
from weft.net.runs import suspicious_runs
from weft.net.soundness import _find_fault, soundness
from weft.net.structure import WorkflowNet, acyclic, close, free_choice, workflow_net
from weft.net.trace import fire, replay
from weft.net.verdict import Answer
from weft.testing.skeletons import NetSketch, mutate_net, plan_skeleton, refined_workflow


def sketched(*rows: tuple[str, str], **tokens: int) -> PlainNet:
    """A net of transitions t0, t1, …, each given by its input and output places."""
    sketch = NetSketch()
    for number, (inputs, outputs) in enumerate(rows):
        sketch.add(f"t{number}", inputs.split(), outputs.split())
    return sketch.net(**tokens)


def with_output(net: PlainNet, transition: str, place: str) -> PlainNet:
    """The net with this transition led to this place alone."""
    number = net.transition_ids.index(transition)
    target = ((net.place_ids.index(place), 1),)
    return replace(net, outputs=(*net.outputs[:number], target, *net.outputs[number + 1 :]))


class States:
    """All markings of a small net; `complete` is False if there are too many."""

    def __init__(self, net: PlainNet, sink: int, limit: int = 1_000) -> None:
        self.goal = tuple(int(place == sink) for place in range(len(net.place_ids)))
        self.sink = sink
        self.before: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
        self.fired: set[int] = set()
        self.all = {net.initial}
        self.dead: set[tuple[int, ...]] = set()
        walk = [net.initial]
        for tokens in walk:
            if len(walk) > limit:
                break
            enabled = [
                (t, after)
                for t in range(len(net.transition_ids))
                if (after := fire(net, tokens, t)) is not None
            ]
            if not enabled:
                self.dead.add(tokens)
            for transition, after in enabled:
                self.fired.add(transition)
                self.before[after].append(tokens)
                if after not in self.all:
                    self.all.add(after)
                    walk.append(after)
        self.complete = len(walk) <= limit
        self.all_fire = len(self.fired) == len(net.transition_ids)

    def improper(self, tokens: tuple[int, ...]) -> bool:
        return tokens[self.sink] > 0 and tokens != self.goal

    def can_end(self) -> set[tuple[int, ...]]:
        ending = {self.goal} & self.all
        walk = list(ending)
        for tokens in walk:
            for earlier in self.before[tokens]:
                if earlier not in ending:
                    ending.add(earlier)
                    walk.append(earlier)
        return ending

    def sound(self) -> bool | None:
        if any(map(self.improper, self.all)) or self.dead - {self.goal}:
            return False
        if not self.complete:
            return None
        return self.can_end() == self.all and self.all_fire

    def bad(self, tokens: tuple[int, ...]) -> bool:
        return self.improper(tokens) or tokens not in self.can_end()


def random_clusters(rng: Random, *, loops: bool) -> PlainNet:
    """A free-choice net in which anything may lead anywhere (without loops: anywhere later)."""
    sketch = NetSketch()
    places = ["source", *(f"p{n}" for n in range(rng.randint(2, 7)))]
    at = 0
    while at < len(places):
        size = rng.choice([1, 1, 1, 2]) if at else 1
        inputs = places[at : at + size]
        at += size
        targets = [*(places[1:] if loops else places[at:]), "sink"]
        for _ in range(rng.choice([1, 1, 2])):
            outputs = rng.sample(targets, min(len(targets), rng.choice([1, 1, 2])))
            sketch.add(f"t{len(sketch.transitions)}", inputs, outputs)
    return sketch.net()


def random_workflows(seed: int, count: int) -> list[tuple[PlainNet, WorkflowNet]]:
    """Workflow nets, sound and unsound, with and without cycles, some of them not free-choice."""
    rng = Random(seed)
    workflows: list[tuple[PlainNet, WorkflowNet]] = []
    while len(workflows) < count:
        kind = rng.randrange(5)
        if kind == 0:
            net = refined_workflow(rng, rng.randint(0, 12))
        elif kind < 4:
            net = mutate_net(refined_workflow(rng, rng.randint(1, 9), loops=kind > 1), rng, rng.randint(1, 3))
        else:
            net = random_clusters(rng, loops=rng.random() < 0.5)
        shape = workflow_net(net)
        if isinstance(shape, WorkflowNet):
            start = tuple(int(place == shape.source) for place in range(len(net.place_ids)))
            workflows.append((replace(net, initial=start), shape))
    return workflows


# Against the states


@pytest.mark.parametrize("seed", [101, 102, 103, 104])
def test_verdicts_agree_with_the_states_of_random_workflow_nets(seed: int) -> None:
    counts: Counter[tuple[bool, bool, bool | None]] = Counter()
    for net, shape in random_workflows(seed, 750):
        states = States(net, shape.sink)
        expected = states.sound()
        result = soundness(net, max_states=3_000)
        verdict = result.verdict
        assert result.workflow_net
        assert result.free_choice == free_choice(net).holds
        counts[result.free_choice, acyclic(net), expected] += 1
        if expected is not None:
            assert verdict.answer is (Answer.PROVED if expected else Answer.REFUTED), (seed, net, verdict)
        if verdict.answer is Answer.REFUTED and states.complete:
            tokens = replay(net, verdict.trace)
            # Only a dead transition is shown by its name alone.
            assert states.bad(tokens) or (not verdict.trace and "enabled in none" in verdict.why)
    for without_cycle in (True, False):
        assert counts[True, without_cycle, True] > 50
        assert counts[True, without_cycle, False] > 30
    assert counts[False, True, False] + counts[False, False, False] > 30


def test_for_free_choice_nets_without_cycles_a_trace_is_always_found_without_a_search() -> None:
    refuted = 0
    for net, shape in random_workflows(7, 1_500):
        if not acyclic(net) or not free_choice(net).holds:
            continue
        verdict = soundness(net, max_states=1).verdict
        assert verdict.answer is not Answer.UNKNOWN
        if verdict.answer is Answer.REFUTED:
            refuted += 1
            assert States(net, shape.sink).bad(replay(net, verdict.trace))
    assert refuted > 100


def test_for_free_choice_nets_with_cycles_the_runs_nearly_always_find_a_trace() -> None:
    answers: Counter[Answer] = Counter()
    for net, _ in random_workflows(8, 1_500):
        if not acyclic(net) and free_choice(net).holds:
            answers[soundness(net, max_states=1).verdict.answer] += 1
    assert answers[Answer.REFUTED] > 100
    assert answers[Answer.UNKNOWN] * 50 < answers[Answer.REFUTED]


def test_the_flows_of_a_sound_free_choice_net_are_positive_invariants() -> None:
    for net, shape in random_workflows(9, 600):
        if not free_choice(net).holds or not States(net, shape.sink).sound():
            continue
        circuit = close(net, shape)
        counts, weights = positive_flow(transition_side(circuit)), positive_flow(place_side(circuit))
        assert counts is not None
        assert weights is not None
        assert min(counts) > 0
        assert min(weights) > 0
        assert unbalanced_place(circuit.net, counts) is None
        assert leaking_transition(circuit.net, weights) is None


# One by one


def test_a_proof_names_the_theorem_and_its_figures() -> None:
    result = soundness(sketched(("i", "a b"), ("a", "c"), ("a", "c"), ("c b", "o"), i=1))
    assert result.free_choice
    assert result.workflow_net
    assert result.verdict.answer is Answer.PROVED
    assert result.verdict.why == (
        "rank theorem: the net is free-choice; rank 3 = clusters 4 \N{MINUS SIGN} 1; "
        "positive P- and T-invariants checked; every siphon is marked"
    )


def test_choices_that_must_agree_but_are_free_to_differ_are_refuted_by_a_run_where_they_do() -> None:
    # Every place of a join is marked equally often in the mean; only the rank tells.
    net = sketched(
        ("i", "x y"), ("x", "a"), ("x", "b"), ("y", "c"), ("y", "d"), ("a c", "o"), ("b d", "o"), i=1
    )  # fmt: skip
    verdict = soundness(net, max_states=1).verdict
    assert verdict.answer is Answer.REFUTED
    assert "nothing can fire, but tokens are left in" in verdict.why
    marked_places = {
        net.place_ids[place] for place, tokens in enumerate(replay(net, verdict.trace)) if tokens
    }
    assert marked_places in ({"a", "d"}, {"b", "c"})


def test_a_join_after_a_choice_is_stuck() -> None:
    net = sketched(("i", "a"), ("i", "b"), ("a b", "o"), i=1)
    verdict = soundness(net, max_states=1).verdict
    assert verdict.answer is Answer.REFUTED
    assert verdict.why.startswith("after 1 firing nothing can fire, but tokens are left in ")
    assert verdict.trace in (("t0",), ("t1",))


def test_two_ways_to_the_sink_side_by_side_mark_it_too_early() -> None:
    net = sketched(("i", "a b"), ("a", "o"), ("b", "o"), i=1)
    verdict = soundness(net, max_states=1).verdict
    assert verdict.answer is Answer.REFUTED
    assert "the sink 'o' has its token, but tokens are left in" in verdict.why
    assert replay(net, verdict.trace)[net.place_ids.index("o")] == 1


def test_a_sink_that_gets_two_tokens_at_once_is_refuted() -> None:
    net = replace(sketched(("i", "o"), i=1), outputs=(((1, 2),),))
    verdict = soundness(net).verdict
    assert verdict.answer is Answer.REFUTED
    assert replay(net, verdict.trace) in {(1, 0), (0, 2)}


def test_a_sink_behind_an_empty_siphon_is_refuted_by_the_initial_marking() -> None:
    # Tokens pile up for ever in front of the join, so there is no end to the states either.
    net = sketched(("i", "a"), ("a", "a b"), ("b c", "c o"), i=1)
    verdict = soundness(net, max_states=100).verdict
    assert verdict.answer is Answer.REFUTED
    assert (
        verdict.why == "after 0 firings the sink 'o' can never get a token: the siphon it belongs to is empty"
    )
    assert verdict.trace == ()


def test_a_source_that_needs_company_is_stuck_from_the_start() -> None:
    verdict = soundness(sketched(("i a", "b"), ("b", "a o"), i=1)).verdict
    assert verdict.answer is Answer.REFUTED
    assert verdict.trace == ()
    assert verdict.why == "after 0 firings nothing can fire, but tokens are left in 'i'"


def test_tokens_that_double_at_every_step_do_not_make_the_refutation_long() -> None:
    rows = [("i", "d0")]
    for n in range(60):
        rows += [(f"d{n}", f"x{n} y{n}"), (f"x{n}", f"d{n + 1}"), (f"y{n}", f"d{n + 1}")]
    verdict = soundness(sketched(*rows, ("d60", "o"), i=1)).verdict
    assert verdict.answer is Answer.REFUTED
    assert len(verdict.trace) < 200


def test_a_net_without_tokens_starts_with_one_in_its_source() -> None:
    assert soundness(sketched(("i", "o"))).verdict.answer is Answer.PROVED


def test_a_single_place_is_sound() -> None:
    sketch = NetSketch()
    sketch.places["only"] = 0
    assert soundness(sketch.net()).verdict.answer is Answer.PROVED


def test_another_initial_marking_is_judged_by_its_states() -> None:
    verdict = soundness(sketched(("i", "a"), ("a", "o"), a=1)).verdict
    assert verdict.answer is Answer.REFUTED
    assert verdict.trace == ()
    assert verdict.why.startswith("the net does not start with just one token in its source; ")
    assert "'t0'" in verdict.why


def test_a_net_that_is_not_free_choice_is_judged_by_its_states() -> None:
    sound = sketched(("i", "a b"), ("a", "c"), ("b", "d"), ("c d", "o"), ("c b", "o"), i=1)
    result = soundness(sound)
    assert not result.free_choice
    assert result.verdict.answer is Answer.PROVED
    assert result.verdict.why.startswith("not free-choice, since transitions 't")


def test_what_is_no_workflow_net_is_unknown_and_says_what_is_missing() -> None:
    result = soundness(sketched(("i", "o"), ("j", "o")))
    assert result.free_choice
    assert not result.workflow_net
    assert result.verdict.answer is Answer.UNKNOWN
    assert "exactly one place that is a source" in result.verdict.why


def test_pools_have_to_be_stripped_first() -> None:
    net = sketched(("i s", "a"), ("a", "s o"), i=1, s=1)
    pooled = replace(
        net, place_kinds=tuple(PlaceKind.POOL if p == "s" else PlaceKind.CONTROL for p in net.place_ids)
    )
    result = soundness(pooled)
    assert not result.workflow_net
    assert result.verdict.answer is Answer.UNKNOWN
    assert "strip them with skeleton()" in result.verdict.why
    assert soundness(pooled.skeleton()).verdict.answer is Answer.PROVED


def test_the_closing_transition_gets_a_name_that_is_free() -> None:
    sketch = NetSketch()
    sketch.add("closing", ["i"], ["closing*"])
    sketch.add("t", ["closing*"], ["o"])
    assert soundness(sketch.net()).verdict.answer is Answer.PROVED


# Cycles


def test_a_loop_with_many_ways_back_is_sound() -> None:
    rows = [row for n in range(40) for row in ((f"p{n}", f"p{n + 1}"), (f"p{n}", "p0"), (f"p{n}", "p0"))]
    assert soundness(sketched(("i", "p0"), *rows, ("p40", "o"), i=1)).verdict.answer is Answer.PROVED


def test_what_no_run_and_no_search_can_decide_is_unknown_and_says_what_failed() -> None:
    # Two branches give up (to b and d) or, after 20 choices, get through (to a and c); the end needs them
    # to agree. Runs by chance give up on both, and runs that seek the new get through on both.
    rows = [("i", "x0 y0"), ("a c", "e"), ("b d", "e"), ("e", "l"), ("l", "e"), ("e", "o")]
    for n in range(20):
        rows += [(f"x{n}", f"x{n + 1}"), (f"x{n}", "b"), (f"y{n}", f"y{n + 1}"), (f"y{n}", "d")]
    net = sketched(*rows, ("x20", "a"), ("y20", "c"), i=1)
    verdict = soundness(net, max_states=1).verdict
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.why == (
        "the rank theorem does not prove it, since its rank is 48, not 47 (clusters less one), "
        "but none of 25 runs ended badly; unknown after 1 states"
    )
    assert soundness(net).verdict.answer is Answer.REFUTED


def test_a_large_net_that_is_not_free_choice_is_unknown_and_not_searched() -> None:
    rows = [("i", "a0 b0"), *((f"a{n}", f"a{n + 1}") for n in range(2_500)), ("a2500 b0", "o"), ("b0", "o")]
    verdict = soundness(sketched(*rows, i=1)).verdict
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.why.endswith("the net is too large for a search through its states")


def test_a_loop_that_gains_is_refuted() -> None:
    net = sketched(("i", "a"), ("a", "b c"), ("b", "a"), ("c", "d"), ("d", "o"), i=1)
    verdict = soundness(net, max_states=1).verdict
    assert verdict.answer is Answer.REFUTED


def test_loops_side_by_side_that_meet_are_sound() -> None:
    net = sketched(
        ("i", "a b"), ("a", "c"), ("c", "a"), ("b", "d"), ("d", "b"), ("c d", "e"), ("e", "a b"), ("e", "o"),
        i=1,
    )  # fmt: skip
    result = soundness(net)
    assert not result.free_choice  # c may go back or meet d
    free = sketched(
        ("i", "a b"), ("a", "c"), ("c", "a"), ("c", "f"), ("b", "d"), ("d", "b"), ("d", "g"), ("f g", "e"),
        ("e", "a b"), ("e", "o"), i=1,
    )  # fmt: skip
    assert soundness(free).free_choice
    assert soundness(free).verdict.answer is Answer.PROVED


# Plans


@pytest.fixture(scope="module")
def plan() -> PlainNet:
    net = plan_skeleton(300, Random(5))
    assert len(net.transition_ids) > 300 * 38
    return net


def test_the_skeleton_of_a_plan_is_sound(plan: PlainNet) -> None:
    assert acyclic(plan)
    assert soundness(plan).verdict.answer is Answer.PROVED


def test_the_skeleton_of_a_plan_with_loops_instead_of_attempts_is_sound(plan: PlainNet) -> None:
    looping = plan
    for n in range(0, 300, 30):
        looping = with_output(looping, f"{n}.giveup.1.2", f"{n}.ready.1.0")
    assert not acyclic(looping)
    assert soundness(looping).verdict.answer is Answer.PROVED


@pytest.mark.parametrize("target", ["20.closed", "21.end", "7.ready.2.0", "sink"])
def test_one_wrong_arc_in_a_large_plan_is_refuted_by_a_run_that_uses_it(plan: PlainNet, target: str) -> None:
    net = with_output(plan, "20.giveup.1.2", target)
    shape = workflow_net(net)
    assert isinstance(shape, WorkflowNet)
    verdict = soundness(net).verdict
    assert verdict.answer is Answer.REFUTED
    assert "20.giveup.1.2" in verdict.trace


def test_a_chain_of_a_thousand_choices_keeps_the_numbers_small() -> None:
    rows = [row for n in range(1_000) for row in ((f"p{n}", f"p{n + 1}"), (f"p{n}", "o"))]
    net = sketched(*rows, ("p1000", "o"), p0=1)
    shape = workflow_net(net)
    assert isinstance(shape, WorkflowNet)
    circuit = close(net, shape)
    shares = positive_flow(transition_side(circuit))
    assert shares is not None
    assert max(shares) <= 1_001
    assert soundness(net).verdict.answer is Answer.PROVED


def test_the_runs_that_are_tried_can_be_played() -> None:
    for net, shape in random_workflows(12, 100):
        if not free_choice(net).holds:
            continue
        circuit = close(net, shape)
        for run in suspicious_runs(circuit):
            replay(net, [net.transition_ids[number] for number in run])
        assert (topological(transition_side(circuit)) is None) == (topological(place_side(circuit)) is None)


def test_what_cannot_be_played_is_no_evidence() -> None:
    net = refined_workflow(Random(1), 3)
    shape = workflow_net(net)
    assert isinstance(shape, WorkflowNet)
    last = next(number for number, arcs in enumerate(net.outputs) if (shape.sink, 1) in arcs)
    assert _find_fault(net, shape.sink, [last, last]) is None
