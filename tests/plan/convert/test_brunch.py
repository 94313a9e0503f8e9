from textwrap import dedent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from weft.plan.convert import ConvertError, convert
from weft.plan.loader.load import load_plan
from weft.plan.text.emit import to_yaml

NOTES = """\
epics:
  - {id: base, summary: Note store, depends_on: [], verification: []}
  - id: tool
    summary: Commands on top of the store
    depends_on: [base]
    verification: [{kind: integration-test, target: tests/whole.test}]
slices:
  - id: model
    epic_id: base
    definition: A type for notes
    verification: [{kind: unit-test, target: tests/model.test}]
  - {id: disk, epic_id: base, definition: Notes as files, depends_on: [model], verification: [{target: disk.test}]}
  - {id: add, epic_id: tool, definition: Adds a note, depends_on: [disk], verification: [{target: tests/add.test}]}
"""
COMMANDS = (
    "plan.yaml:6: a verification becomes the command `bun test TARGET`; its kind is not carried over: "
    "the format names test files, and Weft runs commands"
)
BOOT = "Weft does not boot what was built; a command under `verify` can"
GIT = "Weft works in git worktrees wherever there is a repository; see `isolation`"
ONE_EPIC = "epics: [{id: e}]\n"


def converted(text, **options):
    result = convert({"plan.yaml": dedent(text)}, "brunch", **options)
    load_plan(result.text)
    return yaml.safe_load(result.text)


def notes(text):
    return [str(note) for note in convert({"plan.yaml": dedent(text)}, "brunch").notes]


def faults(text):
    with pytest.raises(ConvertError) as error:
        convert({"plan.yaml": dedent(text)}, "brunch")
    return [f"{problem.at}: {problem.message}" for problem in error.value.problems]


def leaf(extra="", top=""):
    """The only slice of a plan, with more keys."""
    plan = converted(f"{top}{ONE_EPIC}slices: [{{id: s, epic_id: e, definition: Do it, {extra}}}]\n")
    return plan["subplans"][0]["subplans"][0]


def test_epics_become_groups_and_slices_the_subplans_in_them():
    assert converted(NOTES) == {
        "weft": 1,
        "plan": "plan",
        "failure_mode": "continue_on_error",
        "retries": 3,
        "agents": {"coder": {"use": "claude"}},
        "subplans": [
            {
                "id": "base",
                "title": "Note store",
                "subplans": [
                    {
                        "id": "model",
                        "prompt": "A type for notes",
                        "verify": "bun test tests/model.test",
                        "pipeline": "tdd",
                    },
                    {
                        "id": "disk",
                        "prompt": "Notes as files",
                        "depends_on": ["model"],
                        "verify": "bun test disk.test",
                        "pipeline": "tdd",
                    },
                ],
            },
            {
                "id": "tool",
                "title": "Commands on top of the store",
                "depends_on": ["base"],
                "verify": "bun test tests/whole.test",
                "subplans": [
                    {
                        "id": "add",
                        "prompt": "Adds a note",
                        "depends_on": ["/base/disk"],
                        "verify": "bun test tests/add.test",
                        "pipeline": "tdd",
                    },
                ],
            },
        ],
    }


def test_what_was_assumed_is_reported_with_its_line():
    assert notes(NOTES) == [
        "plan.yaml:1: the format names no agent: 'claude' is assumed; change `use` under `agents` in the plan",
        COMMANDS,
    ]


@pytest.mark.parametrize(
    ("profile", "command"),
    [
        ("bun", "bun test t"),
        ("node-vitest", "npx vitest run t"),
        ("node-test", "node --test t"),
        ("node-jest", "npx jest t"),
        ("deno", "deno test t"),
        ("other", "bun test t"),
    ],
)
def test_the_profile_names_the_command(profile, command):
    assert leaf("verification: [{target: t}]", top=f"profile: {profile}\n")["verify"] == command


def test_an_unknown_profile_is_reported():
    assert "plan.yaml:1: profile 'ruby' is not known: its tests are run by `bun test`" in notes(
        f"profile: ruby\n{NOTES}"
    )


def test_several_targets_are_several_commands_each_safe_in_a_shell():
    result = leaf("verification: [{target: a b.test}, {target: c; rm x}, {target: ''}]")
    assert result["verify"] == ["bun test 'a b.test'", "bun test 'c; rm x'", "bun test"]


def test_a_slice_without_a_test_is_done_directly():
    assert leaf() == {"id": "s", "prompt": "Do it"}
    assert (
        "plan.yaml:2: slice 's': it has no verification, and so the pipeline 'direct' in place of 'tdd': "
        "there is no test to run"
    ) in notes(f"{ONE_EPIC}slices: [{{id: s, epic_id: e, definition: Do it}}]")


