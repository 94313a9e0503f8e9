"""What the history around a plan tells about its files, and when git is asked at all."""

import os
from pathlib import Path

import pytest

from weft.app.check.check import check
from weft.app.project.files import InputSource
from weft.plan.report.companions import Companions, FilePair
from workspaces.git.repositories import commit, empty_repository, repository, surroundings

OWN = """
weft: 1
plan: shop
agents: {coder: {use: claude}}
subplans:
  - {id: model, prompt: x, verify: v, files: [src/**]}
  - {id: tests, prompt: x, verify: v, files: [tests/]}
"""


def companions(top: Path, text: str = OWN, inside: str = "", **environ: str) -> tuple[Companions, ...]:
    folder = top / inside
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weft.yaml").write_text(text)
    source = InputSource(name="weft.yaml", directory=folder, holds="plan")
    environ = surroundings(top.parent) | environ
    return check(source, environ=environ, plan_only=True).report.overlaps.companions


def history(top: Path, times: int) -> None:
    git = repository(top)
    for number in range(times):
        commit(git, {"src/a": f"{number}", "tests/a": f"{number}", "src/b": f"{number // 2}"})


@pytest.mark.parametrize("inside", ["", "plans/of/mine"])
def test_files_that_changed_together_three_times_are_reported(tmp_path: Path, inside: str) -> None:
    history(tmp_path / "top", 3)
    assert companions(tmp_path / "top", inside=inside) == (
        Companions(first="model", second="tests", files=(FilePair("src/a", "tests/a", 3),), more=0),
    )


def test_fewer_times_may_be_chance(tmp_path: Path) -> None:
    history(tmp_path / "top", 2)
    assert companions(tmp_path / "top") == ()


def test_without_a_commit_or_a_repository_nothing_is_said(tmp_path: Path) -> None:
    empty_repository(tmp_path / "empty")
    assert companions(tmp_path / "empty") == ()
    assert companions(tmp_path / "none") == ()


def test_without_git_nothing_is_said(tmp_path: Path) -> None:
    history(tmp_path / "top", 3)
    assert companions(tmp_path / "top", PATH=str(tmp_path / "nothing here")) == ()


@pytest.mark.parametrize(("files", "asked"), [("", False), ("[src]", False), ("[tests/]", True)])
def test_git_is_asked_only_if_two_subplans_own_files(tmp_path: Path, files: str, asked: bool) -> None:
    history(tmp_path / "top", 1)
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(f"#!/bin/sh\ntouch '{tmp_path}/asked'\n")
    spy.chmod(0o755)
    text = OWN if asked else OWN.replace("files: [tests/]", "").replace("[src/**]", files or "[]")
    companions(tmp_path / "top", text, PATH=f"{spy.parent}{os.pathsep}{os.environ['PATH']}")
    assert (tmp_path / "asked").exists() is asked
