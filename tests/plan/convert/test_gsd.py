from textwrap import dedent

import pytest
import yaml

from weft.plan.convert import ConvertError, convert
from weft.plan.loader.load import load_plan

ROADMAP = """\
# M001: Note store

**Vision:** Notes survive a restart.

## Success Criteria

- [ ] a note can be found again

## Slices

- [x] **S01: Note type** `risk:low` `depends:[]`
  > After this: a note can be made.
- [ ] **S02: Notes on disk** `risk:high` `depends:[S01]`
  > After this: a note is there after a restart.
- [ ] **S03: Search** `risk:medium` `depends:[S01,S02]`

<!--
- [ ] **S99: An example** `depends:[]`
-->

## Boundary Map

### S01 -> S02
"""
PLAN = """\
---
requirements:
  - R001
---

# S02: Notes on disk

**Goal:** One file for each note.

## Verification

- `npm test -- disk`
- the file can be read by a person

## Tasks

- [x] **T01: Choose the format** `est:10m`
  - Files: `docs/format.md`
  - Verify: `test -f docs/format.md`
- [ ] **T02: Write it** `est:1h`
  - Files: `src/disk.ts`, `src/[id].ts`
  - Verify: `npm test -- disk`
  - Done when: it works

## Files Likely Touched

- `src/disk.ts`
- `../outside.ts`
"""
TASK = """\
---
files: [src/extra.ts]
---
# T02: Write it

Steps to take.

## Expected Output

- `src/out.ts`
"""
FOLDER = {
    "milestones/M001/M001-ROADMAP.md": ROADMAP,
    "milestones/M001/slices/S02/S02-PLAN.md": PLAN,
    "milestones/M001/slices/S02/tasks/T02-PLAN.md": TASK,
}
SECOND = "# M002: Tool\n## Slices\n- [ ] **S01: Add** `depends:[]`\n"
ITEM = "``- [ ] **S01: Title** `depends:[]` ``"
ROW = "a row such as `| S01 | Title | low | — | ⬜ | text |`"
CIRCLE = "slice 'M001/S01' waits for slice 'M001/S02' waits for slice 'M001/S01'"
DONE = "# M001: Store\n## Slices\n- [x] **S01: All** `depends:[]`\n"


def converted(files):
    result = convert(files, "gsd")
    load_plan(result.text)
    return yaml.safe_load(result.text)


def notes(files):
    return [str(note) for note in convert(files, "gsd").notes]


def faults(files):
    with pytest.raises(ConvertError) as error:
        convert(files, "gsd")
    return [f"{problem.at}: {problem.message}" for problem in error.value.problems]


def roadmap(*lines):
    return {"M001/M001-ROADMAP.md": "\n".join(["# M001: Title", "", "## Slices", *lines, ""])}


def leaves(*lines):
    return converted(roadmap(*lines))["subplans"][0]["subplans"]


def settings(text):
    result = converted(
        {**roadmap("- [ ] **S01: One**"), "preferences.md": f"---\n{dedent(text)}---\n# Words\n"}
    )
    return {key: result[key] for key in result if key not in {"weft", "plan", "agents", "subplans"}}


def test_milestones_become_groups_and_slices_the_subplans_in_them():
    result = converted({**FOLDER, "milestones/M002/M002-ROADMAP.md": SECOND})
    first, second = result.pop("subplans")
    assert result == {
        "weft": 1,
        "plan": "gsd",
        "goal": "Note store: Notes survive a restart.",
        "agents": {"coder": {"use": "claude"}},
    }
    assert (first["id"], first["title"]) == ("m001", "Note store")
    assert [(leaf["id"], leaf["title"], leaf.get("depends_on")) for leaf in first["subplans"]] == [
        ("s02", "Notes on disk", None),
        ("s03", "Search", ["s02"]),
    ]
    assert second == {
        "id": "m002",
        "title": "Tool",
        "subplans": [{"id": "s01", "title": "Add", "prompt": "Add"}],
    }


