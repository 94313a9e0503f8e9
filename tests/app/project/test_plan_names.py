import os
from pathlib import Path

import pytest

from weft.app.project.files import InputSource
from weft.app.project.plan_names import plan_files, subplans_in, subplans_of
from weft.errors import InputError


def test_subplans_are_reported_with_their_titles_also_of_a_plan_that_is_wrong() -> None:
    text = """
subplans: [{id: a, title: First, subplans: [{id: b, title: [x]}, {id: [c]}, d]}, {id: e}, {subplans: 7},
           {id: f, subplans: [1]}]
"""
    assert list(subplans_in(text)) == [("a", "First"), ("e", ""), ("f", ""), ("a/b", "")]
    assert list(subplans_in("- 1")) == []


def test_subplans_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("subplans: [{id: a}]")
    assert list(subplans_of(InputSource(name="plan.yaml", directory=tmp_path))) == [("a", "")]
    with pytest.raises(InputError):
        subplans_of(InputSource(name="none.yaml", directory=tmp_path))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weft.yaml").write_text("# A plan.\nweft: 1\n")
    (tmp_path / "other.yml").write_text("weft : 1\n")
    (tmp_path / "compose.yaml").write_text("services: {weft: 1}\n")
    (tmp_path / "weft.txt").write_text("weft: 1\n")
    (tmp_path / "late.yaml").write_text("#" * 5_000 + "\nweft: 1\n")
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "one.yaml").write_text("weft: 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", ["other.yml", "weft.yaml"]),
        ("we", ["weft.yaml"]),
        ("plans/", ["plans/one.yaml"]),
        ("./plans/o", ["./plans/one.yaml"]),
        ("plans/x", []),
        ("none/x", []),
        ("weft.yaml/", []),
    ],
)
def test_only_plans_are_found_and_named_as_they_are_typed(folder: Path, typed: str, found: list[str]) -> None:
    assert plan_files(folder, typed) == found
    absolute = [f"{folder}/{name}" for name in found]
    assert plan_files(Path("/"), f"{folder}/{typed}") == absolute
