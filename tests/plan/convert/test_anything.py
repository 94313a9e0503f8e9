"""Whatever the input is: it becomes a plan that passes the check, or it is refused in words."""

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.plan.convert import ConvertError, convert
from weft.plan.loader.load import load_plan
from weft.plan.text.emit import to_yaml

ODD = [None, "", 7, [], {}, ["x"], {"x": 1}, True, "x"]
NAMES = ["a", "b-c", "d_1", "A b", "invocation", "é", "9"]
WORDS = ["Do it. ", "{{ ", "{% x ", "{# ", "}} ", "\n", "' ", "$x "]
OPERATORS = ["==", "!=", "contains", "starts_with", "ends_with", "matches"]
ACTIONS = ["continue", "break", "abort_pipeline", "pause_for_human"]
odd = st.sampled_from(ODD)


@st.composite
def texts(draw, earlier):
    """Words and templates that read what stands before."""
    reads = ["last_response", "step.invocation.prompt", "session.cwd", "env.HOME", "pipeline.run_id"]
    reads += [
        f"step.{id_}.{field_name}" for id_ in earlier for field_name in ("response", "tool_calls", "x.y-z.0")
    ]
    some = st.sampled_from(WORDS) | st.sampled_from(reads).map("{{{{ {} }}}} ".format)
    return "Now: " + "".join(draw(st.lists(some, max_size=4)))


@st.composite
def conditions(draw, earlier):
    right = texts(earlier) | st.sampled_from(["/a/", "/^a$/i", "/a+/", "'x'", '"y'])
    message = st.builds("{} {} {}".format, texts(earlier), st.sampled_from(OPERATORS), right)
    return draw(message | st.sampled_from(["always", "never"]))


@st.composite
def branches(draw, earlier):
    matcher = draw(
        st.fixed_dictionaries({"contains": texts([])})
        | st.fixed_dictionaries({"matches": st.sampled_from(["/a/", "/b+/i", "/^c/"])})
        | st.fixed_dictionaries({"expression": conditions(earlier)})
        | st.just({"always": True})
    )
    return {**matcher, "action": draw(st.sampled_from(ACTIONS))}


@st.composite
def bodies(draw, earlier, calls):
    result = [
        st.fixed_dictionaries({"prompt": texts(earlier)}, optional={"resume": st.booleans()}),
        st.just({"context": {"shell": "echo {{x}}"}}),
        st.fixed_dictionaries({"action": st.just("pause_for_human")}, optional={"message": texts(earlier)}),
        st.sampled_from([{"skill": "./x"}, {"prompt": "./x.md"}, {"do_while": {"max_iterations": 2}}]),
    ]
    if calls:
        result.append(st.fixed_dictionaries({"pipeline": st.sampled_from([*calls, "elsewhere"])}))
    if earlier:
        joined = st.lists(st.sampled_from(earlier), min_size=1, unique=True)
        result.append(st.fixed_dictionaries({"action": st.just("join"), "depends_on": joined}))
    return draw(st.one_of(result))


@st.composite
def pipelines(draw, calls=()):
    steps: list[dict[str, object]] = []
    for id_ in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True)):
        earlier = [step["id"] for step in steps]
        step = {"id": id_, **draw(bodies(earlier, calls))}
        if draw(st.booleans()):
            step["condition"] = draw(conditions(earlier))
        if draw(st.booleans()):
            step["on_result"] = draw(st.lists(branches([*earlier, id_]), max_size=2))
        steps.append(step)
    return steps


@st.composite
def ail_files(draw):
    named: dict[str, object] = {}
    for name in draw(st.lists(st.sampled_from(["p", "Q r", "tdd"]), max_size=2, unique=True)):
        named[name] = draw(pipelines(tuple(named)))
    return {"pipelines": named, "pipeline": draw(pipelines(tuple(named)))}


parts = st.fixed_dictionaries(
    {"id": st.sampled_from(["", *NAMES])},
    optional={
        "epic_id": st.sampled_from(NAMES),
        "definition": st.just("Do it") | odd,
        "depends_on": st.lists(st.sampled_from(NAMES), max_size=2) | odd,
        "writes": st.lists(st.sampled_from(["a", "/a", "[x]", "", "a\\b", "./b", "a//b"])) | odd,
        "verification": st.lists(st.fixed_dictionaries({}, optional={"target": odd, "kind": odd})) | odd,
    },
)
some_parts = st.lists(parts, max_size=3) | odd
brunch_files = st.fixed_dictionaries({"epics": some_parts, "slices": some_parts, "profile": odd})
steps_of_any_kind = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(NAMES)},
        optional=dict.fromkeys(
            ["prompt", "context", "action", "pipeline", "async", "depends_on", "condition", "on_result",
             "on_error", "max_retries", "output_schema", "resume", "runner", "model"], odd,
        ),
    ),
    max_size=3,
)  # fmt: skip

LINES = [
    "", "## Verification", "## Files Likely Touched", "- [ ] **T01: One**", "- [x] **T02: Two**", "{{ x }}",
    "- Verify: `make`", "- Files: `a`, b.c", "- `x/[y]`", "- `../z`", "- Verify: by hand", "<!-- no -->",
    "Words: all #of them",
]  # fmt: skip
documents = st.lists(st.sampled_from(LINES), max_size=8).map("\n".join)


@st.composite
def roadmaps(draw, needs):
    lines = [f"---\ndepends_on: [{', '.join(needs)}]\n---", "# M001: Title", "**Vision:** x", "## Slices"]
    for number in range(1, draw(st.integers(2, 4))):
        mark = draw(st.sampled_from(" x"))
        depends = draw(st.lists(st.integers(1, number - 1), unique=True)) if number > 1 else []
        lines.append(
            f"- [{mark}] **S0{number}: Title** `depends:[{','.join(f'S0{need}' for need in depends)}]`"
        )
    return "\n".join([*lines, "## Other", draw(documents)])


@st.composite
def gsd_files(draw):
    return {
        "M001/M001-ROADMAP.md": draw(roadmaps([])),
        "M002/M002-ROADMAP.md": draw(roadmaps(draw(st.sampled_from([[], ["M001"]])))),
        "M001/slices/S01/S01-PLAN.md": draw(documents),
        "M001/slices/S01/tasks/T01-PLAN.md": draw(documents),
        "M002/slices/S02/S02-PLAN.md": draw(documents),
    }


def converts_or_is_refused(files, source):
    try:
        result = convert(files, source)
    except ConvertError:
        return
    load_plan(result.text)


@given(ail_files())
@settings(max_examples=200)
def test_any_pipeline_of_ail(data):
    converts_or_is_refused({"flow.yaml": to_yaml(data)}, "ail")


@given(gsd_files())
def test_any_folder_of_gsd(files):
    converts_or_is_refused(files, "gsd")


@given(brunch_files)
def test_any_plan_of_brunch(data):
    converts_or_is_refused({"plan.yaml": to_yaml(data)}, "brunch")


@given(steps_of_any_kind)
def test_steps_with_values_of_any_kind(steps):
    converts_or_is_refused({"flow.yaml": to_yaml({"pipeline": steps})}, "ail")