def test_files_and_commands_are_those_of_the_plan_and_its_tasks():
    disk = converted(FOLDER)["subplans"][0]["subplans"][0]
    assert disk["files"] == ["docs/format.md", "src/disk.ts", "src/[[]id].ts", "src/extra.ts", "src/out.ts"]
    assert disk["verify"] == ["npm test -- disk", "test -f docs/format.md"]


def test_the_prompt_holds_the_words_of_the_roadmap_the_plan_and_the_tasks():
    prompt = converted(FOLDER)["subplans"][0]["subplans"][0]["prompt"]
    assert prompt.startswith(
        "Notes on disk\n\nAfter this: a note is there after a restart.\n\n# S02: Notes on disk\n"
    )
    assert prompt.index("**Goal:** One file for each note.") < prompt.index(
        "# T02: Write it\n\nSteps to take."
    )
    assert "R001" not in prompt


def test_what_is_done_or_not_carried_over_is_reported_with_its_line():
    one_by_one = "gsd runs them one by one by default; write `policy: serial` for that"
    upwards = "the pattern '../outside.ts' leads upwards with `..`; it must stay in the repository"
    at, plan = "milestones/M001/M001-ROADMAP.md", "milestones/M001/slices/S02/S02-PLAN.md"
    assert notes(FOLDER) == [
        f"{at}:1: the format names no agent: 'claude' is assumed; change `use` under `agents` in the plan",
        f"{at}:1: milestones and slices that do not depend on each other may run at the same time: {one_by_one}",
        f"{at}:11: slice 'S01' is not carried over: it is done",
        f"{at}:13: slice 'S02': that it depends on 'S01' is not carried over: that one is done",
        f"{at}:15: slice 'S03' has no plan yet: its prompt is what the roadmap says",
        f"{at}:15: slice 'S03': that it depends on 'S01' is not carried over: that one is done",
        f"{plan}:2: requirements is not carried over: Weft has no such key",
        f"{plan}:13: a verification stays in the prompt only: it is no command in backquotes",
        f"{plan}:17: task 'T01' stays in the prompt, checked: it is done",
        f"{plan}:28: the file '../outside.ts' is not carried over: {upwards}",
    ]


@pytest.mark.parametrize(
    ("line", "title", "needs"),
    [
        ("- [ ] **S03: Title** `risk:low` `depends:[S01,S02]`", "Title", ["s01", "s02"]),
        ("* [ ] **S03: Title** `depends:[s01]`", "Title", ["s01"]),
        ("- [ ] S03: Title depends:[S01, S02]", "Title", ["s01", "s02"]),
        ("- [ ] **S03**: Title (depends: S02)", "Title", ["s02"]),
        ("- [ ] **S03 \u2014 Title** depends on: S01; S02", "Title", ["s01", "s02"]),
        ("- [ ] **S03 - Title** `depends:[S01..S02]`", "Title", ["s01", "s02"]),
        ("- [ ] **S03. Title** `depends:[S01-S02]`", "Title", ["s01", "s02"]),
        ("- [ ] **S03: Title** `depends:[none]`", "Title", None),
        ("- [ ] **S03: Title** `depends:[]`", "Title", None),
        ("- [ ] **S03: Title**", "Title", None),
        ("  - [ ] **S03: S03** `depends:[S01]`", "S03", ["s01"]),
    ],
)
def test_slices_may_be_written_in_several_ways(line, title, needs):
    result = leaves("- [ ] **S01: One**", "- [ ] **S02: Two**", line)[2]
    assert (result["id"], result["title"], result.get("depends_on")) == ("s03", title, needs)


@pytest.mark.parametrize("line", ["  > After this: it runs", "  - After this: it runs", "  > it runs"])
def test_what_can_be_shown_afterwards_is_in_the_prompt(line):
    assert leaves("- [ ] **S01: One**", line, "  > more")[0]["prompt"] == "One\n\nAfter this: it runs"


def test_a_slice_without_a_title_has_its_id():
    assert leaves("- [ ] **S01**")[0] == {"id": "s01", "prompt": "S01"}


