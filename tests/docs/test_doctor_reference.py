"""The table of checks in the reference is that of the code."""

from pathlib import Path

from weft.app.doctor.catalogue import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "doctor.md"


def test_each_check_is_in_the_table_as_the_code_has_it() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(
        "| check | looks at | why it matters | `--fix` |\n"
    )
    rows = [
        f"| `{item.id}` | {item.covers} | {item.why} | {item.fix_description} |".replace("|  |", "| |")
        for item in CHECKS
    ]
    assert rest.partition("\n\n")[0].splitlines()[1:] == rows
