"""Which file is meant, as each language looks it up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.decompose.references.index import Index
from weft.decompose.references.manifests import Projects, projects
from weft.decompose.references.mentions import GO, JAVA, PYTHON, RUST, SCRIPT, C
from weft.decompose.references.resolution import resolve

PATHS = (
    "cmd/main.go",
    "crates/core/src/lib.rs",
    "crates/core/src/net/mod.rs",
    "crates/core/src/net/wire.rs",
    "crates/core/src/util.rs",
    "crates/core/src/util/text.rs",
    "crates/tool/src/main.rs",
    "go/a/a.go",
    "go/a/a_test.go",
    "go/a/b.go",
    "go/root.go",
    "include/lib/api.h",
    "include/one.h",
    "java/src/org/x/A.java",
    "java/src/org/x/B.java",
    "java/src/org/x/package-info.java",
    "java/src/org/y/C.java",
    "java/test/org/y/CTest.java",
    "lib/one.h",
    "lib/two.c",
    "lib/two.h",
    "pkg/ui/src/button.tsx",
    "pkg/ui/src/index.ts",
    "pkg/web/app.ts",
    "pkg/web/data.json",
    "pkg/web/old.js",
    "pkg/web/view/index.js",
    "py/app/__init__.py",
    "py/app/core/__init__.py",
    "py/app/core/model.py",
    "py/app/main.py",
    "py/tests/helper.py",
    "py/tests/test_main.py",
    "py/tests/utils.py",
    "tools/helper.py",
    "tools/utils.py",
)
MANIFESTS = {
    "go/go.mod": b"module example.org/m\nreplace example.org/old => ./a\n",
    "crates/core/Cargo.toml": b'[package]\nname = "core"\n',
    "crates/tool/Cargo.toml": b'[package]\nname = "tool"\n',
    "pkg/ui/package.json": b"""{"name": "@org/ui", "main": "./dist/index.js",
        "imports": {"#b": "./src/button.tsx"},
        "exports": {".": {"types": "./gone.d.ts", "default": "./dist/esm/index.js"}, "./k/*": "./src/*.tsx"}}""",
    "pkg/web/package.json": b'{"name": "web"}',
    "pkg/web/tsconfig.json": b"""{ // with comments, and commas too many
        "compilerOptions": {"baseUrl": ".", "paths": {"~view/*": ["gone/*", "view/*"],},},}""",
}
INDEX = Index(paths=PATHS, projects=projects(MANIFESTS))


@pytest.mark.parametrize(
    ("family", "path", "what", "name", "meant"),
    [
        (PYTHON, "py/app/main.py", ".core", "model", ["py/app/core/model.py"]),
        (PYTHON, "py/app/main.py", ".core.model", "Note", ["py/app/core/model.py"]),
        (PYTHON, "py/app/main.py", ".", "core", ["py/app/core/__init__.py"]),
        (PYTHON, "py/app/core/model.py", "..", "main", ["py/app/main.py"]),
        (PYTHON, "py/app/core/model.py", "..", "Name", ["py/app/__init__.py"]),
        (PYTHON, "py/app/core/model.py", "..main", "x", ["py/app/main.py"]),
        (PYTHON, "py/tests/test_main.py", "app.main", "run", ["py/app/main.py"]),
        (PYTHON, "py/tests/test_main.py", "app.core.model", "", ["py/app/core/model.py"]),
        (PYTHON, "py/tests/test_main.py", "helper", "x", ["py/tests/helper.py"]),
        (PYTHON, "elsewhere/x.py", "app.core", "model", ["py/app/core/model.py"]),
        (PYTHON, "elsewhere/x.py", "core.model", "Note", []),  # it is app.core.model
        (PYTHON, "elsewhere/x.py", "utils", "x", []),  # which one?
        (PYTHON, "py/app/main.py", "json", "", []),
        (PYTHON, "py/app/main.py", "....far", "x", []),
        (SCRIPT, "pkg/web/app.ts", "./view", "", ["pkg/web/view/index.js"]),
        (SCRIPT, "pkg/web/app.ts", "./old.js", "", ["pkg/web/old.js"]),
        (SCRIPT, "pkg/web/old.js", "./app.js", "", ["pkg/web/app.ts"]),
        (SCRIPT, "pkg/web/view/index.js", "..", "", []),
        (SCRIPT, "pkg/web/view/index.js", "../app", "", ["pkg/web/app.ts"]),
        (SCRIPT, "pkg/web/app.ts", "./data.json", "", ["pkg/web/data.json"]),
        (SCRIPT, "pkg/web/app.ts", "@org/ui", "", ["pkg/ui/src/index.ts"]),
        (SCRIPT, "pkg/web/app.ts", "@org/ui/button", "", ["pkg/ui/src/button.tsx"]),
        (SCRIPT, "pkg/ui/src/index.ts", "web/old", "", ["pkg/web/old.js"]),
        (SCRIPT, "pkg/web/app.ts", "react", "", []),
        (SCRIPT, "pkg/web/app.ts", "@org/ui/k/button", "", ["pkg/ui/src/button.tsx"]),
        (SCRIPT, "pkg/ui/src/index.ts", "#b", "", ["pkg/ui/src/button.tsx"]),
        (SCRIPT, "pkg/web/app.ts", "#b", "", []),
        (SCRIPT, "pkg/web/app.ts", "~view/index", "", ["pkg/web/view/index.js"]),
        (SCRIPT, "pkg/web/view/index.js", "old", "", ["pkg/web/old.js"]),
        (SCRIPT, "pkg/ui/src/index.ts", "@/button", "", ["pkg/ui/src/button.tsx"]),
        (SCRIPT, "pkg/ui/test/x.js", "../lib/button.js", "", ["pkg/ui/src/button.tsx"]),
        (SCRIPT, "pkg/web/app.ts", "../../../../etc/passwd", "", []),
        (GO, "cmd/main.go", "example.org/old", "", ["go/a/a.go", "go/a/b.go"]),
        (RUST, "crates/core/src/lib.rs", "path:net/wire.rs", "", ["crates/core/src/net/wire.rs"]),
        (GO, "cmd/main.go", "example.org/m/a", "", ["go/a/a.go", "go/a/b.go"]),
        (GO, "cmd/main.go", "example.org/m", "", ["go/root.go"]),
        (GO, "cmd/main.go", "fmt", "", []),
        (RUST, "crates/core/src/lib.rs", "mod:net", "", ["crates/core/src/net/mod.rs"]),
        (RUST, "crates/core/src/util.rs", "mod:text", "", ["crates/core/src/util/text.rs"]),
        (RUST, "crates/core/src/net/wire.rs", "crate::util::text", "cut", ["crates/core/src/util/text.rs"]),
        (RUST, "crates/core/src/net/wire.rs", "crate::util", "Error", ["crates/core/src/util.rs"]),
        (RUST, "crates/core/src/net/mod.rs", "self::wire", "X", ["crates/core/src/net/wire.rs"]),
        (RUST, "crates/core/src/net/wire.rs", "super", "Thing", ["crates/core/src/net/mod.rs"]),
        (RUST, "crates/core/src/net/wire.rs", "super::super::util", "x", ["crates/core/src/util.rs"]),
        (RUST, "crates/core/src/util/text.rs", "super", "super", ["crates/core/src/lib.rs"]),
        (RUST, "crates/core/src/util/text.rs", "super", "x", ["crates/core/src/util.rs"]),
        (RUST, "crates/core/src/lib.rs", "net", "wire", ["crates/core/src/net/wire.rs"]),
        (RUST, "crates/tool/src/main.rs", "core::net::wire", "X", ["crates/core/src/net/wire.rs"]),
        (RUST, "crates/tool/src/main.rs", "core", "Run", ["crates/core/src/lib.rs"]),
        (RUST, "crates/core/src/util.rs", "std", "fs", []),
        (JAVA, "java/test/org/y/CTest.java", "org.y.C", "", ["java/src/org/y/C.java"]),
        (JAVA, "java/test/org/y/CTest.java", "org.y.C.Inner.method", "", ["java/src/org/y/C.java"]),
        (JAVA, "java/src/org/y/C.java", "org.x.*", "B", ["java/src/org/x/B.java"]),
        (JAVA, "java/src/org/y/C.java", "org.x.*", "List", []),
        (JAVA, "java/test/org/y/CTest.java", "org.y.*", "C", ["java/src/org/y/C.java"]),
        (JAVA, "java/src/org/x/A.java", "org.y.C.*", "", ["java/src/org/y/C.java"]),
        (JAVA, "java/src/org/x/A.java", "java.util.List", "", []),
        (C, "lib/two.c", "two.h", "", ["lib/two.h"]),
        (C, "lib/two.c", "one.h", "", ["lib/one.h"]),
        (C, "cmd/x.c", "one.h", "", []),  # which one?
        (C, "cmd/x.c", "lib/api.h", "", ["include/lib/api.h"]),
        (C, "cmd/x.c", "../lib/two.h", "", ["lib/two.h"]),
        (C, "lib/two.c", "stdio.h", "", []),
        (C, "java/src/x.c", "helper.py", "", []),  # both are equally far
        (C, "py/other/x.c", "utils.py", "", ["py/tests/utils.py"]),
    ],
)
def test_a_mention_means(family: str, path: str, what: str, name: str, meant: list[str]) -> None:
    assert [PATHS[number] for number, _name in resolve(INDEX, family, path, what, [name])] == meant


@pytest.mark.parametrize(
    ("family", "path", "what", "names", "taken"),
    [
        (PYTHON, "py/app/main.py", ".core", ["model", "Name"], {"model.py": "", "__init__.py": "Name"}),
        (PYTHON, "py/app/main.py", ".core.model", ["", "Note"], {"model.py": "Note"}),
        (SCRIPT, "pkg/web/app.ts", "./old", ["Old"], {"old.js": "Old"}),
        (RUST, "crates/core/src/net/wire.rs", "crate::util::text::Kind", ["One"], {"text.rs": "Kind"}),
        (RUST, "crates/core/src/net/wire.rs", "crate", ["Error", "util"], {"lib.rs": "Error", "util.rs": ""}),
        (GO, "cmd/main.go", "example.org/m", [""], {"root.go": ""}),
        (JAVA, "java/src/org/x/A.java", "org.y.C", [""], {"C.java": ""}),
    ],
)
def test_what_is_taken_from_a_file(
    family: str, path: str, what: str, names: list[str], taken: dict[str, str]
) -> None:
    targets = dict(resolve(INDEX, family, path, what, names))
    assert {PATHS[number].rpartition("/")[2]: name for number, name in targets.items()} == taken


def test_a_name_that_very_many_files_have_means_none_of_them() -> None:
    paths = tuple(f"{number:03}/deep/same.h" for number in range(100))
    assert list(resolve(Index(paths=paths), C, "099/x.c", "same.h", [""])) == []


def test_a_module_that_is_in_very_many_places_is_in_none_of_them() -> None:
    paths = tuple(f"{number:03}/deep/same.py" for number in range(100))
    assert list(resolve(Index(paths=paths), PYTHON, "099/x.py", "same", [""])) == []


def test_a_reference_to_a_large_folder_links_to_some_of_its_files() -> None:
    paths = tuple(f"big/{number:02}.go" for number in range(50))
    index = Index(paths=paths, projects=Projects(packages={"m": ""}))
    assert len(list(resolve(index, GO, "x.go", "m/big", [""]))) == 8


@pytest.mark.parametrize(
    ("what", "name", "meant"),
    [
        ("whole.store.disk", "save", ["store/disk.py"]),
        ("whole.store", "disk", ["store/disk.py"]),
        ("whole", "", ["__init__.py"]),
        ("whole", "Name", ["__init__.py"]),
        ("whole", "x", ["x.py"]),
        ("other.store", "disk", []),
    ],
)
def test_the_set_may_be_a_package_itself(what: str, name: str, meant: list[str]) -> None:
    index = Index(paths=("__init__.py", "store/disk.py", "x.py"), name="whole")
    assert [index.paths[number] for number, _name in resolve(index, PYTHON, "x.py", what, [name])] == meant


def test_folders_of_modules_may_be_in_several_places() -> None:
    index = Index(paths=("a/ns/one/x.py", "b/ns/two.py", "b/ns/two/y.py"))
    targets = [list(resolve(index, PYTHON, "a/ns/one/x.py", "ns", [name])) for name in ("one", "two")]
    assert targets == [[], [(1, "")]]


def test_what_is_known_of_a_module_elsewhere_says_nothing_about_those_in_it() -> None:
    index = Index(paths=("a/ns/__init__.py", "a/ns/one.py", "a/ns/two.py"))
    targets = [
        list(resolve(index, PYTHON, "b/x.py", target, [""]))
        for target in ("ns.one", "ns", "ns.two", "ns.three")
    ]
    assert targets == [[(1, "")], [(0, "")], [(2, "")], []]


def test_of_modules_with_one_name_the_one_is_meant_that_python_takes() -> None:
    paths = ("m.py", "m.pyi", "m/__init__.py", "m/__init__.pyi")
    for present, expected in ((paths, 2), ((paths[0], paths[1], paths[3]), 0), ((paths[1], paths[3]), 1)):
        assert list(resolve(Index(paths=present), PYTHON, "x.py", "m", [""])) == [(expected, "")]
    assert list(resolve(Index(paths=paths), PYTHON, "x.py", "m.__init__", [""])) == [(2, "")]


def test_a_file_that_is_called_as_an_ending_is_no_module() -> None:
    assert list(resolve(Index(paths=(".py", "a.py")), PYTHON, "a.py", ".", [""])) == []


def test_what_python_has_itself_is_not_looked_for_far_away() -> None:
    index = Index(paths=("near/json.py", "near/x.py"))
    assert list(resolve(index, PYTHON, "near/x.py", "json", [""])) == [(0, "")]
    assert list(resolve(index, PYTHON, "far/away.py", "json", [""])) == []


def test_programs_of_a_crate_have_modules_beside_them() -> None:
    index = Index(paths=("Cargo.toml", "src/lib.rs", "tests/common.rs", "tests/run.rs"))
    targets = [
        list(resolve(index, RUST, "tests/run.rs", target, ["X"]))
        for target in ("mod:common", "crate::common")
    ]
    assert targets == [[(2, "")], [(2, "X")]]


def test_the_top_of_the_set_is_a_folder_like_others() -> None:
    assert list(resolve(Index(paths=("a.ts", "index.ts")), SCRIPT, "a.ts", ".", ["X"])) == [(1, "X")]


def test_what_is_vendored_is_found() -> None:
    index = Index(paths=("main.go", "vendor/example.org/x/y/y.go"))
    assert list(resolve(index, GO, "main.go", "example.org/x/y", [""])) == [(1, "")]


WAYS = st.text(alphabet="ab./:@~#*\n\udc80", max_size=12)


@given(st.sampled_from([PYTHON, SCRIPT, GO, RUST, JAVA, C]), st.sampled_from(PATHS), WAYS, WAYS)
def test_whatever_is_said_means_files_of_the_set_or_none(
    family: str, path: str, what: str, name: str
) -> None:
    assert all(0 <= number < len(PATHS) for number, _name in resolve(INDEX, family, path, what, [name]))
