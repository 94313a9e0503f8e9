"""Worktrees that are gone, unknown, locked, broken or dirty: what is fixed, and what is never touched."""

import shutil
from pathlib import Path

import pytest

from app.doctor.patients import FAILS, LANDS, Patient
from weft.app.doctor.findings import FindingState
from weft.errors import WeftError


@pytest.fixture
def landed(patient: Patient) -> Patient:
    assert patient.plan(LANDS).run().state == "completed"
    return patient


@pytest.fixture
def failed(patient: Patient) -> Patient:
    """With a slice, `group/bad`, whose work has not landed."""
    assert patient.plan(FAILS).run().state == "failed"
    return patient


def registered(patient: Patient) -> list[str]:
    listed = patient.git("worktree", "list", "--porcelain").splitlines()
    return [Path(line.split(" ", 1)[1]).name for line in listed if line.startswith("worktree ")][1:]


def all_of_it(patient: Patient) -> tuple[str, dict[str, bytes]]:
    """All refs, and every byte in the worktrees."""
    files = [file for file in (patient.root / ".weft" / "worktrees").rglob("*") if file.is_file()]
    return patient.git("for-each-ref"), {str(file): file.read_bytes() for file in files}


# Lost


def test_a_worktree_whose_directory_is_gone_is_forgotten_and_its_branch_is_kept(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    shutil.rmtree(place)
    refs = failed.git("for-each-ref")
    result = failed.one("worktree-lost")
    assert (result.state, result.finding.subject) == (FindingState.PROBLEM, str(place))
    assert result.finding.found == (
        f"the worktree {place} is registered, but its directory does not exist; it had weft/tried/group.bad "
        f"checked out"
    )
    assert result.finding.command == f"git worktree remove --force {place}"
    assert registered(failed) == ["group.bad"]
    assert failed.one("worktree-lost", fix=True).state is FindingState.FIXED
    assert (registered(failed), failed.git("for-each-ref")) == ([], refs)
    alone = failed.one("branch-without-worktree")
    assert alone.finding.command == f"git worktree add {place} weft/tried/group.bad"


def test_of_one_that_is_lost_nothing_goes_that_was_staged(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    failed.write(at=place, precious="not in any commit\n")
    failed.git("add", "precious", at=place)
    shutil.rmtree(place)
    result = failed.one("worktree-lost", fix=True)
    assert (result.state, result.tried, registered(failed)) == (FindingState.PROBLEM, "", ["group.bad"])


def test_of_one_that_is_lost_a_commit_without_a_name_is_kept(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    failed.git("switch", "--quiet", "--detach", at=place)
    commit = failed.commit(at=place, nameless="x\n")
    shutil.rmtree(place)
    assert failed.one("worktree-lost", fix=True).state is FindingState.PROBLEM
    assert registered(failed) == ["group.bad"]
    failed.git("branch", "named", commit)
    assert failed.one("worktree-lost", fix=True).state is FindingState.FIXED


def test_of_one_that_is_lost_what_an_agent_has_undone_is_kept(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    failed.commit(at=place, undone="x\n")
    failed.git("reset", "--quiet", "--hard", "HEAD~1", at=place)
    shutil.rmtree(place)
    assert failed.one("worktree-lost", fix=True).state is FindingState.PROBLEM
    assert registered(failed) == ["group.bad"]


def test_one_that_is_locked_or_in_the_middle_of_something_is_kept(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    failed.git("worktree", "lock", "--reason", "on a stick", str(place))
    shutil.rmtree(place)
    assert failed.one("worktree-lost", fix=True).state is FindingState.PROBLEM
    failed.git("worktree", "unlock", str(place))
    (failed.root / ".git" / "worktrees" / place.name / "MERGE_HEAD").write_text(failed.tip())
    assert failed.one("worktree-lost", fix=True).state is FindingState.PROBLEM


def test_what_has_changed_since_it_was_found_is_looked_at_again(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    place.rename(failed.outside / "away")
    fix = failed.one("worktree-lost").finding.fix
    assert fix is not None
    failed.git("worktree", "lock", str(place))
    with pytest.raises(WeftError, match="has changed"):
        fix()
    (failed.outside / "away").rename(place)
    fix()
    assert registered(failed) == ["group.bad"]


def test_without_an_index_nothing_can_be_staged(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    shutil.rmtree(place)
    (failed.root / ".git" / "worktrees" / place.name / "index").unlink()
    assert failed.one("worktree-lost", fix=True).state is FindingState.FIXED


def test_a_disk_that_is_not_there_is_no_reason_to_forget(patient: Patient) -> None:
    patient.plan(f"worktrees: '../stick/{{{{ slice.path }}}}'\n{FAILS}").run()
    stick = patient.root.parent / "stick"
    stick.rename(patient.root.parent / "elsewhere")
    assert patient.one("worktree-lost", fix=True).state is FindingState.PROBLEM
    (patient.root.parent / "elsewhere").rename(stick)
    assert patient.told("worktree-lost") == []


def test_a_worktree_of_the_user_is_none_of_ours(landed: Patient) -> None:
    mine = landed.outside / "mine"
    landed.git("worktree", "add", "--quiet", "--detach", str(mine))
    shutil.rmtree(mine)
    assert landed.wrong(fix=True) == []
    assert sorted(registered(landed)) == ["a", "mine"]


# Ghosts and leftovers


def test_a_directory_that_git_does_not_know_is_named_and_removed_only_if_empty(landed: Patient) -> None:
    folder = landed.worktree("a").parent
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "work").write_text("mine\n")
    empty, full = landed.told("worktree-ghost")
    assert (empty.state, empty.finding.command) == (FindingState.PROBLEM, f"rmdir {folder / 'empty'}")
    assert full.finding.found == (
        f"{folder / 'full'} is the path of a worktree, is not registered with git, and holds files"
    )
    assert full.finding.command == f"mv {folder / 'full'} {landed.root / '.weft' / 'full.saved'}"
    states = [event.state for event in landed.told("worktree-ghost", fix=True)]
    assert states == [FindingState.FIXED, FindingState.PROBLEM]
    assert sorted(place.name for place in folder.iterdir()) == ["a", "full"]
    assert (folder / "full" / "work").read_text() == "mine\n"


def test_a_link_in_the_place_of_a_worktree_is_not_followed(landed: Patient) -> None:
    (landed.outside / "empty").mkdir()
    (landed.worktree("a").parent / "link").symlink_to(landed.outside / "empty")
    result = landed.one("worktree-ghost", fix=True)
    assert (result.state, result.tried, result.finding.command[:3]) == (FindingState.PROBLEM, "", "mv ")
    assert (landed.outside / "empty").is_dir()


def test_what_a_removal_that_was_cut_off_has_left_is_removed(landed: Patient) -> None:
    aside = landed.worktree("a").with_name("_old.a")
    (aside / "deep").mkdir(parents=True)
    (aside / "deep" / "file").write_text("x")
    result = landed.one("worktree-leftover")
    assert (result.state, result.finding.command) == (FindingState.WARNING, f"rm -rf {aside}")
    assert landed.one("worktree-leftover", fix=True).state is FindingState.FIXED
    assert not aside.exists()


# Broken and locked


def test_a_worktree_without_its_link_is_broken_and_its_files_stay(landed: Patient) -> None:
    place = landed.worktree("a")
    (place / ".git").unlink()
    result = landed.one("worktree-broken", fix=True)
    assert (result.state, result.finding.command) == (FindingState.PROBLEM, "git worktree repair")
    assert "it has no file `.git`" in result.finding.found
    assert landed.told("worktree-lost") == []
    assert (place / "a").read_text() == "a\n"


def test_a_worktree_that_became_a_repository_of_its_own_is_broken(landed: Patient) -> None:
    place = landed.worktree("a")
    (place / ".git").unlink()
    landed.git("init", "--quiet", at=place)
    assert landed.wrong() == [("worktree-broken", "problem")]


@pytest.mark.parametrize(("reason", "said"), [("", "is locked"), ("keep out", "is locked: keep out")])
def test_a_locked_worktree_is_reported(landed: Patient, reason: str, said: str) -> None:
    place = landed.worktree("a")
    landed.git("worktree", "lock", "--reason", reason, str(place))
    result = landed.one("worktree-locked", fix=True)
    assert result.finding.found == f"the worktree {place} {said}"
    assert result.finding.command == f"git worktree unlock {place}"


def test_a_worktree_that_was_not_made_to_its_end_is_reported(landed: Patient) -> None:
    place = landed.worktree("a")
    landed.git("worktree", "lock", "--reason", "Weft is making it", str(place))
    result = landed.one("worktree-locked", fix=True)
    assert (result.finding.command, place.exists()) == ("weft clean", True)


# Dirty


def test_work_that_is_in_no_commit_is_named_and_never_touched(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    failed.write(at=place, one="changed\n", new="mine\n")
    before = all_of_it(failed)
    result = failed.one("worktree-dirty", fix=True)
    assert result.state is FindingState.WARNING
    assert result.finding.found == f"the worktree {place} has uncommitted changes: one, new"
    assert result.finding.command == f"git -C {place} status"
    assert all_of_it(failed) == before


def test_an_unfinished_merge_is_work(failed: Patient) -> None:
    place = failed.worktree("group/bad")
    failed.git("switch", "--quiet", "--create", "other", "main")
    failed.commit(one="theirs\n")
    assert failed.ask_git("merge", "other", at=place).returncode == 1
    assert "an unfinished `git merge`" in failed.one("worktree-dirty").finding.found


def test_with_a_place_of_their_own_worktrees_are_found_there(patient: Patient) -> None:
    patient.plan(f"worktrees: '../places/{{{{ slice.path }}}}-x'\n{FAILS}").run()
    place = patient.root.parent / "places" / "group.bad-x"
    patient.write(at=place, new="mine\n")
    for at in (patient.root, place):
        report = patient.doctor(at=at)
        subjects = {item.check.id: item.finding.subject for item in report.of(FindingState.WARNING)}
        assert (report.project, subjects["worktree-dirty"]) == (patient.root, str(place))
