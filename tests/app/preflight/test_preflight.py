"""What a plan needs of the machine and the repository: refused where a run is certain to fail, never otherwise."""

import os
import re
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest

from app.programs import Programs
from weft.app.preflight.preflight import Preflight, preflight
from weft.app.project.files import InputSource
from weft.app.project.plans import load
from weft.errors import InputError
from weft.plan.loader.load import Surroundings, load_plan
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import commit, repository, surroundings
from workspaces.git.signing import sign_with

MADE = "subplans: [{id: a, steps: [{id: s, run: make}]}"
STEP = "steps: [{id: s, run: 'echo x > x'}]"
SCRIPT = "#!/bin/sh\n"


class Scene:
    """A project on a machine with few programs."""

    def __init__(self, root: Path) -> None:
        self.machine = Programs(root)
        self.folder = root / "project"
        self.folder.mkdir()

    def look(self, text: str, *, at: str = "", done: Collection[str] = (), git: bool = False) -> Preflight:
        environ = self.machine.environ
        if git:
            environ = {**surroundings(self.folder.parent), "HOME": str(self.machine.home)}
        plan = load_plan(f"weft: 1\nplan: p\n{text}\n", surroundings=Surroundings(git=git))
        return preflight(plan, self.folder / at, environ, done=done)

    def refusals(self, text: str, **more: object) -> list[str]:
        return [*self.look(text, **more).refusals]  # type: ignore[arg-type]

    def type(self, message: str) -> None:
        """Types the command that the message suggests, in a directory elsewhere."""
        (command,) = re.findall(r"type: (.*?)(?:; |$)", message)
        environ = {**surroundings(self.folder.parent), "PATH": os.environ["PATH"]}
        subprocess.run(["/bin/sh", "-c", command], cwd=self.machine.home, env=environ, check=True)

    def warnings(self, text: str, **more: object) -> list[str]:
        result = self.look(text, **more)  # type: ignore[arg-type]
        assert result.refusals == ()
        return [*result.warnings]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture
def git(scene: Scene) -> Git:
    return repository(scene.folder)


# Programs


VERIFIED = (
    "subplans: [{id: a, prompt: x, agent: c, verify: TOOL}]\nagents: {c: {use: command, command: agent}}"
)


def test_a_program_that_nothing_can_install_is_refused_with_what_to_do(scene: Scene) -> None:
    scene.machine.add("agent")
    (text,) = scene.refusals(VERIFIED.replace("TOOL", "nothing -q"))
    assert text == "verify of a needs nothing, which is not on the PATH; install it, or write another command"
    scene.machine.add("nothing")
    assert scene.refusals(VERIFIED.replace("TOOL", "nothing -q")) == []


def test_the_environment_that_has_it_is_named(scene: Scene) -> None:
    scene.machine.add("agent")
    tool = scene.folder / ".venv" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text(SCRIPT)
    tool.chmod(0o755)
    (text,) = scene.refusals(VERIFIED.replace("TOOL", "tool"))
    assert text.endswith(
        f"it is in .venv/bin: put that on the PATH, by typing: export PATH={tool.parent}:$PATH"
    )


@pytest.mark.parametrize(
    ("text", "purpose"),
    [
        (f"verify: nothing\nsubplans: [{{id: a, {STEP}}}]", "verify of the plan"),
        (f"subplans: [{{id: g, verify: nothing, subplans: [{{id: a, {STEP}}}]}}]", "verify of g"),
        (f"setup: nothing\nsubplans: [{{id: a, {STEP}}}]", "setup of a"),
        ("subplans: [{id: a, steps: [{id: s, run: [nothing, x]}]}]", "step a:s"),
        ("subplans: [{id: a, steps: [{id: s, run: nothing x}]}]", "step a:s"),
        ("subplans: [{id: a, prompt: x}]\nagents: {c: {use: command, command: nothing}}", "agent c"),
        ("subplans: [{id: a, pipeline: q}]\npipelines: {q: [{id: n, pipeline: r}], r: [{id: s, run: nothing}]}",
         "step a:s"),
        ("subplans: [{id: a, steps: [{id: s, run: /no/such/nothing}]}]", "step a:s"),
    ],
)  # fmt: skip
def test_it_is_looked_for_wherever_a_plan_names_one(scene: Scene, text: str, purpose: str) -> None:
    (entry,) = scene.refusals(f"isolation: none\npolicy: serial\n{text}")
    assert entry.startswith(f"{purpose} needs ")


