"""What some plans compile to, to be read."""
# ruff: noqa: E501 - a transition is a line, however long

from inline_snapshot import snapshot

from plan.compile.compiled_plans import group, leaf, plan, rendered, run, shape_of

ASK = {"action": "ask", "question": "Well?"}


def lines(*steps, **more) -> list[str]:
    """Of the pipeline alone."""
    return rendered(shape_of(*steps, **more).net)


def test_one_slice():
    assert rendered(plan(leaf("a")).net) == snapshot(
        [
            "10 places, 11 transitions",
            "pools: slots 4, branch 1",
            "open: start → a may start",
            "a: stop: a may start → a to land",
            "a: begin: a may start + slots → done: a: started | failed, cancelled, lost, infra: a to land + slots",
            "a: close: a: finished → a: over + slots",
            "a: drop: a: over → a to land",
            "a: merge: a: over + branch → done, conflict, failed, cancelled, lost, infra: a to land",
            "a: stop x#1: a: started → a: finished",
            "a: run x#1: a: started → done, failed, cancelled, lost, infra: a: finished",
            "close: a landed → end",
            "a landing: drop: a to land → a landed",
            "a landing: land: a to land → done, held, conflict, failed, cancelled, lost, infra: a landed",
        ]
    )


def test_two_slices_of_which_one_waits_for_the_other():
    assert rendered(plan(leaf("a"), leaf("b", "a")).net) == snapshot(
        [
            "16 places, 20 transitions",
            "pools: slots 4, branch 1",
            "open: start → a may start",
            "a: stop: a may start → a ended for b + a to land",
            "a: begin: a may start + slots → done: a: started | failed, cancelled, lost, infra: a ended for b + a to land + slots",
            "a: close: a: finished → a: over + slots",
            "a: drop: a: over → a ended for b + a to land",
            "a: merge: a: over + branch → done, conflict, failed, cancelled, lost, infra: a ended for b + a to land",
            "a: stop x#1: a: started → a: finished",
            "a: run x#1: a: started → done, failed, cancelled, lost, infra: a: finished",
            "b: stop: a ended for b → b to land",
            "b: begin: a ended for b + slots → done: b: started | failed, cancelled, lost, infra: b to land + slots",
            "b: close: b: finished → b: over + slots",
            "b: drop: b: over → b to land",
            "b: merge: b: over + branch → done, conflict, failed, cancelled, lost, infra: b to land",
            "b: stop x#1: b: started → b: finished",
            "b: run x#1: b: started → done, failed, cancelled, lost, infra: b: finished",
            "close: a landed + b landed → end",
            "a landing: drop: a to land → a landed",
            "a landing: land: a to land → done, held, conflict, failed, cancelled, lost, infra: a landed",
            "b landing: drop: b to land → b landed",
            "b landing: land: b to land → done, held, conflict, failed, cancelled, lost, infra: b landed",
        ]
    )


def test_the_size_of_one_and_of_two_slices_as_they_are_without_any_settings():
    def size(*ids: str) -> tuple[int, int]:
        subplans = [
            {"id": id_, "prompt": "do", "verify": "true", "depends_on": [*"a"][:n]}
            for n, id_ in enumerate(ids)
        ]
        net = plan(*subplans, infra_retries=2).net
        return len(net.place_ids), len(net.transition_ids)

    assert size("a") == snapshot((34, 57))
    assert size("a", "b") == snapshot((63, 112))


def test_the_pipeline_direct():
    compiled_plan = plan({"id": "a", "prompt": "do", "verify": "true"}, retries=1)
    assert rendered(compiled_plan.shapes[compiled_plan.shape_of[1]].net) == snapshot(
        [
            "12 places, 13 transitions",
            "pools: slot 1, turn 1, branch 1, agent:coder 2",
            "stop: ready → end",
            "begin: ready + slot → done: started | failed, cancelled, lost, infra: end + slot",
            "close: finished → over + slot",
            "drop: over → end",
            "merge: over + branch → done, conflict, failed, cancelled, lost, infra: end",
            "stop work#1: started → check#1",
            "run work#1: started + agent:coder → done, failed, cancelled, lost, infra: check#1 | crashed: work#2",
            "stop work#2: work#2 → check#2",
            "run work#2: work#2 + agent:coder → done, failed, cancelled, lost, infra: check#2",
            "stop check#1: check#1 → finished",
            "run check#1: check#1 → done, cancelled, lost, infra: finished | failed: work#2",
            "stop check#2: check#2 → finished",
            "run check#2: check#2 → done, failed, cancelled, lost, infra: finished",
        ]
    )