@pytest.mark.parametrize("key", ["depends_on", "dependsOn"])
@pytest.mark.parametrize("place", ["M002-CONTEXT.md", "CONTEXT.md", "M002-CONTEXT-DRAFT.md"])
def test_front_matter_says_what_a_milestone_depends_on(key, place):
    files = {
        "M001/M001-ROADMAP.md": ROADMAP,
        "M002/M002-ROADMAP.md": SECOND,
        f"M002/{place}": f"---\nclass: feature\n{key}: [m001]\n---\n# M002\n",
    }
    assert converted(files)["subplans"][1]["depends_on"] == ["m001"]
    assert f"M002/{place}:2: class is not carried over: Weft has no such key" in notes(files)
    assert (
        f"M002/{place}:1: the text of the file is not carried over: "
        "agents are given the roadmap's and the plans' words"
    ) in notes(files)


def test_front_matter_of_a_roadmap_counts_too():
    files = {"M1/ROADMAP.md": ROADMAP, "M2/ROADMAP.md": f"---\ndepends_on: [M1]\n---\n{SECOND}"}
    assert [(group["id"], group.get("depends_on")) for group in converted(files)["subplans"]] == [
        ("m1", None),
        ("m2", ["m1"]),
    ]


def test_a_milestone_that_is_done_is_left_out_and_nothing_waits_for_it():
    files = {"M001/M001-ROADMAP.md": DONE, "M002/ROADMAP.md": f"---\ndepends_on:\n- M001\n---\n{SECOND}"}
    assert [(group["id"], group.get("depends_on")) for group in converted(files)["subplans"]] == [
        ("m002", None)
    ]
    assert (
        "M001/M001-ROADMAP.md:1: milestone 'M001' is not carried over: it is done: its slices are all checked"
    ) in notes(files)
    assert (
        "M002/ROADMAP.md:3: milestone 'M002': that it depends on 'M001' is not carried over: that one is done"
    ) in notes(files)


def test_a_milestone_without_a_roadmap_is_left_out():
    files = {"M001/M001-CONTEXT.md": "# M001\n", "M002/M002-ROADMAP.md": SECOND}
    assert [group["id"] for group in converted(files)["subplans"]] == ["m002"]
    assert "M001/M001-CONTEXT.md:1: milestone 'M001' is not carried over: it has no roadmap" in notes(files)


def test_milestones_stand_in_the_order_of_their_numbers_with_their_own_ids():
    files = {
        "M10/M10-ROADMAP.md": SECOND,
        "M2-abc123/M2-abc123-ROADMAP.md": SECOND,
        "M3-search/M3-ROADMAP.md": SECOND,
        "M4-foundation/ROADMAP.md": SECOND,
        "M4-foundation/slices/S01-add/PLAN.md": "Do it so.",
    }
    groups = converted(files)["subplans"]
    assert [group["id"] for group in groups] == ["m2-abc123", "m3", "m4", "m10"]
    assert groups[2]["subplans"][0]["prompt"] == "Add\n\nDo it so."


def test_files_that_are_no_part_of_it_are_reported():
    files = {
        **FOLDER,
        "STATE.md": "x",
        "worktrees/M001/milestones/M001/M001-ROADMAP.md": ROADMAP,
        "milestones/M001/slices/S07/S07-PLAN.md": "x",
    }
    why = "it is no roadmap, plan, context or preference"
    assert f"STATE.md:1: the file is not carried over: {why}" in notes(files)
    assert f"worktrees/M001/milestones/M001/M001-ROADMAP.md:1: the file is not carried over: {why}" in notes(
        files
    )
    assert (
        "milestones/M001/slices/S07/S07-PLAN.md:1: the file is not carried over: the roadmap has no slice 'S07'"
    ) in notes(files)


# Preferences.