@pytest.mark.parametrize(
    "text",
    [
        "setup: pip install nothing\nsubplans: [{id: a, verify: nothing, steps: [{id: s, action: verify}]}]",
        "subplans: [{id: a, steps: [{id: s, run: make tools}, {id: t, run: nothing}]}]",
        f"{MADE}, {{id: b, depends_on: [a], steps: [{{id: s, run: nothing}}]}}]",
        "subplans: [{id: a, verify: [make, nothing], steps: [{id: s, action: verify}]}]",
        "verify: [make, nothing]\nsubplans: [{id: a, steps: [{id: s, run: make}]}]",
        "subplans: [{id: a, steps: [{id: s, run: nothing, on_error: continue}]}]",
        "subplans: [{id: a, verify: nothing, steps: [{id: s, run: 'echo x'}]}]",
        "subplans: [{id: a, steps: [{id: s, run: nothing, condition: '{{ attempt > 1 }}'}]}]",
    ],
)
def test_where_it_may_come_or_is_not_needed_it_is_a_warning(scene: Scene, text: str) -> None:
    scene.machine.add("make")
    scene.machine.add("pip")
    (entry,) = scene.warnings(f"isolation: dir\n{text}")
    assert "needs nothing, which is not on the PATH" in entry


@pytest.mark.parametrize(
    "text",
    [
        "subplans: [{id: a, steps: [{id: s, run: nothing, env: {PATH: /there}}]}]",
        "subplans: [{id: a, steps: [{id: s, run: nothing || true}]}]",
        "subplans: [{id: a, steps: [{id: s, run: 'if true; then nothing; fi'}]}]",
        "subplans: [{id: a, steps: [{id: s, run: hash -r}]}]",
    ],
)
def test_what_cannot_be_judged_is_not(scene: Scene, text: str) -> None:
    assert scene.warnings(f"isolation: dir\n{text}") == []


def test_a_directory_on_the_path_that_depends_on_the_current_one_does_not_count(scene: Scene) -> None:
    scene.machine.folder = Path("bin")
    (text,) = scene.refusals("isolation: dir\nsubplans: [{id: a, steps: [{id: s, run: nothing}]}]")
    assert "needs nothing" in text


def test_what_is_done_needs_nothing_any_more(scene: Scene) -> None:
    text = "isolation: dir\nverify: nothing\nsubplans: [{id: a, steps: [{id: s, run: nothing}]}]"
    assert len(scene.refusals(text)) == 1
    assert scene.refusals(text, done={"a"}) == []


def test_an_agent_that_is_not_installed_and_a_script_that_is_not_there(scene: Scene) -> None:
    agents = "agents: {s: {use: scripted, script: x.yaml}}"
    text = f"isolation: dir\n{agents}\nsubplans: [{{id: a, prompt: x, agent: AGENT}}]"
    (entry,) = scene.refusals(text.replace("AGENT", "codex"))
    assert entry.startswith("the agent codex needs codex, which is not on the PATH; to install it, type: npm")
    (entry,) = scene.refusals(text.replace("AGENT", "s"))
    assert entry.startswith(f"the agent s plays the script {scene.folder}/x.yaml, which does not exist")
    (scene.folder / "x.yaml").touch()
    assert scene.refusals(text.replace("AGENT", "s")) == []


