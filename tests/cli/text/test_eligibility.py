"""What is said of what can start: exact texts, and few lines however large the plan is."""

from inline_snapshot import snapshot

from app.pasts import a_group, a_plan, a_slice
from weft.app.check.eligibility_rules import Facts, UnlandedResult, judge
from weft.cli.terminal import wrap_lines
from weft.cli.text.eligibility import eligibility_lines
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan

PLAN = compile_plan(
    a_plan(
        a_group("store", a_slice("model"), a_slice("disk", "model")),
        a_slice("cli", "store"),
        a_slice("docs"),
        a_slice("site", "cli", "docs"),
    )
)
STORE = UnlandedResult(path="store", branch="weft/tried/store", command="weft merge store", is_group=True)


def lines(plan: CompiledPlan, *, verbose: bool = False, **facts: object) -> list[str]:
    verdict = judge(plan, Facts(**facts))  # type: ignore[arg-type]
    return list(wrap_lines(eligibility_lines(verdict, verbose=verbose), None))


def test_before_anything_is_run() -> None:
    assert lines(PLAN) == snapshot(
        [
            "Start     2 slices can start right away, with nothing they depend on: store/model, docs.",
            "Blocked   3 slices wait:",
            "            store/disk  blocked by store/model",
            "            cli         blocked by store",
            "            site        blocked by cli, docs",
        ]
    )


def test_some_of_each_kind() -> None:
    done = {"store/model": "r1", "store/disk": "r2", "store": "r2", "docs": "r2"}
    docs = UnlandedResult(path="docs", branch="weft/tried/docs")
    assert lines(PLAN, done=done, unlanded={"store": STORE, "docs": docs}) == snapshot(
        [
            "Start     1 slice can start right away, as all it depends on is complete:",
            "            cli  store",
            "Unmerged  2 results have not landed:",
            "            store (2 slices)  weft/tried/store  weft merge store",
            "            docs              weft/tried/docs   waits for the next run",
            "Blocked   1 slice waits:",
            "            site  blocked by cli",
        ]
    )


def test_what_is_complete_is_reported_by_run() -> None:
    done = {"store/model": "r1", "store/disk": "r2", "docs": "r2"}
    assert lines(PLAN, done=done) == snapshot(
        [
            "Start     No slice can start right away.",
            "Done      1 slice is already complete, by run r1: store/model.",
            "          2 slices are already complete, by run r2: store/disk, docs.",
            "Blocked   2 slices wait:",
            "            cli   blocked by store",
            "            site  blocked by cli",
        ]
    )


def test_when_all_is_complete_nothing_is_left() -> None:
    plan = compile_plan(a_plan(a_slice("a")))
    assert lines(plan, done={"a": "r1"}) == [
        "Start     Nothing is left to start.",
        "Done      1 slice is already complete, by run r1: a.",
    ]


def test_what_is_held_before_the_merge() -> None:
    held = UnlandedResult(path="docs", branch="weft/tried/docs", command="weft merge docs", is_done=False)
    assert lines(PLAN, unlanded={"docs": held})[1:3] == [
        "Unmerged  1 result is held before the merge:",
        "            docs  weft/tried/docs  weft merge docs",
    ]


def test_what_cannot_be_read() -> None:
    assert lines(PLAN, unread={"": "the journal: it is torn"}) == snapshot(
        [
            "Start     No slice can start right away.",
            "Unread    Whether store/model, store/disk, cli, docs … and 1 more can start is not known: cannot",
            "            read: the journal: it is torn",
        ]
    )


def test_a_large_plan_takes_as_few_lines() -> None:
    rows = [a_slice(f"s{n}", *([f"s{n - 1}"] if n % 2 else [])) for n in range(1_000)]
    plan = compile_plan(a_plan(*rows))
    done = {f"s{n}": f"r{n}" for n in range(0, 400, 2)}
    results = {f"s{n}": UnlandedResult(path=f"s{n}", branch=f"weft/s{n}") for n in range(200, 400, 2)}
    printed_lines = lines(plan, done=done, unlanded=results)
    assert len(printed_lines) < 30
    left_out = [" ".join(line.split()[2:]) for line in printed_lines if line.endswith(" more.")]
    assert left_out == ["295 more.", "195 more.", "95 more.", "95 more.", "295 more."]
    assert len(lines(plan, done=done, unlanded=results, verbose=True)) > 200
