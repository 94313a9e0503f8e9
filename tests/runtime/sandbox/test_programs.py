"""What is seen of hidden places so that programs run."""

from pathlib import Path

import pytest

from weft.runtime.sandbox.programs import program_folders


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def seen(home: Path, *folders: Path, programs: tuple[str, ...] = ()) -> set[str]:
    result = program_folders(":".join(map(str, folders)), programs, [home])
    return {str(item.relative_to(home)) for item in result if item.is_relative_to(home)}


def test_of_a_plain_directory_only_that_is_seen(home: Path) -> None:
    made(home / "go" / "bin" / "tool")
    assert seen(home, home / "go" / "bin") == {"go/bin"}


def test_of_a_prefix_with_a_library_all_is_seen(home: Path) -> None:
    made(home / "node" / "bin" / "node")
    (home / "node" / "lib").mkdir()
    assert seen(home, home / "node" / "bin") == {"node/bin", "node"}


@pytest.mark.parametrize("folder", ["bin", ".local/bin"])
def test_neither_the_home_nor_its_local_is_an_installation(home: Path, folder: str) -> None:
    made(home / folder / "tool")
    (home / folder).parent.joinpath("lib").mkdir()
    assert seen(home, home / folder) == {folder}


def test_installations_of_version_managers_are_visible_as_a_whole(home: Path) -> None:
    made(home / ".pyenv" / "shims" / "python")
    assert seen(home, home / ".pyenv" / "shims") == {".pyenv/shims", ".pyenv"}


def test_the_home_itself_on_the_path_uncovers_nothing(home: Path) -> None:
    home.mkdir()
    assert seen(home, home, home.parent, Path("relative")) == set()


def test_a_link_to_a_package_of_node_shows_all_packages_with_it(home: Path) -> None:
    real = made(home / "x" / "node_modules" / "p" / "node_modules" / "q" / "cli.js")
    (home / "bin").mkdir()
    (home / "bin" / "agent").symlink_to(real)
    assert seen(home, home / "bin", programs=("agent", "missing")) == {"bin", "x/node_modules"}


def test_a_link_into_an_environment_of_python_shows_that_and_its_interpreter(home: Path) -> None:
    real = made(home / "venvs" / "tool" / "bin" / "tool")
    made(home / "pythons" / "3" / "bin" / "python3")
    (home / "pythons" / "3" / "lib").mkdir()
    home.joinpath("venvs/tool/pyvenv.cfg").write_text(f"x = 1\nhome = {home}/pythons/3/bin\n")
    (home / ".local" / "bin").mkdir(parents=True)
    (home / ".local" / "bin" / "tool").symlink_to(real)
    seen_items = seen(home, home / ".local" / "bin", programs=("tool",))
    assert seen_items == {".local/bin", "venvs/tool", "pythons/3"}
