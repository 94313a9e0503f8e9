"""Names of things."""

from weft.ids import file_name


def test_a_file_name_is_the_path_with_dots() -> None:
    assert file_name("a") == "a"
    assert file_name("store/model") == "store.model"


def test_the_whole_plan_has_a_name_that_no_subplan_has() -> None:
    assert file_name("") == "_plan"


def test_a_long_path_is_cut_and_has_a_name_of_its_own() -> None:
    longest = "/".join(["a" * 64] * 3)
    long = "/".join(["a" * 64] * 6)
    names = {file_name(longest), file_name(long), file_name(long + "/b"), file_name(long + "/c")}
    assert len(names) == 4
    assert max(len(name) for name in names) <= 200
    assert file_name(longest) == longest.replace("/", ".")
    assert all("._" in file_name(path) for path in (long, long + "/b"))