def test_the_pipeline_tdd():
    compiled_plan = plan({"id": "a", "prompt": "do", "verify": "true", "pipeline": "tdd"}, retries=1)
    assert rendered(compiled_plan.shapes[compiled_plan.shape_of[1]].net) == snapshot(
        [
            "20 places, 29 transitions",
            "pools: slot 1, turn 1, branch 1, agent:coder 2",
            "stop: ready → end",
            "begin: ready + slot → done: started | failed, cancelled, lost, infra: end + slot",
            "close: finished → over + slot",
            "drop: over → end",
            "merge: over + branch → done, conflict, failed, cancelled, lost, infra: end",
            "stop tests#1: started → code#1",
            "run tests#1: started → done, failed, cancelled, lost, infra: code#1 | crashed: tests#2",
            "stop tests#2: tests#2 → code#1",
            "run tests#2: tests#2 → done, failed, cancelled, lost, infra: code#1",
            "stop code#1: code#1 → check#1",
            "run code#1: code#1 + agent:coder → done, failed, cancelled, lost, infra: check#1 | crashed: code#2",
            "stop code#2: code#2 → check#2",
            "run code#2: code#2 + agent:coder → done, failed, cancelled, lost, infra: check#2",
            "stop code#3: code#3 → check#3",
            "run code#3: code#3 + agent:coder → done, failed, cancelled, lost, infra: check#3 | crashed: code#4",
            "stop code#4: code#4 → check#4",
            "run code#4: code#4 + agent:coder → done, failed, cancelled, lost, infra: check#4",
            "stop check#1: check#1 → judge#1",
            "run check#1: check#1 → done, cancelled, lost, infra: judge#1 | failed: code#2",
            "stop check#2: check#2 → judge#1",
            "run check#2: check#2 → done, failed, cancelled, lost, infra: judge#1",
            "stop check#3: check#3 → judge#2",
            "run check#3: check#3 → done, cancelled, lost, infra: judge#2 | failed: code#4",
            "stop check#4: check#4 → judge#2",
            "run check#4: check#4 → done, failed, cancelled, lost, infra: judge#2",
            "stop judge#1: judge#1 → finished",
            "run judge#1: judge#1 + agent:coder → done, cancelled, lost, infra: finished | failed: code#3 | crashed: judge#2",
            "stop judge#2: judge#2 → finished",
            "run judge#2: judge#2 + agent:coder → done, failed, cancelled, lost, infra: finished",
        ]
    )


def test_async_steps_and_a_join():
    steps = [
        run("b", **{"async": True, "pool": "port"}),
        run("c", **{"async": True, "condition": "attempt == 1"}),
        {"id": "j", "action": "join", "depends_on": ["b", "c"]},
    ]
    assert lines(*steps, max_concurrency=1) == snapshot(
        [
            "16 places, 14 transitions",
            "pools: slot 1, turn 1, branch 1, pool:port 2, async steps 1",
            "stop: ready → end",
            "begin: ready + slot → done: started | failed, cancelled, lost, infra: end + slot",
            "close: finished → over + slot",
            "drop: over → end",
            "merge: over + branch → done, conflict, failed, cancelled, lost, infra: end",
            "launch b#1: started → b#1 launched + c#1 launched + j#1",
            "stop b#1: b#1 launched → b#1 ended for j",
            "run b#1: b#1 launched + pool:port + async steps → done, failed, cancelled, lost, infra: b#1 ended for j",
            "skip c#1: c#1 launched → c#1 ended for j",
            "stop c#1: c#1 launched → c#1 ended for j",
            "run c#1: c#1 launched + async steps → done, failed, cancelled, lost, infra: c#1 ended for j",
            "wait j#1: j#1 + b#1 ended for j + c#1 ended for j → j#1 ready",
            "stop j#1: j#1 ready → finished",
            "join j#1: j#1 ready → done, failed: finished",
        ]
    )


def test_a_question():
    assert lines(run("x"), {"id": "q", **ASK, "on_fail": {"retry_from": "x", "max": 1}}) == snapshot(
        [
            "16 places, 21 transitions",
            "pools: slot 1, turn 1, branch 1",
            "stop: ready → end",
            "begin: ready + slot → done: started | failed, cancelled, lost, infra: end + slot",
            "close: finished → over + slot",
            "drop: over → end",
            "merge: over + branch → done, conflict, failed, cancelled, lost, infra: end",
            "stop x#1: started → q#1",
            "run x#1: started → done, failed, cancelled, lost, infra: q#1",
            "stop x#2: x#2 → q#2",
            "run x#2: x#2 → done, failed, cancelled, lost, infra: q#2",
            "stop q#1: q#1 → finished",
            "leave q#1: q#1 → q#1 waiting + slot",
            "return q#1 done: q#1 done + slot → finished",
            "stop q#1 done: q#1 done → over",
            "return q#1 failed: q#1 failed + slot → x#2",
            "stop q#1 failed: q#1 failed → over",
            "ask q#1: q#1 waiting → done: q#1 done | failed: q#1 failed | cancelled: over",
            "stop q#2: q#2 → finished",
            "leave q#2: q#2 → q#2 waiting + slot",
            "return q#2 done: q#2 done + slot → finished",
            "stop q#2 done: q#2 done → over",
            "ask q#2: q#2 waiting → done, failed: q#2 done | cancelled: over",
        ]
    )


