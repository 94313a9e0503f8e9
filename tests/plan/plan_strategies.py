"""Plans that make sense, as texts: whatever `load_plan` accepts can come out, in small."""

import json
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    rows: int = 5
    """Subplans, at most."""
    depth: int = 3
    steps: int = 4
    """Steps of one pipeline, at most."""
    again: int = 1
    """How often a loop or a retry repeats, at most."""
    loops: int = 2
    """Loops and retries of one pipeline, at most."""
    pipelines: int = 2
    infra: tuple[int, ...] = (0,)


SMALL = Sizes()
TINY = Sizes(rows=3, depth=2, steps=3, loops=1, pipelines=1)
"""Small enough to visit all states of nearly each plan."""
LARGE = Sizes(rows=12, depth=5, steps=6, again=2, loops=3, infra=(0, 1, 2))

_EXPRESSION = "attempt == 1"
_POOLS = {"port": 2, "disk": 1, "lab": 3}
_FILES = ("src/a/**", "src/b/**", "src/**", "docs/x.md")


def plan_texts(sizes: Sizes = SMALL) -> st.SearchStrategy[str]:
    return plan_data(sizes).map(json.dumps)  # JSON is YAML


def pipeline_texts(sizes: Sizes = SMALL) -> st.SearchStrategy[str]:
    """Plans of a single slice that has steps of its own."""
    return _one_slice(sizes).map(json.dumps)


@st.composite
def plan_data(draw: st.DrawFn, sizes: Sizes = SMALL) -> Data:
    pipelines = draw(_pipelines(sizes))
    plan: Data = {"weft": 1, "plan": "p", **draw(_head(sizes)), **draw(_settings(sizes))}
    plan |= {"pipelines": pipelines} if pipelines else {}
    one_turn = plan.get("policy") == "serial" and draw(st.booleans())
    around = _Around(sizes, list(pipelines), one_turn).within(plan)
    plan["subplans"] = draw(_subplans(around, draw(st.integers(1, sizes.rows)), sizes.depth))
    _add_dependencies(draw, plan["subplans"])
    _shuffle(draw, plan["subplans"])
    return plan


@st.composite
def _one_slice(draw: st.DrawFn, sizes: Sizes) -> Data:
    pipelines = draw(_pipelines(sizes))
    subplan: Data = {"id": "a", "prompt": "do", "steps": draw(_steps(sizes, list(pipelines)))}
    subplan |= draw(st.sampled_from([{}, {"verify": "true"}]))
    plan: Data = {"weft": 1, "plan": "p", **draw(_head(sizes)), "retries": draw(st.integers(0, sizes.again))}
    return {
        **plan,
        "infra_retries": 0,
        "pipelines": {"spare": [_run("x")], **pipelines},
        "subplans": [subplan],
    }


@st.composite
def _head(draw: st.DrawFn, sizes: Sizes) -> Data:
    agents = {
        "coder": {"use": "claude", **draw(_maybe(pool=st.integers(1, 2)))},
        "tester": {"use": "codex", **draw(_maybe(pool=st.just(1)))},
    }
    return {"agents": agents, "pools": _POOLS, "infra_retries": draw(st.sampled_from(sizes.infra))}


def _maybe(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Data]:
    """Each of the keys, or not."""
    return st.fixed_dictionaries({}, optional=values)


# Subplans


@dataclass(frozen=True, slots=True)
class _Around:
    sizes: Sizes
    pipelines: list[str]
    one_turn: bool
    """Whether the whole plan is serial; only then may agents share a directory."""
    isolation: str = "worktree"

    def within(self, data: Data) -> "_Around":
        return replace(self, isolation=data.get("isolation", self.isolation))


def _settings(sizes: Sizes) -> st.SearchStrategy[Data]:
    return _maybe(
        max_parallel=st.integers(1, 3),
        max_concurrency=st.integers(1, 2),
        policy=st.sampled_from(["serial", "parallel"]),
        isolation=st.sampled_from(["none", "dir", "worktree"]),
        merge=_maybe(
            when=st.sampled_from(["milestone", "slice"]), resolve=st.sampled_from(["hold", "agent"])
        ),
        retries=st.integers(0, sizes.again),
        infra_retries=st.sampled_from(sizes.infra),
        overlap=st.sampled_from(["warn", "serialize"]),
        verify=st.just("true"),
        agent=st.sampled_from(["coder", "tester", "claude"]),
    )


