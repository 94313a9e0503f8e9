"""What a step in a sandbox sees; with real sandboxes where that can be tried."""

import os
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace

from weft.plan.sandbox import Sandbox
from weft.runtime.sandbox.boxes import Boxes
from weft.runtime.sandbox.call import PathAccess, SandboxPath
from weft.runtime.sandbox.git import git_places
from weft.runtime.sandbox.view import SandboxContext, StepNeeds, users_homes, view
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.clones.clone import hand_out, make_clone

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@b")


def git(folder: Path, *command: str) -> None:
    subprocess.run(["git", *IDENTITY, *command], cwd=folder, check=True, capture_output=True)


class Ground:
    """A home with a project in it, that has a linked worktree with a clone."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.weft = self.project / ".weft"
        self.workspace = self.weft / "worktrees" / "a"
        self.project.mkdir(parents=True)
        (self.home / "secret").write_text("s")
        (self.project / "file").write_text("f")
        git(self.project, "init", "-q", "-b", "main")
        git(self.project, "add", "file")
        git(self.project, "commit", "-q", "-m", "x")
        git(self.project, "worktree", "add", "-q", "-b", "weft/p/a", str(self.workspace))
        self.common = self.project / ".git"
        self.own = self.common / "worktrees" / "a"
        environ = {"PATH": os.environ["PATH"], "HOME": str(root)}
        make_clone(Git(self.project, environ=environ), self.own, self.common, {})
        hand_out(Git(self.workspace, environ=environ), self.own, "refs/heads/weft/p/a", pause=lambda _: None)
        self.clone = self.own / "weft-clone" / "git"
        self.context = SandboxContext(
            homes=(self.home,), project=self.project, weft=self.weft, plan_dir=self.project
        )
        self.needs = StepNeeds(
            workspace=self.workspace,
            home=self.weft / "runs" / "r" / "homes" / "a",
            output=self.weft / "runs" / "r" / "logs" / "a@sandbox",
            programs=("/bin/sh",),
            search=os.defpath,
        )
        self.needs.home.mkdir(parents=True)
        self.needs.output.mkdir(parents=True)

    def view(self, **sandbox) -> dict[str, PathAccess]:
        return {
            place.path: place.seen
            for place in view(self.context, self.needs, Sandbox(use="bwrap", **sandbox))
        }

    def run(self, bwrap: str, script: str, **sandbox) -> "subprocess.CompletedProcess[str]":
        boxes = Boxes(program=bwrap, context=self.context)
        box = Sandbox(use="bwrap", **sandbox)
        (argv,) = boxes.around((("/bin/sh", "-c", script),), self.needs, box)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.needs.home)}
        return subprocess.run(
            argv, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path.resolve())


# What is seen, without a sandbox


def test_what_is_the_step_s_own_can_be_written_and_homes_and_weft_are_hidden(ground: Ground) -> None:
    seen = ground.view()
    written = [ground.workspace, ground.needs.home, ground.needs.output]
    assert [seen[str(item)] for item in written] == [PathAccess.WRITE] * 3
    assert [seen[str(entry)] for entry in (ground.home, ground.weft)] == [PathAccess.EMPTY] * 2
    assert (seen[str(ground.project)], seen["/tmp"]) == (PathAccess.READ, PathAccess.SCRATCH)


def test_of_git_only_the_clone_can_be_written_and_only_objects_are_read(ground: Ground) -> None:
    places = {place.path: place.seen for place in git_places(ground.workspace)}
    assert places == {
        str(ground.common): PathAccess.EMPTY,
        str(ground.common / "objects"): PathAccess.READ,
        str(ground.clone): PathAccess.WRITE,
        str(ground.workspace / ".git"): PathAccess.COVERED,
    }


def test_nothing_that_the_plan_says_opens_the_link_to_the_worktree_itself(ground: Ground) -> None:
    seen = ground.view(write=(".git",))
    assert seen[str(ground.workspace / ".git")] is PathAccess.COVERED


def test_a_worktree_without_a_clone_can_only_read_the_repository(ground: Ground) -> None:
    (ground.own / "weft-clone").rename(ground.own / "elsewhere")
    read = [ground.workspace / ".git", ground.common]
    assert list(git_places(ground.workspace)) == [SandboxPath(str(item), PathAccess.READ) for item in read]


def test_of_a_plan_in_a_folder_the_whole_worktree_can_be_written(ground: Ground) -> None:
    (ground.workspace / "inside").mkdir()
    needs = replace(ground.needs, workspace=ground.workspace / "inside")
    seen = {place.path: place.seen for place in view(ground.context, needs, Sandbox(use="bwrap"))}
    assert (seen[str(ground.workspace)], seen[str(ground.clone)]) == (PathAccess.WRITE, PathAccess.WRITE)


def test_a_worktree_that_the_repository_does_not_know_opens_nothing(ground: Ground) -> None:
    (ground.own / "gitdir").write_text(f"{ground.home}/elsewhere/.git\n")
    assert list(git_places(ground.workspace)) == [
        SandboxPath(str(ground.workspace / ".git"), PathAccess.READ)
    ]


def test_a_whole_repository_in_a_workspace_is_only_read(ground: Ground) -> None:
    assert list(git_places(ground.project)) == [SandboxPath(str(ground.common), PathAccess.READ)]


def test_other_object_stores_are_read(ground: Ground) -> None:
    (ground.common / "objects" / "info" / "alternates").write_text("# note\n../other\n")
    places = {place.path: place.seen for place in git_places(ground.workspace)}
    assert places[str(ground.common / "other")] is PathAccess.READ


def test_what_the_plan_says_counts_and_the_strictest_of_one_path(ground: Ground) -> None:
    for name in ("tests", "out"):
        (ground.workspace / name).mkdir()
    seen = ground.view(
        write=("~/secret", "out"), read=("tests", "out", "missing"), hide=("file", "out", "/usr/share")
    )
    values = [seen[str(item)] for item in (ground.home / "secret", ground.workspace / "tests")]
    assert values == [PathAccess.WRITE, PathAccess.READ]
    assert (seen[str(ground.workspace / "file")], seen[str(ground.workspace / "out")]) == (
        PathAccess.BLANK,
        PathAccess.EMPTY,
    )
    assert seen["/usr/share"] is PathAccess.EMPTY
    assert str(ground.workspace / "missing") not in seen


def test_a_link_in_the_workspace_opens_nothing_outside(ground: Ground) -> None:
    (ground.workspace / "out").symlink_to(ground.home)
    assert ground.view(write=("out",))[str(ground.home)] is PathAccess.EMPTY


def test_links_on_the_way_are_there_where_they_are_hidden(ground: Ground) -> None:
    (ground.home / "way").symlink_to("project")
    needs = replace(ground.needs, workspace=ground.home / "way" / ".weft" / "worktrees" / "a")
    run_view = view(ground.context, needs, Sandbox(use="bwrap"))
    assert SandboxPath(str(ground.home / "way"), PathAccess.LINK, "project") in run_view


def test_programs_in_the_home_are_seen_and_those_in_the_workspace_stay_as_they_are(ground: Ground) -> None:
    for folder in (ground.home / "tools", ground.workspace / "tools"):
        folder.mkdir()
    search = f"{ground.home}/tools:{ground.workspace}/tools"
    run_view = view(ground.context, replace(ground.needs, search=search), Sandbox(use="bwrap"))
    seen = {place.path: place.seen for place in run_view}
    assert seen[f"{ground.home}/tools"] is PathAccess.READ
    assert f"{ground.workspace}/tools" not in seen


def test_a_link_that_is_seen_with_its_directory_is_not_made_again(ground: Ground) -> None:
    (ground.project / "way").symlink_to(".weft")
    needs = replace(ground.needs, workspace=ground.project / "way" / "worktrees" / "a")
    assert all(
        place.seen is not PathAccess.LINK for place in view(ground.context, needs, Sandbox(use="bwrap"))
    )


def test_the_homes_of_the_user_are_found_and_the_root_is_none(tmp_path: Path) -> None:
    assert users_homes({"HOME": str(tmp_path)})[0] == tmp_path.resolve()
    assert Path("/") not in users_homes({"HOME": "/"})


# In real sandboxes


def test_a_step_writes_in_its_workspace_home_and_tmp_and_nowhere_else(ground: Ground, bwrap: str) -> None:
    name = f"weft-{uuid4().hex}"  # no other program has a file of this name in /tmp
    free = f"touch {name} ~/{name} /tmp/{name} {ground.needs.output}/{name}"
    places = (ground.home, ground.project, ground.weft, Path("/"), Path("/usr"), ground.common / "hooks")
    tries = "; ".join(f"touch {place}/{name} 2>/dev/null && exit 3" for place in places)
    done = ground.run(bwrap, f"{free} || exit 2; {tries}; exit 0")
    assert (done.returncode, done.stderr) == (0, "")
    assert (ground.workspace / name).exists()
    assert not Path("/tmp", name).exists()


def test_a_step_reads_the_project_and_nothing_else_of_the_home(ground: Ground, bwrap: str) -> None:
    done = ground.run(bwrap, f"ls -A {ground.home}; cat {ground.project}/file; cat {ground.home}/secret")
    assert (done.returncode, done.stdout) == (1, "project\nf")


def test_a_step_commits_in_its_clone_and_changes_nothing_of_the_repository(
    ground: Ground, bwrap: str
) -> None:
    (ground.needs.home / ".gitconfig").write_text('[user]\nname = "A"\nemail = "a@b"\n')
    before = {file: file.read_bytes() for file in ground.common.rglob("*") if file.is_file()}
    tries = (
        "rm -f .git", "mv .git x", f"cat {ground.own}/commondir", f"touch {ground.common}/objects/pack/x",
        f"ls {ground.common}/refs", f"cat {ground.common}/config",
    )  # fmt: skip
    script = "; ".join(f"{item} 2>/dev/null && exit 3" for item in tries)
    done = ground.run(bwrap, f"echo 1 > one; git add one && git commit -q -m one || exit 2; {script}; exit 0")
    assert (done.returncode, done.stderr) == (0, "")
    after = {file: file.read_bytes() for file in ground.common.rglob("*") if file.is_file()}
    assert {file for file in after if after[file] != before.get(file)} == {
        file for file in after if file.is_relative_to(ground.clone) and after[file] != before.get(file)
    }
    assert (ground.clone / "refs" / "heads" / "weft" / "p" / "a").exists()


def test_without_a_network_there_is_only_the_machine_s_own(ground: Ground, bwrap: str) -> None:
    done = ground.run(bwrap, "tail -n +3 /proc/net/dev | cut -d: -f1", network=False)
    assert done.stdout.split() == ["lo"]


def test_exit_codes_are_passed_on_and_there_are_no_privileges(ground: Ground, bwrap: str) -> None:
    assert ground.run(bwrap, "exit 7").returncode == 7
    assert ground.run(bwrap, "kill -9 $$").returncode == 128 + 9
    assert ground.run(bwrap, "grep CapEff /proc/self/status").stdout.split() == ["CapEff:", "0" * 16]


def test_what_is_hidden_in_the_workspace_cannot_be_opened(ground: Ground, bwrap: str) -> None:
    assert ground.run(bwrap, "cat file", hide=("file",)).returncode == 1
    assert ground.run(bwrap, "echo x >> file", read=("file",)).returncode != 0
