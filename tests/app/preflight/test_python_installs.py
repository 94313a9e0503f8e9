"""Packages that are installed as links into the checkout are found in the files that installers leave."""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from weft.app.preflight.python_installs import CheckoutLink, can_precede, checkout_links, site_folders

HATCH = """
[build-system]
requires = []
build-backend = "hatchling.build"
[project]
name = "shop"
version = "0"
"""
EXACT = f"{HATCH}[tool.hatch.build]\ndev-mode-exact = true\n"
SETUPTOOLS_FINDER = "import __editable___shop_0_finder; __editable___shop_0_finder.install()"


class Machine:
    """A checkout with a package in `src`, and a virtual environment."""

    def __init__(self, root: Path) -> None:
        self.top = root / "checkout"
        self.package = self.top / "src" / "shop"
        self.package.mkdir(parents=True)
        (self.package / "__init__.py").touch()
        self.prefix = root / "venv"
        self.site = self.prefix / "lib" / "python3.11" / "site-packages"
        self.site.mkdir(parents=True)
        (self.prefix / "pyvenv.cfg").touch()
        self.environ = {"PATH": str(self.prefix / "bin"), "HOME": str(root)}
        self.program("pytest")

    def program(self, name: str, text: str = "#!/bin/sh\n", folder: Path | None = None) -> Path:
        place = (folder or self.prefix / "bin") / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o755)
        return place

    def install(
        self, *, url: Path | None = None, pth: str = "", name: str = "__editable__.shop-0.pth"
    ) -> None:
        if url is not None:
            info = self.site / "shop-0.dist-info"
            info.mkdir()
            data = {"dir_info": {"editable": True}, "url": url.as_uri()}
            (info / "direct_url.json").write_text(json.dumps(data))
        if pth:
            (self.site / name).write_text(f"{pth}\n")

    def links(self) -> list[CheckoutLink]:
        return checkout_links(["pytest"], self.top, self.environ)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# Links, as setuptools, hatchling and others leave them


@pytest.mark.parametrize(
    "layout", ["setuptools", "finder", "hatchling", "exact", "strict", "develop", "mine"]
)
def test_a_link_into_the_checkout_is_found_and_its_source_can_come_first(
    machine: Machine, layout: str
) -> None:
    top, src = machine.top, str(machine.top / "src")
    match layout:
        case "setuptools":
            machine.install(url=top, pth=src)
        case "finder":
            machine.install(url=top, pth=SETUPTOOLS_FINDER)
        case "hatchling":
            machine.install(url=top, pth=src, name="_editable_impl_shop.pth")
        case "exact":
            machine.install(url=top, pth="import _editable_impl_shop", name="_editable_impl_shop.pth")
        case "strict":
            machine.install(url=top, pth=f"{top}/build/__editable__.shop-0-py3-none-any")
        case "develop":
            machine.install(pth=src, name="easy-install.pth")
        case _:
            machine.install(pth=f"# mine\n\n{src}", name="mine.pth")
    (link,) = machine.links()
    assert (link.root, link.site) == (machine.top / "src", machine.site)
    assert can_precede(link, machine.top)


@pytest.mark.parametrize(
    ("name", "path"),
    [("__editable___shop_0_finder.py", "lib/shop"), ("_editable_impl_shop.py", "lib/shop/__init__.py")],
)
def test_a_finder_names_the_directory_that_imports_start_from(machine: Machine, name: str, path: str) -> None:
    (machine.top / "lib").mkdir()
    machine.package.rename(machine.top / "lib" / "shop")
    machine.install(url=machine.top, pth=SETUPTOOLS_FINDER)
    (machine.site / name).write_text(f"TOP = '{machine.top}'\nMAPPING = {{'shop': '{machine.top}/{path}'}}\n")
    (link,) = machine.links()
    assert (link.root, can_precede(link, machine.top)) == (machine.top / "lib", True)


def test_a_finder_of_another_installer_may_come_first_itself(machine: Machine) -> None:
    machine.install(url=machine.top, pth="import _shop_editable_loader", name="shop-editable.pth")
    (link,) = machine.links()
    assert (link.package, link.yields_to_path, can_precede(link, machine.top)) == ("shop", False, False)