@st.composite
def _subplans(draw: st.DrawFn, around: _Around, rows: int, depth: int) -> list[Data]:
    """So many rows, in groups of any size."""
    subplans: list[Data] = []
    while rows:
        inside = draw(st.integers(0, rows - 1)) if depth > 1 else 0
        files = draw(st.lists(st.sampled_from(_FILES), max_size=1))
        subplan: Data = {"id": f"s{len(subplans)}", "files": files, **draw(_few(_settings(around.sizes)))}
        if around.one_turn:
            subplan.pop("policy", None)
        if inside:
            subplan["subplans"] = draw(_subplans(around.within(subplan), inside, depth - 1))
        else:
            _make_slice(draw, subplan, around)
        subplans.append(subplan)
        rows -= 1 + inside
    return subplans


def _few(settings: st.SearchStrategy[Data]) -> st.SearchStrategy[Data]:
    return st.one_of(st.just({}), settings)


def _make_slice(draw: st.DrawFn, subplan: Data, around: _Around) -> None:
    subplan["prompt"] = "do"
    subplan |= draw(_maybe(estimate=st.just({"minutes": 5}), verify=st.just("true")))
    way = draw(st.sampled_from(["direct", "tdd", "pipeline", "steps", "steps"]))
    if around.within(subplan).isolation == "none" and not around.one_turn:
        subplan["steps"] = draw(_steps(around.sizes, [], agents=False))
    elif way == "steps" or (way == "pipeline" and not around.pipelines):
        subplan["steps"] = draw(_steps(around.sizes, around.pipelines))
    else:
        name = draw(st.sampled_from(around.pipelines)) if way == "pipeline" else way
        subplan["pipeline"] = name


def _add_dependencies(draw: st.DrawFn, subplans: list[Data]) -> None:
    """Each on some that come before it and do not contain it, by id or by path: that makes no circle."""
    earlier_paths: list[str] = []

    def walk(rows: list[Data], around: str) -> None:
        for row in rows:
            path = f"{around}/{row['id']}"
            others = [target for target in earlier_paths if not path.startswith(f"{target}/")]
            if others:
                chosen = draw(st.lists(st.sampled_from(others), max_size=2, unique=True))
                row["depends_on"] = [_reference(draw, target, around) for target in chosen]
            earlier_paths.append(path)
            walk(row.get("subplans", []), path)

    walk(subplans, "")


def _reference(draw: st.DrawFn, path: str, around: str) -> str:
    beside, _, id_ = path.rpartition("/")
    return draw(st.sampled_from([id_, path])) if beside == around else path


def _shuffle(draw: st.DrawFn, subplans: list[Data]) -> None:
    """What waits for others may stand before them."""
    subplans[:] = draw(st.permutations(subplans))
    for subplan in subplans:
        _shuffle(draw, subplan.get("subplans", []))


# Pipelines


@st.composite
def _pipelines(draw: st.DrawFn, sizes: Sizes) -> dict[str, list[Data]]:
    """Each may be nested in those after it; none is much longer for it."""
    pipelines: dict[str, list[Data]] = {}
    inner = replace(sizes, steps=max(2, sizes.steps - 2), loops=1, again=1)
    for number in range(draw(st.integers(0, sizes.pipelines))):
        pipelines[f"way{number}"] = draw(_steps(inner, list(pipelines)))
    return pipelines


def _run(id_: str) -> Data:
    return {"id": id_, "run": "true"}


@st.composite
def _steps(draw: st.DrawFn, sizes: Sizes, pipelines: list[str], *, agents: bool = True) -> list[Data]:
    count = draw(st.sampled_from([n for n in range(1, sizes.steps + 1) for _ in range(n)]))  # rather many
    steps: list[Data] = [
        {"id": f"t{number}", **draw(_bodies(pipelines, agents=agents))} for number in range(count)
    ]
    unheard: list[int] = []
    for number, step in enumerate(steps):
        _let_wait(draw, steps, number, unheard)
        if number < len(steps) - 1 and draw(st.sampled_from([True, False, False])):
            step["async"] = True
            unheard.append(number)
    for step in steps:
        step.update(draw(st.one_of(st.just({}), _extras(step))))
    _add_loops(draw, steps, sizes)
    return steps


