"""The guides say what is so: their plans load, and their commands print what they show."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.running import Project
from weft.cli.main import cli
from weft.plan.loader.load import load_plan
from workspaces.git.repositories import repository

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))
HEAD = "weft: 1\nplan: guide\nagents: {coder: {use: claude}}\n"
SLICE = "subplans: [{{id: one, prompt: Do it, pipeline: {name}, verify: make test}}]\n"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path / "project")
    yield project
    project.end()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def plans(guide: Path) -> list[str]:
    """The plans of a guide; where it shows only pipelines, plans that use each of them."""
    values: list[str] = []
    for block in blocks(guide.read_text(encoding="utf-8"), "yaml"):
        if block.startswith("weft: 1"):
            values.append(block)
        else:
            names = re.findall(r"^  ([a-z-]+):$", block, flags=re.MULTILINE)
            values += [HEAD + block + SLICE.format(name=name) for name in names]
    return values


def named_plan(guide: Path, name: str) -> str:
    text = guide.read_text(encoding="utf-8")
    shown = text.partition(f"`{name}`:\n\n```yaml\n")[2]
    return shown.partition("```")[0]


@pytest.mark.parametrize("name", ["pipelines", "pools-and-limits"])
def test_the_plans_of_a_guide_load_without_a_warning(name: str) -> None:
    texts = plans(ROOT / "docs" / "guide" / f"{name}.md")
    assert texts
    for text in texts:
        warnings = [problem.message for problem in load_plan(text).warnings]
        assert [w for w in warnings if "no verify" not in w] == []


def test_the_plans_of_the_first_guide_load_but_for_the_one_that_is_wrong() -> None:
    first, wrong, groups = plans(ROOT / "docs" / "guide" / "first-plan.md")
    assert load_plan(first).id == load_plan(groups).id == "notes"
    assert "depend_on" in wrong


@pytest.fixture
def _claude_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "pytest"):
        (folder / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.usefixtures("_claude_is_installed")
def test_the_commands_of_the_first_guide_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = ROOT / "docs" / "guide" / "first-plan.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    for name in ("weft.yaml", "wrong.yaml"):
        (tmp_path / name).write_text(named_plan(guide, name), encoding="utf-8")
    shown = blocks(guide.read_text(encoding="utf-8"), "console")
    assert len(shown) == 2
    for block in shown:
        command, _, output = block.partition("\n")
        result = CliRunner().invoke(cli, command.removeprefix("$ weft ").split())
        assert result.output == output


def alike(text: str) -> str:
    """Without what is different in each run: times, and the id of the run."""
    text = re.sub(r"^\d\d:\d\d:\d\d|\b\d:\d\d$", "TIME", text, flags=re.MULTILINE)
    return re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN", re.sub(r"\d+\.\d s", "N s", text))


def test_the_commands_of_the_guide_about_running_print_what_it_shows(project: Project) -> None:
    guide = ROOT / "docs" / "guide" / "running.md"
    (project.root / "weft.yaml").write_text(named_plan(guide, "weft.yaml"), encoding="utf-8")
    shown = blocks(guide.read_text(encoding="utf-8"), "console")
    assert len(shown) == 7
    for block in shown:
        command, _, output = block.partition("\n")
        arguments = command.removeprefix("$ weft ").split()
        done = project.process(
            *arguments, capture_output=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert alike(done.stdout.replace(str(project.root), "/srv/notes")) == alike(output)


@pytest.mark.usefixtures("_claude_is_installed")
def test_the_command_of_the_readme_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = "examples/plans/notes.yaml"
    repository(tmp_path / "top", {plan: (ROOT / plan).read_text(encoding="utf-8")})
    monkeypatch.chdir(tmp_path / "top")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (block,) = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "console")
    command, _, output = block.partition("\n")
    assert CliRunner().invoke(cli, command.removeprefix("$ weft ").split()).output == output


def test_the_picture_of_the_readme_is_what_weft_graph_draws(tmp_path: Path) -> None:
    plan = ROOT / "examples" / "plans" / "migration.yaml"
    drawn = tmp_path / "drawn.svg"
    assert CliRunner().invoke(cli, ["graph", str(plan), "--out", str(drawn)]).exit_code == 0
    assert drawn.read_text(encoding="utf-8") == (ROOT / "docs/pictures/migration.svg").read_text(
        encoding="utf-8"
    )


def git(project: Project, *command: str, check: bool = True) -> None:
    who = {"NAME": "You", "EMAIL": "you@localhost"}
    env = {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()}
    argv = ("git", "-C", str(project.root), *command)
    subprocess.run(argv, env=project.env | env, capture_output=True, check=check)


def test_the_guide_to_worktrees_leads_through_a_conflict_to_what_landed(project: Project) -> None:
    guide = ROOT / "docs" / "guide" / "worktrees.md"
    git(project, "init", "--quiet", "--initial-branch", "main")
    (project.root / "colours.txt").write_text("none yet\n")
    git(project, "add", "colours.txt")
    git(project, "commit", "--quiet", "--message", "one")
    (project.root / "weft.yaml").write_text(plans(guide)[0])
    assert project.weft("run").exit_code == 4
    assert (project.root / "not-cold.txt").read_text() == "red orange"
    messages = project.weft("merge", "--list").stdout
    typed = blocks(guide.read_text(), "sh")[0].splitlines()
    assert [line for line in typed if line.replace(" -C ", f" -C {project.root}/") not in messages] == []
    git(project, *typed[0].split()[1:], check=False)
    (project.root / ".weft/worktrees/colours/soft/colours.txt").write_text("soft neon\n")
    git(project, "-C", ".weft/worktrees/colours/soft", "commit", "--quiet", "--all", "--no-edit")
    assert project.weft("merge", "soft").exit_code == 0
    assert (project.root / "colours.txt").read_text() == "soft neon\n"
