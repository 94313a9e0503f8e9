"""Each Python of ours runs Weft's code, and none of the project's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weft
from weft.interpreter import isolated_python

SHADOWS = (
    *(
        "anyio",
        "click",
        "json",
        "jinja2",
        "msgspec",
        "os",
        "random",
        "runpy",
        "signal",
        "site",
        "sitecustomize",
    ),
    *("socket", "subprocess", "types", "typing", "usercustomize", "weft", "yaml"),
)
MODULES = ("weft", "weft.agents.acp", "weft.agents.builtin", "weft.agents.player")
SOURCE = str(Path(weft.__file__).parents[1])


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A directory of modules that leave a mark when they are imported."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in SHADOWS:
        mark = f"open({str(tmp_path / 'mark')!r}, 'a').write({name!r})\n"
        (folder / f"{name}.py").write_text(mark)
        (folder / f"{name}.pth").write_text(f"import os; {mark}")
    return folder


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("path", [None, "", ".", ":relative", "HERE"])
def test_a_directory_full_of_shadows_changes_nothing(module: str, path: str | None, hostile: Path) -> None:
    variables = {} if path is None else {"PYTHONPATH": path.replace("HERE", str(hostile))}
    done = subprocess.run(
        [*isolated_python(module), "--help"],
        cwd=hostile,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert not hostile.with_name("mark").exists(), done.stderr
    assert b"ModuleNotFoundError" not in done.stderr


def test_the_shadows_leave_a_mark_where_python_is_not_isolated(hostile: Path) -> None:
    subprocess.run([sys.executable, "-m", "weft"], cwd=hostile, capture_output=True, check=False)
    assert hostile.with_name("mark").exists()


def path_in(command: tuple[str, ...]) -> list[str]:
    """The path that the process would look for modules in."""
    asks = "import sys; print(*sys.path, sep='\\n')"
    text = command[-1].partition("import runpy")[0] + asks if "-c" in command else asks
    options = command[1 : command.index("-c" if "-c" in command else "-m")]
    done = subprocess.run([sys.executable, *options, "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_current_directory_is_on_no_path(monkeypatch: pytest.MonkeyPatch, hostile: Path) -> None:
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(sys, "path", ["", str(hostile), "relative", *sys.path])
    path = path_in(isolated_python("weft"))
    assert str(hostile) not in path
    assert "" not in path
    assert "relative" not in path


def test_what_is_found_elsewhere_is_found_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As with PYTHONPATH, packages of the user's own, and archives."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "packages")])
    assert str(tmp_path / "packages") in path_in(isolated_python("weft"))
    monkeypatch.setattr(sys, "path", ["/some/where"])
    assert path_in(isolated_python("weft"))[0] == SOURCE


def test_what_is_installed_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [f"{sys.prefix}/lib/python3/site-packages"]
    monkeypatch.setattr("weft.interpreter._OWN", installed[0])
    monkeypatch.setattr(sys, "path", ["", *installed])
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert isolated_python("weft") == (sys.executable, "-I", "-m", "weft")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert isolated_python("weft") == (sys.executable, "-I", "-B", "-m", "weft")


def test_a_directory_that_is_gone_is_no_obstacle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert isolated_python("weft")[:2] == (sys.executable, "-I")
