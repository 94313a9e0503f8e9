"""git's settings as Weft reads them from one listing, held against git's own answers."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.settings import GitSettings, settings_in
from workspaces.git.repositories import repository

BOOLEANS = ["true", "TRUE", "yes", "On", "1", "2", "-1", "1k", "0", "00", "0k", "false", "no", "off", ""]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "repository")


@pytest.mark.parametrize("value", BOOLEANS)
def test_a_boolean_is_what_git_takes_it_for(git: Git, value: str) -> None:
    git.do("config", "core.ignoreCase", value)
    expected = git.line("config", "--type=bool", "--get", "core.ignoreCase") == "true"
    assert settings_in(git.directory, os.environ).is_true("core.ignorecase") is expected


def test_a_key_without_a_value_is_true(git: Git) -> None:
    with (git.common / "config").open("a") as file:
        file.write("[commit]\n\tgpgSign\n")
    assert settings_in(git.directory, os.environ).is_true("commit.gpgsign")


def test_the_last_value_of_a_key_holds(git: Git) -> None:
    git.do("config", "--add", "user.name", "Ada")
    git.do("config", "--add", "user.name", "Grace")
    assert settings_in(git.directory, os.environ).value("user.name") == "Grace"


def test_a_key_that_is_not_set_has_no_value_and_is_not_true(git: Git) -> None:
    settings = settings_in(git.directory, os.environ)
    assert settings.value("no.such") is None
    assert not settings.is_true("no.such")


def test_there_are_no_settings_in_a_directory_that_is_missing(tmp_path: Path) -> None:
    assert settings_in(tmp_path / "missing", os.environ).value("core.bare") is None


@given(st.binary())
def test_any_listing_can_be_read(listing: bytes) -> None:
    settings = GitSettings(listing)
    assert settings.value("a.b") is None or listing
    assert settings.replaced == {} or listing