def test_preferences_become_settings():
    text = """\
    parallel:
      enabled: true
      max_workers: 3
      budget_ceiling: 12.5
      merge_strategy: per-slice
      auto_merge: manual
    """
    assert settings(text) == {
        "max_parallel": 3,
        "policy": "parallel",
        "budget": 12.5,
        "merge": {"when": "slice", "mode": "manual"},
    }


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("parallel: {enabled: false}\n", {"policy": "serial"}),
        ("parallel: {merge_strategy: per-milestone}\n", {"merge": {"when": "milestone"}}),
        ("parallel: {auto_merge: confirm}\n", {"merge": {"mode": "confirm"}}),
        ("budget_ceiling: 5\n", {"budget": 5}),
        ("budget_ceiling: 5\nparallel: {budget_ceiling: 3}\n", {"budget": 3}),
        ("budget_ceiling: 5\nparallel: {enabled: }\n", {"budget": 5}),
        ("parallel:\n", {}),
        ("", {}),
    ],
)
def test_what_is_not_set_is_not_written(text, result):
    assert settings(text) == result


def test_preferences_may_be_a_yaml_file():
    files = {**roadmap("- [ ] **S01: One**"), "PREFERENCES.yaml": "parallel: {max_workers: 2}"}
    assert converted(files)["max_parallel"] == 2
    assert converted({**files, "PREFERENCES.yaml": " \n"}).get("max_parallel") is None


def test_commands_of_the_preferences_verify_every_slice():
    files = {
        **FOLDER,
        "preferences.md": "---\nverification_commands: [npm run lint, npm test -- disk]\n---\n",
    }
    disk, search = converted(files)["subplans"][0]["subplans"]
    assert disk["verify"] == ["npm test -- disk", "test -f docs/format.md", "npm run lint"]
    assert search["verify"] == ["npm run lint", "npm test -- disk"]


def test_other_preferences_are_reported_with_their_lines():
    text = "---\nversion: 1\nmode:\nmodels: {}\ngit: {remote: , isolation: }\nbudget_ceiling: 9\n"
    parallel = "parallel:\n  max_workers: 2\n  budget_ceiling: 3\n  color: red\n---\n"
    files = {**roadmap("- [ ] **S01: One**"), "preferences.md": text + parallel, "sub/preferences.md": ""}
    counts = "gsd counts milestones by it, Weft counts slices"
    assert [note for note in notes(files) if "preferences" in note] == [
        "preferences.md:2: version is not carried over: Weft has no such key",
        "preferences.md:6: budget_ceiling is not carried over: that of `parallel` is the plan's budget",
        f"preferences.md:8: parallel: max_workers becomes max_parallel: 2: {counts}",
        "preferences.md:10: parallel: color is not carried over: Weft has no such key",
        "sub/preferences.md:1: the file is not carried over: the preferences are those in preferences.md",
    ]


@pytest.mark.parametrize(
    "text", ["parallel: {enabled: true}\n", "parallel: {enabled: false}\n", "parallel: {max_workers: 2}\n"]
)
def test_a_chosen_parallelism_is_not_noted(text):
    files = {**roadmap("- [ ] **S01: One**"), "preferences.md": f"---\n{text}---\n"}
    assert not [note for note in notes(files) if "at the same time" in note]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parallel: {max_workers: 5}", "2:25: parallel: max_workers must be a number from 1 to 4"),
        ("parallel: {max_workers: 0}", "2:25: parallel: max_workers must be a number from 1 to 4"),
        ("parallel: {budget_ceiling: 0}", "2:28: parallel: budget_ceiling must be a number > 0"),
        ("budget_ceiling: much", "2:17: budget_ceiling must be a number > 0"),
        ("budget_ceiling: true", "2:17: budget_ceiling must be a number > 0"),
        ("budget_ceiling: .inf", "2:17: budget_ceiling must be a number > 0"),
        ("parallel: {auto_merge: maybe}",
         "2:24: parallel: auto_merge is 'maybe'; one of auto, confirm, manual is needed"),
        ("parallel: {merge_strategy: x}",
         "2:28: parallel: merge_strategy is 'x'; one of per-slice, per-milestone is needed"),
        ("parallel: {enabled: maybe}", "2:21: parallel: enabled must be true or false"),
        ("parallel: 4", "2:11: parallel must be a mapping"),
    ],
)  # fmt: skip
def test_preferences_that_make_no_sense_are_faults(text, message):
    files = {**roadmap("- [ ] **S01: One**"), "preferences.md": f"---\n{text}\n---\n"}
    assert faults(files) == [f"preferences.md:{message}"]