# Paths in the workspace


AGENT = "agents: {c: {use: command, command: ./agent.sh}}\n"
ALONE = AGENT + "subplans: [{id: a, prompt: x, verify: test -e x}]"


@pytest.mark.parametrize("at", ["", "sub"])
@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_script_that_no_slice_can_have_is_refused_until_what_is_suggested_is_typed(
    scene: Scene, git: Git, at: str, is_ignored: bool
) -> None:
    commit(git, {"sub/x": "", ".gitignore": "agent.sh\n" if is_ignored else ""})
    (text,) = scene.refusals(ALONE, git=True, at=at)
    assert text == (
        "agent c needs ./agent.sh, which is not among the files that slices start with; add and commit it, "
        "or write another command"
    )
    (scene.folder / at / "agent.sh").write_text(SCRIPT)
    (text,) = scene.refusals(ALONE, git=True, at=at)
    assert text.endswith("; to leave it out of git, write `copy: [agent.sh]` in the plan")
    scene.type(text)
    (text,) = scene.refusals(ALONE, git=True, at=at)
    assert "is not executable in the commit that slices start from" in text
    scene.type(text)
    assert scene.refusals(ALONE, git=True, at=at) == []
    assert git.line("status", "--porcelain") == ""


def test_a_script_that_copy_or_link_brings_is_no_refusal(scene: Scene, git: Git) -> None:
    commit(git, {"x": ""})
    (scene.folder / "agent.sh").write_text(SCRIPT)
    assert scene.refusals(f"copy: [agent.sh]\n{ALONE}", git=True) == []
    assert len(scene.refusals(f"copy: [other]\n{ALONE}", git=True)) == 1
    tools = ALONE.replace("./agent.sh", "./tools/agent.sh")
    assert scene.refusals(f"link: [tools]\n{tools}", git=True) == []


def test_a_script_above_the_plans_directory_cannot_be_copied(scene: Scene, git: Git) -> None:
    commit(git, {"sub/x": ""})
    (scene.folder / "agent.sh").write_text(SCRIPT)
    (text,) = scene.refusals(ALONE.replace("./agent.sh", "../agent.sh"), git=True, at="sub")
    assert "`copy:" not in text
    scene.type(text)
    (text,) = scene.refusals(ALONE.replace("./agent.sh", "../agent.sh"), git=True, at="sub")
    assert "is not executable" in text


def test_where_the_plan_is_below_the_top_paths_begin_there(scene: Scene, git: Git) -> None:
    place = scene.folder / "sub" / "agent.sh"
    place.parent.mkdir()
    place.write_text(SCRIPT)
    place.chmod(0o755)
    git.do("add", "sub")
    git.do("commit", "--quiet", "--message", "script")
    assert scene.refusals(ALONE, git=True, at="sub") == []
    assert scene.refusals(ALONE.replace("./agent.sh", "../sub/agent.sh"), git=True, at="sub") == []
    assert len(scene.refusals(ALONE, git=True)) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{AGENT}subplans: [{{id: a, {STEP}}}, {{id: b, prompt: x, depends_on: [a]}}]",
        f"{AGENT}subplans: [{{id: a, {STEP}}}, {{id: b, prompt: x}}]",
        f"{AGENT}setup: touch x\nsubplans: [{{id: b, prompt: x}}]",
        "subplans: [{id: a, verify: ./agent.sh, steps: [{id: s, run: 'echo x'}, {id: v, action: verify}]}]",
        f"verify: ./agent.sh\nsubplans: [{{id: a, {STEP}}}]",
    ],
)
def test_a_script_that_a_step_may_make_is_a_warning(scene: Scene, git: Git, text: str) -> None:
    (entry,) = scene.warnings(text, git=True)
    assert entry.endswith("(unless a step makes it)")


