"""The remote of the target: bare repositories that move, refuse, hang and vanish."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from weft.ports.target import PushError, RemoteMovedError
from weft.ports.workspaces import HeldError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.target.remote import Remote, missing_remote
from workspaces.git.repositories import commit, surroundings
from workspaces.worlds import World, repository_in


class Scene:
    """A repository whose `main` is at `origin`, and a clone in which another person works."""

    def __init__(self, root: Path) -> None:
        repository_in(root / "repository", {"README": "hello\n"})
        self.world = World(root / "repository")
        self.git = self.world.git
        self.target = self.world.workspaces.target
        self.bare = self.add_remote("origin")
        self.git.do("push", "--quiet", "--set-upstream", "origin", "main")

    def add_remote(self, name: str) -> Git:
        place = self.world.top.parent / f"{name}.git"
        self.git.do("init", "--quiet", "--bare", "--template=", "--initial-branch=main", str(place))
        self.git.do("remote", "add", name, str(place))
        return Git(place, environ=surroundings(place.parent), works=True)

    def remote_tip(self, branch: str = "main") -> str:
        return self.bare.line("rev-parse", "--verify", f"refs/heads/{branch}")

    def push_as_another(self, files: dict[str, str]) -> str:
        """A commit of another person, pushed to `origin`."""
        place = self.world.top.parent / "another"
        if not place.exists():
            self.git.do("clone", "--quiet", str(self.bare.directory), str(place))
        another = Git(place, environ=surroundings(place.parent), works=True)
        another.do("-c", "user.name=Bob", "-c", "user.email=b@example.org", "pull", "--quiet", "--rebase")
        another.do("config", "user.name", "Bob")
        another.do("config", "user.email", "bob@example.org")
        made = commit(another, files)
        another.do("push", "--quiet", "origin", "HEAD:main")
        return made

    def hook(self, script: str) -> None:
        place = self.bare.directory / "hooks" / "pre-receive"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{script}\n")
        place.chmod(0o755)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def why(scene: Scene, remote: str = "origin") -> str:
    """Why the target cannot be pushed."""
    with pytest.raises(PushError) as caught:
        scene.target.push(remote)
    assert type(caught.value) is PushError
    return str(caught.value)


# Where the target is pushed to


def test_the_tip_of_the_target_is_pushed_to_the_branch_of_the_same_name(scene: Scene) -> None:
    made = scene.world.commit({"one": "1"})
    assert scene.target.push("origin") == made
    assert scene.remote_tip() == made


def test_a_branch_that_the_remote_lacks_is_made_there(scene: Scene) -> None:
    other = scene.add_remote("other")
    made = scene.target.push("other")
    assert other.line("rev-parse", "refs/heads/main") == made


def test_what_the_remote_has_already_is_pushed_without_a_change(scene: Scene) -> None:
    before = scene.remote_tip()
    assert scene.target.push("origin") == before
    assert scene.remote_tip() == before


def test_true_is_the_upstream_under_its_own_name(scene: Scene) -> None:
    scene.git.do("config", "branch.main.merge", "refs/heads/trunk")
    before = scene.remote_tip()
    made = scene.world.commit({"one": "1"})
    assert scene.target.push("true") == made
    assert scene.remote_tip("trunk") == made
    assert scene.remote_tip() == before


@pytest.mark.parametrize("keys", [("remote",), ("merge",), ("remote", "merge")])
def test_a_target_without_an_upstream_names_the_command_that_sets_it(
    scene: Scene, keys: tuple[str, ...]
) -> None:
    for key in keys:
        scene.git.do("config", "--unset", f"branch.main.{key}")
    message = why(scene, "true")
    assert "main has no upstream" in message
    assert "git push --set-upstream REMOTE main" in message


def test_a_branch_of_the_own_repository_is_no_upstream_to_push_to(scene: Scene) -> None:
    scene.git.do("config", "branch.main.remote", ".")
    assert "main has no upstream" in why(scene, "true")


def test_the_hooks_of_the_user_do_not_run_on_a_push(scene: Scene) -> None:
    hook = scene.world.top / ".git" / "hooks" / "pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert scene.target.push("origin") == scene.world.target


def test_configuration_says_whether_there_is_a_remote_to_push_to(scene: Scene) -> None:
    assert missing_remote(scene.git, "main", "origin") == ""
    assert missing_remote(scene.git, "main", "true") == ""
    scene.git.do("branch", "other")
    message = missing_remote(scene.git, "other", "true")
    assert message.startswith("other has no upstream to push to; type: git push --set-upstream REMOTE other ")
    assert missing_remote(scene.git, "main", "elsewhere") == (
        "`merge.push` names the remote elsewhere, which does not exist; write `merge: {push: origin}`, or type: "
        "git remote add elsewhere URL"
    )
    scene.git.do("remote", "remove", "origin")
    assert missing_remote(scene.git, "main", "elsewhere") == (
        "`merge.push` names the remote elsewhere, which does not exist; type: git remote add elsewhere URL"
    )


# The remote moves


def test_a_remote_that_is_ahead_is_not_overwritten_even_if_pushes_are_forced_by_configuration(
    scene: Scene,
) -> None:
    theirs = scene.push_as_another({"theirs": "1"})
    scene.git.do("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
    scene.world.commit({"mine": "1"})
    with pytest.raises(RemoteMovedError) as caught:
        scene.target.push("origin")
    assert scene.remote_tip() == theirs
    assert str(caught.value) == (
        "origin has commits that main lacks; type: git pull --no-rebase origin main && git push origin main"
    )


def test_the_commands_for_a_remote_that_is_ahead_name_the_upstream_and_work(scene: Scene) -> None:
    scene.bare.do("branch", "trunk", "main")
    scene.git.do("config", "branch.main.merge", "refs/heads/trunk")
    scene.push_as_another({"theirs": "1"})
    scene.bare.do("update-ref", "refs/heads/trunk", "refs/heads/main")
    made = scene.world.commit({"mine": "1"})
    with pytest.raises(RemoteMovedError) as caught:
        scene.target.push("true")
    pull, push = str(caught.value).partition("type: ")[2].split(" && ")
    scene.git.do(*pull.split()[1:])
    scene.git.do(*push.split()[1:])
    assert scene.bare.says_yes("merge-base", "--is-ancestor", made, "refs/heads/trunk")


def test_a_remote_branch_is_merged_in_memory_and_nothing_moves_before_the_chain_lands(scene: Scene) -> None:
    theirs = scene.push_as_another({"theirs": "1"})
    mine = scene.world.commit({"mine": "1"})
    chain = scene.target.merge_fetched("origin", scene.target.fetch("origin"))
    assert chain is not None
    assert (chain.base, scene.world.target, chain.links) == (mine, mine, ())
    assert scene.world.files(chain.commit) == {"README": "hello\n", "theirs": "1", "mine": "1"}
    assert (
        scene.git.line("show", "-s", "--format=%P|%s", chain.commit)
        == f"{mine} {theirs}|Merge main of origin"
    )
    assert chain.tree == scene.git.line("rev-parse", f"{chain.commit}^{{tree}}")
    assert scene.target.advance(chain)
    assert scene.target.push("origin") == chain.commit
    assert scene.remote_tip() == chain.commit


def test_a_target_that_lacks_only_the_commits_of_the_remote_is_moved_to_them(scene: Scene) -> None:
    theirs = scene.push_as_another({"theirs": "1"})
    chain = scene.target.merge_fetched("origin", scene.target.fetch("origin"))
    assert chain is not None
    assert (chain.base, chain.commit) == (scene.world.base, theirs)


def test_a_target_that_has_all_of_the_remote_needs_no_merge(scene: Scene) -> None:
    scene.world.commit({"mine": "1"})
    assert scene.target.merge_fetched("origin", scene.target.fetch("origin")) is None


def test_a_fetch_changes_neither_branches_and_tags_of_the_user_nor_fetch_head(scene: Scene) -> None:
    scene.bare.do("tag", "theirs", scene.push_as_another({"theirs": "1"}))
    before = scene.world.refs("refs/heads", "refs/tags")
    scene.target.fetch("origin")
    assert scene.world.refs("refs/heads", "refs/tags") == before
    assert not (scene.world.top / ".git" / "FETCH_HEAD").exists()


def test_a_remote_in_conflict_with_the_target_is_reported_with_files_and_commands(scene: Scene) -> None:
    scene.push_as_another({"README": "theirs\n"})
    mine = scene.world.commit({"README": "mine\n"})
    fetched = scene.target.fetch("origin")
    with pytest.raises(HeldError) as caught:
        scene.target.merge_fetched("origin", fetched)
    assert caught.value.files == ("README",)
    assert "git pull --no-rebase origin main" in str(caught.value)
    assert "git push origin main" in str(caught.value)
    assert scene.world.target == mine


# The remote refuses


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo no commits on a Friday; exit 1", "no commits on a Friday"),
        ("exit 1", "pre-receive hook declined"),
    ],
)
def test_a_remote_that_refuses_is_reported_in_the_words_of_git(scene: Scene, script: str, words: str) -> None:
    before = scene.remote_tip()
    scene.hook(script)
    made = scene.world.commit({"one": "1"})
    with pytest.raises(PushError, match=words) as caught:
        scene.target.push("origin")
    assert caught.value.command == "git push origin main"
    assert (scene.remote_tip(), scene.world.target) == (before, made)


# The remote is gone


def test_a_remote_that_has_vanished_is_reported_in_the_words_of_git(scene: Scene) -> None:
    shutil.rmtree(scene.bare.directory)
    assert "does not appear to be a git repository" in why(scene)
    with pytest.raises(PushError, match="does not appear to be a git repository"):
        scene.target.fetch("origin")


def test_a_branch_that_is_gone_from_the_remote_cannot_be_fetched(scene: Scene) -> None:
    scene.bare.do("update-ref", "-d", "refs/heads/main")
    with pytest.raises(PushError, match="couldn't find remote ref"):
        scene.target.fetch("origin")


# The remote hangs, or asks


@pytest.mark.parametrize("contact", ["push", "fetch"])
def test_a_remote_that_hangs_is_ended_with_all_of_its_processes(
    scene: Scene, tmp_path: Path, contact: str
) -> None:
    """Each process of the remote holds the pipe open; its end is read when none is left."""
    pipe, ssh = tmp_path / "pipe", tmp_path / "ssh"
    os.mkfifo(pipe)
    ssh.write_text(f"#!/bin/sh\nexec 3>'{pipe}'\necho hangs >&3\n/bin/sh -c 'sleep 600; :' &\nwait\n")
    ssh.chmod(0o755)
    scene.git.do("config", "core.sshCommand", str(ssh))
    scene.git.do("config", "ssh.variant", "simple")
    scene.git.do("remote", "set-url", "origin", "ssh://host.invalid/repository")

    def written(time_limit: float) -> bytes:
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        remote = Remote(scene.world.ground, time_limit=time_limit)
        with os.fdopen(reader, "rb") as lines:
            with pytest.raises(PushError, match="it took longer than"):
                remote.push("origin", scene.world.target) if contact == "push" else remote.fetch("origin")
            os.set_blocking(lines.fileno(), True)
            return lines.read()

    lines = (written(time_limit) for time_limit in (0.3, 2.0, 30.0))
    assert next(line for line in lines if line) == b"hangs\n"


def test_a_contact_that_hangs_is_ended_with_all_of_its_processes_when_the_run_stops(
    scene: Scene, tmp_path: Path
) -> None:
    pipe, ssh = tmp_path / "pipe", tmp_path / "ssh"
    os.mkfifo(pipe)
    ssh.write_text(f"#!/bin/sh\nexec 3>'{pipe}'\necho hangs >&3\n/bin/sh -c 'sleep 600; :' &\nwait\n")
    ssh.chmod(0o755)
    scene.git.do("config", "core.sshCommand", str(ssh))
    scene.git.do("config", "ssh.variant", "simple")
    scene.git.do("remote", "set-url", "origin", "ssh://host.invalid/repository")
    remote = Remote(scene.world.ground)
    with ThreadPoolExecutor() as threads:
        push = threads.submit(remote.push, "origin", scene.world.target)
        with pipe.open() as lines:
            assert lines.readline() == "hangs\n"
            remote.hang_up()
            assert lines.read() == "", "no process of it is left"
        with pytest.raises(PushError, match="it was ended because the run stops"):
            push.result()
    pipe.unlink()  # a later contact is ended, too, before or after ssh has started
    with pytest.raises(PushError, match="it was ended because the run stops"):
        remote.fetch("origin")


class _Locked(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="repositories"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - a name of the base class
        pass


@pytest.fixture
def locked_url() -> Iterator[str]:
    """A server that asks for a password."""
    with HTTPServer(("127.0.0.1", 0), _Locked) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/repository"
        server.shutdown()
        thread.join()


def test_a_remote_that_asks_for_a_password_fails_and_does_not_wait(scene: Scene, locked_url: str) -> None:
    scene.git.do("remote", "set-url", "origin", locked_url)
    assert "terminal prompts disabled" in why(scene)


@pytest.mark.parametrize("setting", ["", "configuration", "variable"])
def test_ssh_runs_in_batch_mode_unless_the_user_has_set_the_command(tmp_path: Path, setting: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{tmp_path}/calls'\nexit 1\n")
    ssh.chmod(0o755)
    scene = Scene(tmp_path)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}"}
    if setting == "variable":
        environ["GIT_SSH_COMMAND"] = "ssh -o Own=yes"
    if setting == "configuration":
        scene.git.do("config", "core.sshCommand", "ssh -o Own=yes")
    scene.git.do("remote", "set-url", "origin", "ssh://host.invalid/repository")
    with pytest.raises(PushError, match="Could not read from remote repository"):
        World(scene.world.top, environ=environ).workspaces.target.push("origin")
    calls = (tmp_path / "calls").read_text()
    assert ("BatchMode=yes" in calls, "Own=yes" in calls) == (not setting, bool(setting))