# What is wrong.


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((), f"1:1: no slice was found; write {ROW} below `## Slice Overview`, or {ITEM}"),
        (("- [ ] **S01: One**", "- [ ] **Two**"), f"5:1: this is not a slice; write {ITEM}"),
        (("| ID | Slice | Depends |", "|---|---|---|", "| one | Title | |"),
         "6:1: the id of this slice is 'one'; one such as S01 is needed"),
        (("| ID | Slice | Depends |", "|---|---|---|", "| S01 | Title | the rest |"),
         "6:1: it depends on 'the rest'; slices such as `S01, S02` are needed"),
        (("### S01: One", "- Depends: all of them"),
         "5:1: it depends on 'all of them'; slices such as `S01, S02` are needed"),
        (("- [ ] **S01: One** `depends:[S01]`",), "4:1: slice 'S01': it depends on itself"),
        (("- [ ] **S01: One** `depends:[S02]`",),
         "4:1: slice 'S01': it depends on 'S02', which is no slice of this milestone"),
        (("- [ ] **S01: One**", "- [ ] **S01: Two**"), "5:1: slice 'S01': its id was already given in line 4"),
        (("- [ ] **S01: One** `depends:[S02]`", "- [ ] **S02: Two** `depends:[S01]`"),
         f"1:1: the dependencies form a cycle: {CIRCLE}"),
        (("- [x] **S01: One**",), "1:1: every slice of every milestone is done; there is nothing to convert"),
    ],
)  # fmt: skip
def test_a_roadmap_that_makes_no_sense_is_a_fault(lines, message):
    assert f"M001/M001-ROADMAP.md:{message}" in faults(roadmap(*lines))


@pytest.mark.parametrize(
    ("need", "message"),
    [
        ("M002", "itself"),
        ("M009", "'M009', which does not exist"),
        ("M003", "'M003', which has no roadmap"),
    ],
)
def test_a_milestone_that_depends_on_what_is_not_there_is_left_out(need, message):
    files = {
        "M001/M001-ROADMAP.md": ROADMAP,
        "M002/M002-ROADMAP.md": f"---\ndepends_on: [{need}]\n---\n{SECOND}",
        "M003/M003-CONTEXT.md": "",
    }
    assert [group["id"] for group in converted(files)["subplans"]] == ["m001"]
    expected_note = (
        f"M002/M002-ROADMAP.md:2: milestone 'M002' is not carried over: milestone 'M002' depends on {message}"
    )
    assert expected_note in notes(files)