def test_a_pipeline_in_a_pipeline_that_is_tried_twice():
    nested = {"id": "n", "pipeline": "way", "on_error": "retry", "max_retries": 1}
    assert lines(nested, pipelines={"way": [run("x")]}) == snapshot(
        [
            "13 places, 15 transitions",
            "pools: slot 1, turn 1, branch 1",
            "stop: ready → end",
            "begin: ready + slot → done: started | failed, cancelled, lost, infra: end + slot",
            "close: finished → over + slot",
            "drop: over → end",
            "merge: over + branch → done, conflict, failed, cancelled, lost, infra: end",
            "stop n#1: started → finished",
            "enter n#1: started → n#1 entered",
            "stop n#1.x#1: n#1 entered → n#1 ended",
            "run n#1.x#1: n#1 entered → done, failed, cancelled, lost, infra: n#1 ended",
            "settle n#1: n#1 ended → done: finished | failed: n#2",
            "stop n#2: n#2 → finished",
            "enter n#2: n#2 → n#2 entered",
            "stop n#2.x#1: n#2 entered → n#2 ended",
            "run n#2.x#1: n#2 entered → done, failed, cancelled, lost, infra: n#2 ended",
            "settle n#2: n#2 ended → done, failed: finished",
        ]
    )


def test_a_step_that_is_lost_is_started_again():
    assert lines(run("x"), infra_retries=1) == snapshot(
        [
            "11 places, 13 transitions",
            "pools: slot 1, turn 1, branch 1",
            "stop: ready → end",
            "begin: ready + slot → done: started | failed, cancelled: end + slot | lost, infra: begin~1 ready",
            "stop begin~1: begin~1 ready → end + slot",
            "begin~1: begin~1 ready → done: started | failed, cancelled, lost, infra: end + slot",
            "close: finished → over + slot",
            "drop: over → end",
            "merge: over + branch → done, conflict, failed, cancelled: end | lost, infra: merge~1 ready",
            "stop merge~1: merge~1 ready → end",
            "merge~1: merge~1 ready + branch → done, conflict, failed, cancelled, lost, infra: end",
            "stop x#1: started → finished",
            "run x#1: started → done, failed, cancelled: finished | lost, infra: x#1~1",
            "stop x#1~1: x#1~1 → finished",
            "run x#1~1: x#1~1 → done, failed, cancelled, lost, infra: finished",
        ]
    )


def test_nested_groups_that_verify():
    inner = group("h", leaf("a"), verify="true")
    assert rendered(plan(group("g", inner, max_parallel=2), verify="true").net) == snapshot(
        [
            "20 places, 21 transitions",
            "pools: slots 4, slots g 2, branch g/h 1, branch g 1, branch 1",
            "open: start → g may start",
            "open g: g may start → g/h may start",
            "open g/h: g/h may start → g/h/a may start",
            "g/h/a: stop: g/h/a may start → g/h/a ended",
            "g/h/a: begin: g/h/a may start + slots + slots g → done: g/h/a: started | failed, cancelled, lost, infra: g/h/a ended + slots + slots g",
            "g/h/a: close: g/h/a: finished → g/h/a: over + slots + slots g",
            "g/h/a: drop: g/h/a: over → g/h/a ended",
            "g/h/a: merge: g/h/a: over + branch g/h → done, conflict, failed, cancelled, lost, infra: g/h/a ended",
            "g/h/a: stop x#1: g/h/a: started → g/h/a: finished",
            "g/h/a: run x#1: g/h/a: started → done, failed, cancelled, lost, infra: g/h/a: finished",
            "close g/h: g/h/a ended → g/h joined",
            "g/h: stop: g/h joined → g/h: over",
            "g/h: verify: g/h joined → done, failed, cancelled, lost, infra: g/h: over",
            "g/h: drop: g/h: over → g/h ended",
            "g/h: merge: g/h: over + branch g → done, conflict, failed, cancelled, lost, infra: g/h ended",
            "close g: g/h ended → g joined",
            "g: drop: g joined → g to land",
            "g: merge: g joined + branch → done, conflict, failed, cancelled, lost, infra: g to land",
            "close: g landed → end",
            "g landing: drop: g to land → g landed",
            "g landing: land: g to land → done, held, conflict, failed, cancelled, lost, infra: g landed",
        ]
    )


def test_without_isolation_nothing_is_merged():
    assert rendered(plan(leaf("a"), isolation="none", policy="serial").net) == snapshot(
        [
            "8 places, 7 transitions",
            "pools: slots 4, turn 1",
            "open: start → a may start",
            "a: stop: a may start → a ended",
            "a: begin: a may start + slots → a: started",
            "a: close: a: finished → a ended + slots",
            "a: stop x#1: a: started → a: finished",
            "a: run x#1: a: started + turn → done, failed, cancelled, lost, infra: a: finished",
            "close: a ended → end",
        ]
    )