def _bodies(pipelines: list[str], *, agents: bool) -> st.SearchStrategy[Data]:
    work = st.fixed_dictionaries(
        {"prompt": st.just("work")}, optional={"agent": st.sampled_from(["coder", "tester"])}
    )
    return st.one_of(
        *[work for _ in range(agents)],
        st.fixed_dictionaries({"run": st.just("true")}, optional={"pools": _claims()}),
        st.just({"action": "verify"}),
        st.just({"action": "join"}),
        st.just({"action": "ask", "question": "Well?"}),
        *[st.just({"pipeline": name}) for name in pipelines[-1:] * 2],
    )


def _claims() -> st.SearchStrategy[dict[str, int]]:
    several = st.fixed_dictionaries(
        {}, optional={name: st.integers(1, size) for name, size in _POOLS.items()}
    )
    return several.filter(bool)


def _let_wait(draw: st.DrawFn, steps: list[Data], number: int, unheard: list[int]) -> None:
    """The last step waits for all that nothing has waited for."""
    step, last = steps[number], number == len(steps) - 1
    earlier = list(range(number))
    chosen = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)) if earlier else []
    chosen += [branch for branch in unheard if (last or draw(st.booleans())) and branch not in chosen]
    if step.get("action") == "join" and not chosen:
        chosen = earlier[-1:]
        step["action"] = "join" if chosen else "verify"
    if chosen:
        step["depends_on"] = [steps[branch]["id"] for branch in chosen]
    unheard[:] = [branch for branch in unheard if branch not in chosen]


def _extras(step: Data) -> st.SearchStrategy[Data]:
    rule = st.fixed_dictionaries(
        {"when": st.just(_EXPRESSION), "action": st.sampled_from(["continue", "abort", "fail", "ask"])}
    )
    join = step.get("action") == "join"
    errors = ["fail_fast", "wait_for_all"] if join else ["abort", "continue"]
    return _maybe(
        condition=st.sampled_from(["never", "always", _EXPRESSION]),
        on_result=st.lists(rule, min_size=1, max_size=2),
        on_error=st.sampled_from(errors),
    )


def _add_loops(draw: st.DrawFn, steps: list[Data], sizes: Sizes) -> None:
    """Ways back that cross no async branch, and retries of one step."""
    crossed = _signals(steps)
    regions = [range(first, last + 1) for last in range(len(steps)) for first in range(last)]
    loops = [region for region in regions if _is_loop(steps, region, crossed)]
    alone = [number for number, step in enumerate(steps) if step.get("action") != "join"]
    for _ in range(draw(st.sampled_from(range(sizes.loops + 1)))):
        again = draw(st.integers(1, sizes.again))
        if loops and draw(st.sampled_from([True, True, False])):
            region = draw(st.sampled_from(loops))
            most = draw(st.sampled_from([{}, {"max": again}]))
            steps[region[-1]]["on_fail"] = {"retry_from": steps[region.start]["id"], **most}
        elif alone:
            steps[draw(st.sampled_from(alone))] |= {"on_error": "retry", "max_retries": again}


def _is_loop(steps: list[Data], region: range, crossed: list[tuple[int, int]]) -> bool:
    ends = (steps[region.start], steps[region[-1]])
    inside = all((earlier in region) == (later in region) for earlier, later in crossed)
    return inside and not any(step.get("async") for step in ends)


def _signals(steps: list[Data]) -> list[tuple[int, int]]:
    """Pairs of an async step and one that waits for it, when the steps before need not have done so."""
    numbers = {step["id"]: number for number, step in enumerate(steps)}
    ended: list[set[int]] = []
    passed: set[int] = set()
    signals: list[tuple[int, int]] = []
    for number, step in enumerate(steps):
        waits = {numbers[id_] for id_ in step.get("depends_on", ())}
        signals += [(branch, number) for branch in waits - passed]
        ended.append(passed.union(waits, *(ended[branch] for branch in waits)))
        if not step.get("async"):
            passed = ended[number] | {number}
    return signals