def test_after_an_earlier_run_the_branch_may_have_more_files(scene: Scene, git: Git) -> None:
    text = f"{AGENT}subplans: [{{id: a, {STEP}}}, {{id: b, prompt: x}}]"
    assert scene.refusals(text, git=True, done={"a"}) == []


def test_in_the_plans_own_directory_its_files_count(scene: Scene) -> None:
    text = f"isolation: none\npolicy: serial\n{ALONE}"
    assert len(scene.refusals(text)) == 1
    (scene.folder / "agent.sh").write_text(SCRIPT)
    (entry,) = scene.refusals(text)
    assert "is not executable" in entry
    scene.type(entry)
    assert scene.refusals(text) == []


def test_a_directory_of_its_own_has_no_files_at_first(scene: Scene) -> None:
    (scene.folder / "agent.sh").write_text(SCRIPT)
    (text,) = scene.refusals(f"isolation: dir\n{ALONE}")
    assert text.endswith(
        "is not in the directories that slices start with; write `copy: [agent.sh]` in the plan"
    )
    assert scene.refusals(f"isolation: dir\ncopy: [agent.sh]\n{ALONE}") == []


# The repository


PLAIN = f"subplans: [{{id: a, {STEP}}}]"


def test_a_base_that_does_not_exist_is_refused(scene: Scene, git: Git) -> None:
    (text,) = scene.refusals(f"base: mian\n{PLAIN}", git=True)
    assert text.startswith("'mian', the `base` of the plan, is neither a branch nor a tag nor a commit")
    assert "did you mean 'main'?" in text
    assert scene.refusals(f"base: main\n{PLAIN}", git=True) == []


def test_a_plan_in_a_directory_that_the_commit_does_not_have_is_refused(scene: Scene, git: Git) -> None:
    (scene.folder / "plans").mkdir()
    (text,) = scene.refusals(PLAIN, git=True, at="plans")
    assert "the plan is in plans/, and the commit" in text
    base = git.line("rev-parse", "HEAD")
    (scene.folder / "plans" / "weft.yaml").touch()
    scene.type(text)
    assert scene.refusals(PLAIN, git=True, at="plans") == []
    assert len(scene.refusals(f"base: {base}\ntarget: main\n{PLAIN}", git=True, at="plans")) == 1


def test_a_plan_in_a_directory_that_git_ignores_is_refused(scene: Scene, git: Git) -> None:
    commit(git, {".gitignore": "plans\n"})
    (scene.folder / "plans").mkdir()
    (text,) = scene.refusals(PLAIN, git=True, at="plans")
    assert text == (
        "the plan is in plans/, which git ignores, so slices would not have this directory; move the plan to a "
        "directory that git tracks"
    )


@pytest.mark.usefixtures("git")
def test_a_signature_that_cannot_be_made_is_refused(scene: Scene) -> None:
    environ = {**surroundings(scene.folder.parent), "HOME": str(scene.machine.home)}
    sign_with(
        Git(scene.folder, environ=environ), scene.machine.root / "gpg", "echo 'no secret key' >&2; exit 2"
    )
    (text,) = scene.refusals(PLAIN, git=True)
    assert text.startswith(
        "commits must be signed (`merge.sign`, or git's commit.gpgSign), but git cannot sign: "
    )
    assert scene.refusals(f"merge: {{sign: false}}\n{PLAIN}", git=True) == []


def test_a_program_that_the_repository_names_is_not_run_to_try_a_signature(scene: Scene, git: Git) -> None:
    mark = scene.machine.root / "mark"
    sign_with(git, scene.machine.root / "gpg", f"echo run > {mark}; exit 2")
    git.do("config", "commit.gpgSign", "true")
    git.do("config", "gpg.program", str(scene.machine.root / "gpg"))
    assert scene.refusals(PLAIN, git=True) == []
    assert not mark.exists()