@pytest.mark.parametrize("notes_", ["Use bun.\nNo mocks.", ["Use bun.", "No mocks."]])
def test_harness_notes_are_the_goal(notes_):
    top = to_yaml({"harnessNotes": notes_})
    assert converted(top + NOTES)["goal"] == "Use bun.\nNo mocks."


def test_written_files_are_files_even_with_odd_names():
    result = leaf('writes: [src/a.ts, "./app/[id].ts", src/a.ts, /etc/passwd]')
    assert result["files"] == ["src/a.ts", "app/[[]id].ts"]


def test_a_written_file_outside_of_the_project_is_reported():
    text = f"{ONE_EPIC}slices:\n- id: s\n  epic_id: e\n  definition: x\n  writes:\n  - ../a\n"
    assert (
        "plan.yaml:7: slice 's': writes: '../a' is not carried over: "
        "the pattern '../a' leads upwards with `..`; it must stay in the repository"
    ) in notes(text)


def test_each_key_that_is_not_carried_over_is_reported_with_its_line():
    text = """\
    mode: brownfield
    author:
    tags: []
    epics:
      - id: e
        probe: {url: /health}
        reachability: yes
    slices:
      - id: s
        epic_id: e
        definition: x
        derived_from: REQ-1
        verification: [{target: t, color: red}]
    """
    assert [note for note in notes(text) if "is not carried over: " in note and "becomes" not in note] == [
        f"plan.yaml:1: mode is not carried over: {GIT}",
        "plan.yaml:3: tags is not carried over: Weft has no such key",
        f"plan.yaml:6: epic 'e': probe is not carried over: {BOOT}",
        f"plan.yaml:7: epic 'e': reachability is not carried over: {BOOT}",
        "plan.yaml:12: slice 's': derived_from is not carried over: Weft has no such key",
        "plan.yaml:13: slice 's': color is not carried over: Weft has no such key",
    ]


def test_ids_that_do_not_fit_are_changed_wherever_they_are_named():
    text = """\
    epics:
      - {id: The Base}
      - {id: top, depends_on: [The Base]}
    slices:
      - {id: A.1, epic_id: The Base, definition: x}
      - {id: a-1, epic_id: The Base, definition: x, depends_on: [A.1]}
      - {id: "é", epic_id: top, definition: x, depends_on: [A.1, a-1, A.1]}
    """
    base, top = converted(text)["subplans"]
    assert (base["id"], [leaf["id"] for leaf in base["subplans"]]) == ("the-base", ["a-1-2", "a-1"])
    assert base["subplans"][1]["depends_on"] == ["a-1-2"]
    assert top["depends_on"] == ["the-base"]
    assert top["subplans"][0]["id"] == "slice"
    assert top["subplans"][0]["depends_on"] == ["/the-base/a-1-2", "/the-base/a-1"]
    rule = "an id has only lowercase letters, digits, _ and -"
    assert f"plan.yaml:2: epic 'The Base': its id is now 'the-base': {rule}" in notes(text)
    assert f"plan.yaml:5: slice 'A.1': its id is now 'a-1-2': {rule}" in notes(text)


def test_an_epic_without_slices_is_left_out_and_the_order_around_it_stays():
    text = """\
    epics:
      - {id: a}
      - {id: hollow, depends_on: [a, hole]}
      - {id: hole, depends_on: [a]}
      - {id: z, depends_on: [hollow, hole]}
    slices:
      - {id: s, epic_id: a, definition: x}
      - {id: t, epic_id: z, definition: x}
    """
    assert [(group["id"], group.get("depends_on")) for group in converted(text)["subplans"]] == [
        ("a", None),
        ("z", ["a"]),
    ]
    why = "it has no slices, and Weft has no empty groups"
    assert f"plan.yaml:3: epic 'hollow' is not carried over: {why}" in notes(text)


