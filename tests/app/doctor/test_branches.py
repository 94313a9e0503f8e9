"""Work that has not landed: named, and never touched."""

from app.doctor.patients import FAILS, LANDS, Patient
from weft.app.doctor.findings import FindingState


def test_a_branch_that_has_not_landed_is_named_with_what_shows_it(patient: Patient) -> None:
    patient.plan(FAILS).run()
    refs = patient.git("for-each-ref")
    result = patient.one("unmerged", fix=True)
    assert result.state is FindingState.WARNING
    assert result.finding.found == "the branch weft/tried/group.bad has 1 commit not on main"
    assert result.finding.command == "weft diff group/bad"
    assert patient.git("for-each-ref") == refs
    patient.git("merge", "--quiet", "--no-edit", "weft/tried/group.bad")
    assert patient.told("unmerged") == []


def test_of_a_plan_that_was_not_the_last_the_run_is_named(patient: Patient) -> None:
    begun = patient.plan(FAILS).run().begun
    assert begun is not None
    (patient.root / "weft.yaml").write_text(
        "weft: 1\nplan: other\nsubplans: [{id: b, steps: [{id: w, run: 'true'}]}]"
    )
    patient.run(waits=False)
    assert patient.one("unmerged").finding.command == f"weft diff group/bad --run {begun.run}"


def test_what_waits_to_be_agreed_to_is_landed_by_merge(patient: Patient) -> None:
    assert patient.plan(LANDS.replace("auto", "manual")).run(waits=False).state == "waiting"
    result = patient.one("unmerged", fix=True)
    assert result.finding.found == "the branch weft/tried/a has 1 commit not on main"
    assert result.finding.command == "weft merge a"


def test_what_is_unfinished_lands_when_the_run_continues(patient: Patient) -> None:
    patient.plan(FAILS).run()
    patient.sql("UPDATE run_states SET state = 'stopped'")
    assert patient.one("unmerged").finding.command == f"weft run {patient.root / 'weft.yaml'}"


def test_what_came_together_in_a_group_is_reported_with_its_slices_and_what_is_only_there_is_too(
    patient: Patient,
) -> None:
    two = """
merge: {mode: manual}
subplans:
  - id: group
    subplans:
      - {id: a, steps: [{id: work, run: "echo a > a; echo b > b"}]}
      - {id: b, depends_on: [a], steps: [{id: work, run: "echo c > c"}]}
"""
    assert patient.plan(two).run(waits=False).state == "waiting"
    assert [event.finding.subject for event in patient.told("unmerged")] == [
        "weft/tried/group.a",
        "weft/tried/group.b",
    ]
    patient.git("switch", "--quiet", "weft/tried/group")
    patient.commit(mine="x\n")
    patient.git("switch", "--quiet", "main")
    by_name = {item.finding.subject: item.finding for item in patient.told("unmerged")}
    assert by_name["weft/tried/group"].found == "the branch weft/tried/group has 1 commit not on main"
    assert by_name["weft/tried/group"].command == "weft merge group"


def test_what_has_come_together_and_landed_is_no_news(patient: Patient) -> None:
    three = "".join(f"  - {{id: {name}, steps: [{{id: work, run: 'echo > {name}'}}]}}\n" for name in "abc")
    assert patient.plan(f"merge: {{mode: auto}}\nsubplans:\n{three}").run().state == "completed"
    assert patient.wrong() == []


def test_what_landed_on_top_of_what_a_person_did_meanwhile_is_no_news(patient: Patient) -> None:
    two = "".join(f"  - {{id: {name}, steps: [{{id: work, run: 'echo > {name}'}}]}}\n" for name in "ab")
    assert patient.plan(f"merge: {{mode: manual}}\nsubplans:\n{two}").run(waits=False).state == "waiting"
    patient.commit(mine="x\n")
    done = patient.weft("merge")
    assert (done.returncode, done.stderr.count("error")) == (0, 0)
    assert patient.told("unmerged") == []


def test_a_merge_is_no_work_of_its_own_unless_commits_were_added(patient: Patient) -> None:
    patient.git("branch", "side")
    assert patient.plan(LANDS).run().state == "completed"
    place = patient.worktree("a")
    patient.commit(mine="x\n")
    patient.git("switch", "--quiet", "side")
    patient.commit(side="x\n")
    patient.git("switch", "--quiet", "main")
    patient.git("merge", "--quiet", "--no-edit", "side")
    patient.git("merge", "--quiet", "--no-edit", "side", at=place)
    assert patient.told("unmerged") == []
    patient.write(at=place, added="x\n")
    patient.git("add", "added", at=place)
    patient.git("commit", "--quiet", "--amend", "--no-edit", at=place)
    assert patient.one("unmerged").finding.found == "the branch weft/tried/a has 1 commit not on main"


def test_what_the_plan_does_not_have_any_more_is_shown_by_git(patient: Patient) -> None:
    patient.plan(FAILS).run()
    patient.plan(LANDS).run()
    result = patient.one("unmerged")
    assert result.finding.command == "git log main..weft/tried/group.bad"
    assert result.finding.found == "the branch weft/tried/group.bad has 1 commit not on main"


def test_a_target_that_is_gone_is_a_problem(patient: Patient) -> None:
    patient.git("branch", "there")
    patient.plan(f"target: there\n{FAILS}").run()
    patient.git("branch", "-D", "there")
    result = patient.one("unmerged", fix=True)
    assert (result.state, result.finding.command) == (
        FindingState.PROBLEM,
        f"git branch there {patient.tip()}",
    )
    assert result.finding.found == "the branch there, the target of tried, does not exist"


def test_a_plan_that_this_weft_cannot_read_is_known_by_its_notes(patient: Patient) -> None:
    patient.plan(FAILS).run()
    patient.sql("UPDATE runs SET text = '{'")
    assert [event.finding.subject for event in patient.told("unmerged")] == ["weft/tried/group.bad"]


def test_a_plan_without_worktrees_has_no_branches(patient: Patient) -> None:
    assert patient.plan(f"isolation: dir\n{FAILS}").run().state == "failed"
    assert patient.wrong() == []