def test_commits_without_a_name_are_a_warning(scene: Scene, git: Git) -> None:
    assert scene.warnings(PLAIN, git=True) == []
    git.do("config", "--remove-section", "user")
    git.do("config", "user.useConfigOnly", "true")
    (text,) = scene.warnings(PLAIN, git=True)
    assert text.startswith(
        "git has no name and e-mail address for you, so Weft commits as Weft <weft@localhost>"
    )


# The rest


def test_a_sandbox_that_cannot_be_had_is_refused(scene: Scene) -> None:
    (text,) = scene.refusals(f"isolation: dir\nsandbox: bwrap\n{PLAIN}")
    assert "`sandbox: bwrap` does not work here: bubblewrap is not installed" in text


def test_files_to_bring_that_are_not_there_are_a_warning(scene: Scene, git: Git) -> None:
    commit(git, {"x": ""})
    warned = scene.warnings(f"copy: [.env]\nlink: [node_modules]\n{PLAIN}", git=True)
    assert [item.partition(",")[0] for item in warned] == [
        f"`copy: .env` matches no file in {scene.folder}",
        f"`link: node_modules` matches no file in {scene.folder}",
    ]
    (scene.folder / ".git" / "info").mkdir(exist_ok=True)
    (scene.folder / ".git" / "info" / "exclude").write_text("node_modules\n.env\n")
    (scene.folder / ".env").touch()
    (scene.folder / "node_modules").mkdir()
    assert scene.warnings(f"copy: [.env]\nlink: [node_modules]\n{PLAIN}", git=True) == []


def test_a_hook_for_notifications_that_is_not_there_is_a_warning(scene: Scene) -> None:
    text = f"isolation: dir\n{PLAIN}\nnotify: [{{on: [finished], run: HOOK}}]"
    for hook in ("nothing -x", "./hook"):
        (entry,) = scene.warnings(text.replace("HOOK", hook))
        assert entry.startswith(f"`notify` runs {hook.split()[0]}, which is not there")
    (scene.folder / "hook").write_text(SCRIPT)
    (scene.folder / "hook").chmod(0o755)
    assert scene.warnings(text.replace("HOOK", "./hook")) == []


def test_all_that_is_refused_is_said_at_once(scene: Scene) -> None:
    text = "isolation: dir\nsandbox: bwrap\nsubplans: [{id: a, steps: [{id: s, run: nothing}]}]"
    with pytest.raises(InputError) as refused:
        scene.look(text).require()
    assert [line.partition(":")[0] for line in refused.value.lines()] == ["error", "error"]


def test_a_variable_that_is_not_set_is_refused_where_a_command_reads_it(scene: Scene) -> None:
    text = "isolation: dir\nenv_allow: [TOKEN]\nsubplans: [{id: a, steps: [{id: s, run: 'echo {{ READ }}'MORE}]}]"
    (entry,) = scene.refusals(text.replace("READ", "env.TOKEN").replace("MORE", ""))
    assert entry == "step a:s reads env.TOKEN, which is not set; set it before you start Weft"
    (entry,) = scene.warnings(text.replace("READ", "env.TOKEN | raw").replace("MORE", ", on_error: continue"))
    assert "env.TOKEN" in entry
    assert scene.warnings(text.replace("READ", "env.TOKEN | default(1)").replace("MORE", "")) == []


def test_commands_of_the_project_that_are_not_approved_are_a_warning(tmp_path: Path) -> None:
    config = tmp_path / ".weft" / "config.yaml"
    config.parent.mkdir()
    config.write_text("setup: [echo x]\n")
    (tmp_path / "weft.yaml").write_text(f"weft: 1\nplan: p\nisolation: dir\n{PLAIN}\n")
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    plan = load(InputSource(name="weft.yaml", directory=tmp_path, holds="plan"), environ=environ)
    (text,) = preflight(plan, tmp_path, environ).warnings
    assert ".weft/config.yaml came with this project, and names commands that you have not approved" in text
    assert text.endswith("`weft config approve` shows and approves them")