def test_all_faults_are_reported_at_once():
    text = """\
    epics:
      - {id: e, depends_on: [e, nowhere]}
      - {summary: no id}
      - 7
    slices:
      - {id: s, epic_id: gone, definition: x, depends_on: [s, t]}
      - {id: s, epic_id: e, definition: " "}
      - {id: u, definition: [x], epic_id: e, depends_on: all, verification: none}
    """
    assert faults(text) == [
        "plan.yaml:2:26: epic 'e': depends_on: it depends on itself",
        "plan.yaml:2:29: epic 'e': depends_on: it depends on 'nowhere', which is no epic",
        "plan.yaml:3:5: id is missing",
        "plan.yaml:4:5: each of epics must be a mapping",
        "plan.yaml:6:22: slice 's': epic_id names 'gone', which is no epic",
        "plan.yaml:6:56: slice 's': depends_on: it depends on itself",
        "plan.yaml:6:59: slice 's': depends_on: it depends on 't', which is no slice",
        "plan.yaml:7:10: slice 's': id was already given in line 6",
        "plan.yaml:7:37: slice 's': definition is empty",
        "plan.yaml:8:25: slice 'u': definition must be text",
        "plan.yaml:8:54: slice 'u': depends_on must be a list of words",
        "plan.yaml:8:73: slice 'u': verification must be a list",
    ]


@pytest.mark.parametrize(
    "text", ["epics: [{id: e}]", "epics: [{id: e}]\nslices: []", "epics: [{id: e}]\nslices: 3"]
)
def test_slices_are_needed(text):
    assert faults(text)[-1].endswith("slices must be a list of at least one")


def test_a_cycle_is_a_fault():
    text = """\
    epics: [{id: e}]
    slices:
      - {id: a, epic_id: e, definition: x, depends_on: [b]}
      - {id: b, epic_id: e, definition: x, depends_on: [a]}
    """
    around = "slice 'a' waits for slice 'b' waits for slice 'a'"
    assert faults(text) == [f"plan.yaml:1:1: the dependencies form a cycle: {around}"]


def test_a_cycle_through_both_levels_is_a_fault():
    text = """\
    epics: [{id: e}, {id: f, depends_on: [e]}]
    slices:
      - {id: a, epic_id: e, definition: x, depends_on: [b]}
      - {id: b, epic_id: f, definition: x}
    """
    around = "slice 'a' waits for slice 'b' waits for epic 'f' waits for epic 'e' waits for slice 'a'"
    assert faults(text) == [f"plan.yaml:1:1: the dependencies form a cycle: {around}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n- b\n", "plan.yaml:1:1: the file holds no keys; a mapping is needed"),
        ("", "plan.yaml:1:1: the file is empty"),
    ],
)
def test_a_file_that_is_no_mapping_is_a_fault(text, message):
    assert faults(text) == [message]


def test_a_key_given_twice_is_a_fault():
    assert faults(f"mode: a\nmode: b\n{NOTES}")[0].startswith("plan.yaml:2:1: duplicate key 'mode'")


def test_the_plan_has_the_name_of_the_file_or_the_one_given():
    assert yaml.safe_load(convert({"a/My Plan.yaml": NOTES}, "brunch").text)["plan"] == "my-plan"
    assert converted(NOTES, name="notes")["plan"] == "notes"
    assert converted(NOTES, name="...")["plan"] == "brunch"


def test_the_text_begins_with_where_it_comes_from():
    assert convert({"plan.yaml": NOTES}, "brunch").text.startswith(
        "# Converted from brunch.\nweft: 1\nplan: plan\n"
    )


ids = st.text(st.sampled_from("abZ.-_ é1"), min_size=1, max_size=5).filter(str.strip)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)


@st.composite
def plans(draw):
    """Plans in which each depends only on what stands before it, and no epic on a later one's slices."""
    epics = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    names = draw(st.lists(ids, min_size=1, max_size=8, unique=True))
    places = sorted(draw(st.lists(st.integers(0, len(epics) - 1), min_size=len(names), max_size=len(names))))

    def some(earlier):
        return draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []

    return {
        "epics": [{"id": id_, "depends_on": some(epics[:at])} for at, id_ in enumerate(epics)],
        "slices": [
            {
                "id": id_,
                "epic_id": epics[places[at]],
                "definition": draw(words),
                "depends_on": some(names[:at]),
            }
            for at, id_ in enumerate(names)
        ],
    }


@given(plans())
def test_every_slice_and_every_dependency_is_in_the_plan(plan):
    result = converted(to_yaml(plan))
    leaves = {
        f"/{group['id']}/{leaf['id']}": (group["id"], leaf)
        for group in result["subplans"]
        for leaf in group["subplans"]
    }
    order = [slice_ for epic in plan["epics"] for slice_ in plan["slices"] if slice_["epic_id"] == epic["id"]]
    paths = dict(zip((slice_["id"] for slice_ in order), leaves, strict=True))
    for slice_ in order:
        group, leaf = leaves[paths[slice_["id"]]]
        absolute = [need if need[0] == "/" else f"/{group}/{need}" for need in leaf.get("depends_on", [])]
        assert leaf["prompt"] == slice_["definition"]
        assert absolute == [paths[need] for need in slice_["depends_on"]]