def test_what_is_linked_from_elsewhere_or_not_at_all_is_none(machine: Machine, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    machine.install(url=elsewhere, pth=f"{elsewhere}\nimport site", name="__editable__.shop-0.pth")
    (machine.site / "other-1.dist-info").mkdir()
    (machine.site / "other-1.dist-info" / "direct_url.json").write_text(
        '{"url": "https://x", "vcs_info": {}}'
    )
    (machine.site / "broken-1.dist-info").mkdir()
    (machine.site / "broken-1.dist-info" / "direct_url.json").write_text("nonsense")
    plain = json.dumps({"dir_info": {}, "url": machine.top.as_uri()})
    (machine.site / "plain-1.dist-info").mkdir()
    (machine.site / "plain-1.dist-info" / "direct_url.json").write_text(plain)
    (machine.site / "gone.pth").symlink_to(tmp_path / "nothing")
    assert machine.links() == []


# Whether the source of a worktree may come first


def test_a_project_without_a_directory_for_its_source_is_not_put_first(machine: Machine) -> None:
    machine.package.rename(machine.top / "shop")
    (machine.top / "src").rmdir()
    machine.install(url=machine.top, pth=SETUPTOOLS_FINDER)
    (link,) = machine.links()
    assert (link.root, can_precede(link, machine.top)) == (machine.top, False)


@pytest.mark.parametrize("name", ["queue.py", "yaml"])
def test_a_module_that_would_hide_another_is_not_put_first(machine: Machine, name: str) -> None:
    (machine.site / "yaml").mkdir()
    (machine.top / "src" / name).mkdir()
    machine.install(url=machine.top, pth=str(machine.top / "src"))
    (link,) = machine.links()
    assert not can_precede(link, machine.top)


def test_an_empty_source_is_not_put_first(machine: Machine) -> None:
    machine.install(url=machine.top, pth=str(machine.top / "src"))
    (link,) = machine.links()
    (machine.package / "__init__.py").unlink()
    machine.package.rmdir()
    assert not can_precede(link, machine.top)
    (machine.top / "src").rmdir()
    assert not can_precede(link, machine.top)


# Environments


def test_the_environment_is_that_of_the_interpreter_that_a_script_names(
    machine: Machine, tmp_path: Path
) -> None:
    python = machine.program("python3")
    bin_ = tmp_path / "bin"
    for number, text in enumerate((
        f"#!{python}\n",
        "#!/usr/bin/env python3\n",
        f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n",
        f"#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n",
    )):  # fmt: skip
        script = machine.program(f"tool{number}", text, bin_)
        assert site_folders(str(script), machine.environ) == [machine.site]


def test_without_an_environment_it_is_that_of_the_machine_and_of_the_user(
    machine: Machine, tmp_path: Path
) -> None:
    usr, local = tmp_path / "usr", tmp_path / ".local"
    for prefix, name in ((usr, "dist-packages"), (local, "site-packages")):
        (prefix / "lib" / "python3.12" / name).mkdir(parents=True)
    program = machine.program("python3", folder=usr / "bin")
    assert site_folders(str(program), machine.environ) == [
        usr / "lib/python3.12/dist-packages",
        local / "lib/python3.12/site-packages",
    ]
    assert site_folders(str(program), {"PATH": ""}) == [usr / "lib/python3.12/dist-packages"]
    assert site_folders("nothing", machine.environ) == []


def test_behind_a_shim_may_be_any_version(machine: Machine, tmp_path: Path) -> None:
    site = tmp_path / "pyenv" / "versions" / "3.12.1" / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    shim = machine.program("python3", "#!/usr/bin/env bash\n", tmp_path / "pyenv" / "shims")
    assert site_folders(str(shim), machine.environ) == [site]


# For real


@pytest.mark.parametrize("text", [HATCH, EXACT])
def test_what_pip_installs_is_found_and_the_path_comes_before_it(tmp_path: Path, text: str) -> None:
    pytest.importorskip("hatchling")
    top, prefix = tmp_path / "checkout", tmp_path / "venv"
    for folder in (top, tmp_path / "worktree"):
        (folder / "src" / "shop").mkdir(parents=True)
        (folder / "src" / "shop" / "__init__.py").write_text(f"PLACE = {folder.name!r}\n")
    (top / "pyproject.toml").write_text(text)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(prefix)], check=True)
    python = str(prefix / "bin" / "python")
    (site,) = site_folders(python, {"PATH": ""})
    # pip and hatchling are those of the tests.
    (site / "tools.pth").write_text(sysconfig.get_path("purelib"))
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*install, "--disable-pip-version-check", "--editable", str(top)], check=True)
    (link,) = checkout_links([python], top, {"PATH": ""})
    assert (link.package, link.root) == ("shop", top / "src")
    assert can_precede(link, top)
    ask = [python, "-c", "import shop; print(shop.PLACE)"]
    for path, place in (("", "checkout"), (str(tmp_path / "worktree" / "src"), "worktree")):
        result = subprocess.run(
            ask, env={"PYTHONPATH": path}, cwd=tmp_path, check=True, capture_output=True, text=True
        )
        assert result.stdout.strip() == place
