"""That plans end is proved for every plan, and refuted, in the plan's words, for nets that are broken."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from plan.plan_strategies import SMALL, plan_texts
from plan.small_plans import compiled
from weft.ids import OutcomeName
from weft.net.model import PlaceKind
from weft.net.plain import unfold
from weft.net.soundness import soundness
from weft.net.trace import fire, replay
from weft.net.verdict import Answer
from weft.plan.compile.actions import ActionKind
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.parts import END, MERGE, READY, SLOT, TURN, Act, Role, Shape, ShapeBuilder
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan
from weft.plan.proof.prove import prove
from weft.plan.proof.words import in_words, pool_in_words

CODE = Act(Role.RUN, ActionKind.AGENT, "code", 1)
AGAIN = Act(Role.RUN, ActionKind.AGENT, "code", 2)


def broken(build: Callable[[ShapeBuilder], None], **pools: int) -> CompiledPlan:
    """A plan of two slices `a` and `b` whose shape is that one."""
    builder = ShapeBuilder({name.replace("_", ":"): size for name, size in pools.items()})
    build(builder)
    plan = compiled({"id": "a"}, {"id": "b"})
    shapes = tuple(
        builder.shape() if shape is plan.shapes[plan.shape_of[1]] else shape for shape in plan.shapes
    )
    return replace(plan, shapes=shapes)


def with_wires(change: Callable[[CompiledPlan], None]) -> CompiledPlan:
    plan = compiled({"id": "g", "subplans": [{"id": "a"}, {"id": "b"}]}, {"id": "c", "depends_on": ["g"]})
    change(plan)
    return plan


# What the compiler makes.


@settings(max_examples=50)
@given(plan_texts(SMALL))
def test_every_plan_is_proved_to_end_and_the_whole_net_agrees(text: str) -> None:
    plan = compile_plan(load_plan(text))
    assert prove(plan).answer is Answer.PROVED
    assert soundness(unfold(plan.net).skeleton()).verdict.answer is Answer.PROVED


def test_a_proof_names_its_theorems_and_figures() -> None:
    proof = prove(compiled({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    assert proof.trace == ()
    assert proof.why == (
        "2 shapes of subplans, each a sound free-choice workflow net (rank theorem); above them an acyclic marked "
        "graph of 6 nodes and 6 places with one source and one sink; sound, safe nets in place of its transitions "
        "keep it sound; all claims on pools come back"
    )


# Shapes that are broken.


def stuck(shape: ShapeBuilder) -> None:
    left, right = shape.place("left", carries=False), shape.place("right", carries=False)
    shape.choice("run code#1", CODE, [READY], [("done", [left, right]), ("failed", [right])])
    shape.move("wait", Act(Role.WAIT, step="test"), [left, right], [END])


def test_a_slice_that_can_get_stuck_is_refuted_with_the_steps_that_lead_there() -> None:
    proof = prove(broken(stuck))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "a can get stuck: nothing more can happen in it, and it has not ended"
    assert proof.trace == ("a: step code starts", "a: step code fails")


def test_the_trace_can_be_played_on_the_net_of_the_slice() -> None:
    plan = broken(stuck)
    shape = plan.shapes[plan.shape_of[1]]
    net = unfold(shape.net).skeleton()
    expected = dict(zip(in_words(shape, "a", net.transition_ids), net.transition_ids, strict=True))
    tokens = replay(net, [expected[sentence] for sentence in prove(plan).trace])
    assert [fire(net, tokens, number) for number in range(len(net.transition_ids))] == [None] * len(expected)
    assert not tokens[net.place_kinds.index(PlaceKind.END)]


def test_the_trace_ends_where_the_end_is_out_of_reach_not_where_nothing_moves_any_more() -> None:
    def hopeless(shape: ShapeBuilder) -> None:
        left, right, later = (shape.place(name, carries=False) for name in ("left", "right", "later"))
        shape.choice("run code#1", CODE, [READY], [("done", [left, right]), ("failed", [right])])
        shape.choice("run code#2", AGAIN, [right], [("done", [later])])
        shape.move("wait", Act(Role.WAIT, step="test"), [left, later], [END])

    proof = prove(broken(hopeless))
    assert proof.why == "a can reach a state from which it cannot end"
    assert proof.trace == ("a: step code starts", "a: step code fails")


def test_a_slice_that_ends_while_a_step_is_under_way_is_refuted() -> None:
    def early(shape: ShapeBuilder) -> None:
        branch = shape.place("branch of it", carries=False)
        shape.choice("run code#1", CODE, [READY], [("done", [END]), ("failed", [END, branch])])
        shape.choice("run code#2", AGAIN, [branch], [("done", [END])])

    proof = prove(broken(early))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "a can end while a part of it still runs"
    assert proof.trace == ("a: step code starts", "a: step code fails")


def test_a_slice_that_ends_twice_is_refuted() -> None:
    def twice(shape: ShapeBuilder) -> None:
        shape.builder.add_transition("stop", ((READY, 1),), (OutcomeName("done"),), (((END, 2),),))
        shape.acts.append(Act(Role.STOP))
        shape.move("close", Act(Role.CLOSE), [READY], [END])

    proof = prove(broken(twice))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "a can end twice"
    assert proof.trace == ("a: it is not started",)


def test_a_slice_that_never_ends_properly_is_refuted_by_a_run_to_the_bad_end() -> None:
    def always(shape: ShapeBuilder) -> None:
        branch = shape.place("branch of it", carries=False)
        shape.move("launch", Act(Role.LAUNCH, step="code"), [READY], [END, branch])
        shape.choice("run code#1", CODE, [branch], [("done", [END])])

    proof = prove(broken(always))
    assert proof.why == "a can end while a part of it still runs"
    assert proof.trace == ("a: step code is launched",)


def test_a_trace_too_far_to_search_for_is_the_one_that_was_found_first() -> None:
    def far(shape: ShapeBuilder) -> None:
        starts = [shape.place(f"start {n}", carries=False) for n in range(12)]
        ends = [shape.place(f"end {n}", carries=False) for n in range(12)]
        joined, left, right = (shape.place(name, carries=False) for name in ("joined", "left", "right"))
        shape.move("launch", Act(Role.LAUNCH, step="s0"), [READY], starts)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            shape.move(f"skip {number}", Act(Role.SKIP, step=f"s{number}"), [start], [end])
        shape.move("wait", Act(Role.WAIT, step="all"), ends, [joined])
        shape.choice("join", Act(Role.RUN, step="all"), [joined], [("done", [left]), ("failed", [right])])
        shape.move("close", Act(Role.CLOSE), [left, right], [END])

    proof = prove(broken(far))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "a can get stuck: nothing more can happen in it, and it has not ended"
    assert len(proof.trace) == 15
    assert proof.trace[0] == "a: step s0 is launched"


def test_a_step_that_can_never_happen_is_refuted_without_a_trace() -> None:
    def dead(shape: ShapeBuilder) -> None:
        left, right = shape.place("left", carries=False), shape.place("right", carries=False)
        for number, place in enumerate((left, right)):
            shape.move(f"enter {number}", Act(Role.ENTER, step="code"), [READY], [place])
            shape.move(f"leave {number}", Act(Role.CLOSE), [place], [END])
        shape.move("both", Act(Role.CLOSE), [left, right], [END])

    proof = prove(broken(dead))
    assert proof.answer is Answer.REFUTED
    assert proof.why.startswith("a: not free-choice, ")
    assert proof.why.endswith("the transition 'both' is enabled in none of the 4 states")
    assert proof.trace == ()


def test_a_shape_that_is_no_workflow_net_is_unknown_never_fine() -> None:
    def adrift(shape: ShapeBuilder) -> None:
        shape.move("close", Act(Role.CLOSE), [READY], [END])
        shape.place("of no use", carries=False)

    proof = prove(broken(adrift))
    assert proof.answer is Answer.UNKNOWN
    assert proof.why.startswith("a: ")


@pytest.mark.parametrize(("inputs", "outputs"), [([READY, READY], [END]), ([READY], [END, END])])
def test_two_arcs_to_one_place_are_unknown_never_fine(inputs: list[int], outputs: list[int]) -> None:
    proof = prove(broken(lambda shape: shape.move("close", Act(Role.CLOSE), inputs, outputs)))
    assert proof.answer is Answer.UNKNOWN
    assert proof.why == "a: 'close' has two arcs to one place, which no theorem here covers"


def test_a_broken_landing_is_reported_by_the_subplan_that_lands() -> None:
    builder = ShapeBuilder({})
    stuck(builder)
    plan = compiled({"id": "a"}, {"id": "b"})
    number = plan.landing_shapes[0]
    shapes = tuple(builder.shape() if n == number else shape for n, shape in enumerate(plan.shapes))
    assert prove(replace(plan, shapes=shapes)).why.startswith("a can get stuck")


# Pools and slots.


def claiming(
    outputs: dict[str, list[int]], *, inputs: int = 1, place: int = MERGE + 1
) -> Callable[[ShapeBuilder], None]:
    """A step that takes from a pool; for each outcome, places it gives to besides the end."""

    def build(shape: ShapeBuilder) -> None:
        outcomes = [(outcome, [END, *places]) for outcome, places in outputs.items()]
        shape.choice("run code#1", CODE, [READY, *[place] * inputs], outcomes)

    return build


def test_a_claim_that_comes_back_with_every_outcome_is_fine() -> None:
    assert prove(broken(claiming({"done": [5], "failed": [5]}), pool_db=1)).answer is Answer.PROVED


@pytest.mark.parametrize(
    ("pool", "place", "expected"),
    [
        ("pool_db", 5, "the pool db"),
        ("agent_coder", 5, "the pool of coder"),
        ("pool_db", TURN, "the turn of its serial group"),
        ("pool_db", MERGE, "the branch it is merged into"),
    ],
)
def test_an_outcome_that_keeps_what_was_taken_is_refuted(pool: str, place: int, expected: str) -> None:
    plan = broken(claiming({"done": [place], "failed": []}, place=place), **{pool: 1})
    proof = prove(plan)
    assert proof.answer is Answer.REFUTED
    assert proof.why == f"a: when step code fails, {expected} does not get back what was taken"


def test_an_outcome_that_gives_back_what_was_not_taken_is_refuted() -> None:
    proof = prove(broken(claiming({"done": [5]}, inputs=0), pool_db=1))
    assert proof.why == "a: when step code is done, the pool db does not get back what was taken"


def test_a_claim_larger_than_the_pool_is_refuted() -> None:
    def build(shape: ShapeBuilder) -> None:
        shape.choice("run code#2", AGAIN, [READY], [("done", [END])], [(shape.pools["pool:db"], 2)])

    assert prove(broken(build, pool_db=2)).answer is Answer.PROVED
    proof = prove(broken(build, pool_db=1))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "a: step code, attempt 2, takes 2 of the pool db, which has 1"


def test_the_size_of_a_pool_is_that_of_the_plan() -> None:
    def build(shape: ShapeBuilder) -> None:
        shape.choice("run code#1", CODE, [READY], [("done", [END])], [(shape.pools["pool:db"], 2)])

    plan = replace(broken(build, pool_db=2), pools={"pool:db": 1})
    assert prove(plan).why == "a: step code takes 2 of the pool db, which has 1"


def test_a_slot_given_back_twice_is_refuted() -> None:
    def build(shape: ShapeBuilder) -> None:
        start, later = shape.place("start", carries=True), shape.place("later", carries=True)
        shape.move("begin", Act(Role.BEGIN), [READY, SLOT], [start])
        shape.move("leave", Act(Role.LEAVE, step="gate"), [start], [later, SLOT])
        shape.move("close", Act(Role.CLOSE), [later], [END, SLOT])

    proof = prove(broken(build))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "a: when step gate is done, the slot of the slice is lost or returned twice"


def test_a_slot_that_is_kept_is_refuted() -> None:
    def build(shape: ShapeBuilder) -> None:
        shape.choice("run code#1", CODE, [READY, SLOT], [("done", [END, SLOT]), ("failed", [END])])

    proof = prove(broken(build))
    assert proof.why == "a: when step code fails, the slot of the slice is lost or returned twice"


# The graph of waiting.


def test_a_cycle_of_waits_is_refuted_and_shown_as_a_chain() -> None:
    def circle(plan: CompiledPlan) -> None:  # rows: g is 1, a is 2, b is 3, c is 4
        plan.wiring.followers[2].append(3)
        plan.wiring.followers[3].append(2)

    proof = prove(with_wires(circle))
    assert proof.answer is Answer.REFUTED
    assert proof.why == "g/a waits for itself, so it never starts"
    assert proof.trace == ("g/a waits for g/b", "g/b waits for g/a")


def test_what_only_waits_behind_a_cycle_is_not_reported_as_part_of_it() -> None:
    def circle(plan: CompiledPlan) -> None:
        plan.wiring.followers[3].append(3)

    proof = prove(with_wires(circle))
    assert proof.why == "g/b waits for itself, so it never starts"
    assert proof.trace == ("g/b waits for g/b",)


def test_a_cycle_through_a_group_names_its_end() -> None:
    def circle(plan: CompiledPlan) -> None:
        plan.wiring.followers[1].append(2)

    proof = prove(with_wires(circle))
    assert proof.why == "the end of g waits for itself, so it never starts"
    assert proof.trace == ("the end of g waits for g/a", "g/a waits for the end of g")


def test_two_ends_are_refuted() -> None:
    def forget(plan: CompiledPlan) -> None:
        plan.wiring.closes[1].remove(3)

    proof = prove(with_wires(forget))
    assert proof.answer is Answer.REFUTED
    assert proof.why == (
        "the plan itself must be its only end; this is what it ends with: the end of the plan, g/b"
    )


def test_a_landing_that_nothing_waits_for_is_an_end_too_many() -> None:
    def forget(plan: CompiledPlan) -> None:
        plan.wiring.closes[0].clear()

    proof = prove(with_wires(forget))
    assert proof.why == (
        "the plan itself must be its only beginning; this is what it begins with: the plan, the end of the plan"
    )


def test_two_beginnings_are_refuted() -> None:
    def forget(plan: CompiledPlan) -> None:
        plan.wiring.opens[1].remove(2)

    proof = prove(with_wires(forget))
    assert (
        proof.why == "the plan itself must be its only beginning; this is what it begins with: the plan, g/a"
    )


def test_of_many_ends_a_few_are_named() -> None:
    plan = compiled(*({"id": f"s{number}"} for number in range(6)))
    plan.wiring.closes[0][:] = plan.wiring.closes[0][:1]
    assert prove(plan).why == (
        "the plan itself must be its only end; this is what it ends with: "
        "the end of the plan, the landing of s1, the landing of s2, the landing of s3 and 2 more"
    )


# Words.


@pytest.mark.parametrize(
    ("act", "fired", "sentence"),
    [
        (CODE, "t.start", "step code starts"),
        (CODE, "t.infra", "step code cannot be started"),
        (AGAIN, "t.failed", "step code, attempt 2, fails"),
        (Act(Role.SKIP, step="code", attempt=1), "t", "step code is skipped"),
        (Act(Role.WAIT, step="code"), "t", "step code has what it waited for"),
        (Act(Role.ENTER, step="code", attempt=1), "t", "step code begins"),
        (Act(Role.SETTLE, step="code", attempt=1), "t.aborted", "step code ends the pipeline"),
        (
            Act(Role.LEAVE, step="gate", attempt=1),
            "t",
            "step gate waits for a person and returns its slot",
        ),
        (Act(Role.RETURN, step="gate", attempt=1), "t", "step gate has its slot again"),
        (Act(Role.STOP, step="code", attempt=1), "t", "step code is not started"),
        (Act(Role.STOP), "t", "it is not started"),
        (Act(Role.BEGIN, ActionKind.WORKSPACE, attempt=1), "t.lost", "its workspace is lost"),
        (Act(Role.MERGE, ActionKind.MERGE, attempt=1), "t.conflict", "its merge meets a conflict"),
        (Act(Role.LAND, ActionKind.LAND, attempt=1), "t.held", "its landing is held"),
        (Act(Role.RUN, ActionKind.VERIFY, attempt=1), "t.cancelled", "its check is cancelled"),
        (Act(Role.DROP), "t", "it is not merged"),
        (Act(Role.CLOSE), "t", "its steps have ended"),
    ],
)
def test_a_firing_is_a_sentence(act: Act, fired: str, sentence: str) -> None:
    builder = ShapeBuilder({})
    outcomes = [(outcome, [END]) for outcome in dict.fromkeys(("done", fired.partition(".")[2] or "failed"))]
    builder.choice("t", act, [READY], outcomes)
    assert list(in_words(builder.shape(), "x/y", [fired])) == [f"x/y: {sentence}"]


def test_every_transition_of_a_real_slice_has_a_sentence() -> None:
    plan = compiled({"id": "a", "pipeline": "outer", "verify": "make"})
    shape: Shape = plan.shapes[plan.shape_of[1]]
    net = unfold(shape.net)
    expected = list(in_words(shape, "a", net.transition_ids))
    assert len(expected) == len(net.transition_ids)
    assert "a: step inner.two, attempt 2, asks a person" not in expected
    assert {"a: step inner.two, attempt 2, fails", "a: step gate is done", "a: step ship is skipped"} <= {
        *expected
    }


@pytest.mark.parametrize(
    ("place", "expected"),
    [("pool:db", "the pool db"), ("agent:coder", "the pool of coder"), ("async steps", "max_concurrency")],
)
def test_a_pool_is_reported_by_its_name_in_the_plan(place: str, expected: str) -> None:
    assert pool_in_words(place) == expected