UNREADABLE = {
    "no slices": "# M002: Tool\n\nOnly words.\n",
    "a slice that depends on itself": f"{SECOND}- [ ] **S02: Two** `depends:[S02]`\n",
    "slices in a circle": "## Slices\n- [ ] S01: a `depends:[S02]`\n- [ ] S02: b `depends:[S01]`\n",
    "front matter that is no YAML": f"---\na: [\n---\n{SECOND}",
    "front matter without keys": f"---\njust words\n---\n{SECOND}",
    "a table without ids": "## Slice Overview\n| ID | Slice |\n|---|---|\n| one | Title |\n",
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_a_milestone_that_cannot_be_read_does_not_block_the_others(text):
    files = {
        "M001/M001-ROADMAP.md": ROADMAP,
        "M002/M002-ROADMAP.md": text,
        "M003/M003-ROADMAP.md": f"---\ndepends_on: [M002]\n---\n{SECOND}",
        "M004/M004-ROADMAP.md": f"---\ndepends_on: [M003]\n---\n{SECOND}",
        "M005/M005-ROADMAP.md": f"---\ndepends_on: [M001]\n---\n{SECOND}",
    }
    assert [group["id"] for group in converted(files)["subplans"]] == ["m001", "m005"]
    expected_note = notes(files)
    assert "M002/M002-ROADMAP.md:1: milestone 'M002' is not carried over: it cannot be read" in expected_note
    for id_, need in (("M003", "M002"), ("M004", "M003")):
        why = f"it depends on {need!r}, which is left out"
        assert f"{id_}/{id_}-ROADMAP.md:1: milestone {id_!r} is not carried over: {why}" in expected_note
    alone = faults({"M002/M002-ROADMAP.md": text})
    assert alone
    for fault in alone:  # each is a note, with its file and line
        place, _, message = fault.partition(": ")
        line = place.rpartition(":")[0]
        assert f"{line}: milestone 'M002' is not carried over: {message}" in expected_note


OVERVIEW = """\
# M007: Dashboard ✅

## Vision
Make it usable
on a phone.

## Slice Overview
| ID | Slice | Risk | Depends | Done | After this |
|----|-------|------|---------|------|------------|
| S01 | Sidebar | medium | — | ✅ | it folds |
| S02 | **Charts \\| tables** | low | S01 | ⬜ | After this: they fit |
| S03 | S03 | low | S01..S02 (soft) | ⬜ | TBD |
| S04 | Check | low | S02, S03 |

## Boundary Map
| From | To |
|---|---|
| S01 | S02 |
"""


def test_the_slices_of_a_table_are_read_by_its_columns():
    files = {"M007/M007-ROADMAP.md": OVERVIEW}
    result = converted(files)
    assert result["goal"] == "Dashboard: Make it usable on a phone."
    assert result["subplans"][0]["subplans"] == [
        {"id": "s02", "title": "Charts | tables", "prompt": "Charts | tables\n\nAfter this: they fit"},
        {"id": "s03", "title": "S03", "depends_on": ["s02"], "prompt": "S03"},
        {"id": "s04", "title": "Check", "depends_on": ["s02", "s03"], "prompt": "Check"},
    ]
    assert "M007/M007-ROADMAP.md:10: slice 'S01' is not carried over: it is done" in notes(files)


@pytest.mark.parametrize("mark", ["✅", "[x]", "Done", "complete", "yes", "✓", "x"])
def test_a_slice_of_a_table_is_done_by_its_mark(mark):
    rows = ["| ID | Title | Status |", "|:--|---|--:|", f"| S01 | One | {mark} |", "| **S02** | Two | [ ] |"]
    assert [leaf["id"] for leaf in leaves(*rows)] == ["s02"]


PROSE = """\
# M008: Tool

## Slices

### S01 — Parser

- Risk: high
- Depends: none
- After this: a file is read

Read the whole grammar.

### ✅ S02: Lexer
#### Slice S03. Printer ✅
### [S04] Lines (Complete)
### **S05 - Output**
- **Depends on:** S01, S04

### S06 Errors
- Status: done

## Boundary Map
### S01 → S05
Not a slice.
"""


def test_slices_that_are_headings_are_read_with_the_lines_below():
    [group] = converted({"M008/M008-ROADMAP.md": PROSE})["subplans"]
    assert group["subplans"] == [
        {
            "id": "s01",
            "title": "Parser",
            "prompt": "Parser\n\nAfter this: a file is read\n\nRead the whole grammar.",
        },
        {"id": "s05", "title": "Output", "depends_on": ["s01"], "prompt": "Output"},
    ]


def test_a_milestone_in_two_folders_is_a_fault():
    files = {"a/M001/M001-ROADMAP.md": ROADMAP, "b/M001/M001-ROADMAP.md": ROADMAP}
    assert faults(files) == [
        "b/M001/M001-ROADMAP.md:1:1: milestone 'M001' stands in a/M001/M001-ROADMAP.md, too"
    ]


@pytest.mark.parametrize(("files", "at"), [({}, "gsd"), ({"README.md": "x"}, "README.md")])
def test_a_folder_without_milestones_is_a_fault(files, at):
    assert faults(files) == [
        f"{at}:1:1: no milestone was found; a file such as M001/M001-ROADMAP.md is needed"
    ]


def test_front_matter_that_is_no_yaml_is_a_fault_at_its_line():
    [fault] = faults({"M001/M001-ROADMAP.md": f"---\na: 1\nb: [\n---\n{ROADMAP}"})
    assert fault.startswith("M001/M001-ROADMAP.md:3:5: this is not YAML")
