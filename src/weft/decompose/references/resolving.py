"""Which files of the set a mention means, as the language looks them up.

What is not in the set (a library, something generated) is nothing. What could be several files is the one nearest
to the file that says it, and if that is not clear, nothing either: a wrong link is worse than none.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from sys import stdlib_module_names

from weft.decompose.paths import around, below, folder_of, inside, nearest
from weft.decompose.references.index import Found, Index
from weft.decompose.references.mentions import GO, JAVA, PYTHON, RUST, SCRIPT, C

Meant = Iterator[tuple[int, str]]
"""Files, by number, and what is taken from each; the empty name is all of it."""
_Resolver = Callable[[Index, str, str, Collection[str]], Meant]
_MANY = 64


def resolve(index: Index, family: str, path: str, what: str, names: Collection[str]) -> Meant:
    """`path` is that of the file with the mention; a file may come several times."""
    return _RESOLVERS[family](index, path, what, names)


def _once(index: Index, family: str, folder: str, what: str) -> Found:
    """Asks what has not been asked yet from this folder."""
    key = (family, folder, what)
    found = index.asked.get(key)
    if found is None:
        found = index.asked[key] = _FINDERS[family](index, folder, what)
    return found


def _taken(index: Index, family: str, path: str, what: str, names: Collection[str]) -> Meant:
    _place, file = _once(index, family, folder_of(path), what)
    if file is not None:
        yield from ((file, name) for name in names)


# Python

_NOWHERE: Found = ("", None)


def _python(index: Index, path: str, what: str, names: Collection[str]) -> Meant:
    folder = folder_of(path)
    place, module = _once(index, PYTHON, folder, what)
    for name in names:
        further = _python_inside(index, place, module, name) if name else None
        if further is None and name and module is None:  # of one name there may be several folders of modules
            _place, further = _once(index, PYTHON, folder, what + "." * (what[-1:] != ".") + name)
        if further is not None:
            yield further, ""
        elif module is not None:
            yield module, name


def _python_inside(index: Index, place: str, module: int | None, name: str) -> int | None:
    """A module in a package, or in a folder that is none."""
    is_package = module is None or index.paths[module].rpartition("/")[2].startswith("__init__.")
    return index.modules.get(inside(place, name)) if is_package else None


def _python_module(index: Index, folder: str, what: str) -> Found:
    """Where a module is, or a folder of them."""
    names = what.lstrip(".")
    dots, way = len(what) - len(names), names.replace(".", "/")
    if dots:
        place = below(folder, "../" * (dots - 1) + way)
        return place, index.modules.get(place)
    top, _slash, rest = way.partition("/")
    if top in index.tops:
        for root in index.roots(folder, top):
            place = inside(root, way)
            module = index.modules.get(place)
            if module is not None or place in index.folders:
                return place, module
        return _python_elsewhere(index, folder, top, way)
    # The whole set may be a package, whose name is in no path then.
    return (rest, index.modules.get(rest)) if top == index.name else _NOWHERE


def _python_elsewhere(index: Index, folder: str, top: str, way: str) -> Found:
    """A module that is in no folder around."""
    there = index.elsewhere.get(way)
    if there is None:
        is_clear = len(index.tops[top]) <= _MANY and top not in stdlib_module_names
        places = [inside(root, way) for root in sorted(index.tops[top])] if is_clear else []
        there = [place for place in places if place in index.folders or place in index.modules]
        index.elsewhere[way] = there
    place = nearest(inside(folder, ""), there)
    return _NOWHERE if place is None else (place, index.modules.get(place))


# JavaScript and TypeScript

_SCRIPT_ENDINGS = (
    *(
        ".ts",
        ".tsx",
        ".d.ts",
        ".js",
        ".jsx",
        ".mjs",
        ".cjs",
        ".mts",
        ".cts",
        ".json",
        ".vue",
        ".svelte",
        ".css",
    ),
)
_AS_TYPESCRIPT = (
    *((".js", ".ts"), (".js", ".tsx"), (".jsx", ".tsx"), (".mjs", ".mts"), (".cjs", ".cts")),
    *((".js", ".d.ts"), (".d.ts", ".ts")),
)
_BUILT = re.compile(r"(^|/)(?:lib|dist|build|out)/(?:(?:cjs|dts|es|esm|types|umd)/)?")


def _script_file(index: Index, folder: str, what: str) -> Found:
    if what.startswith("."):
        return "", _script_at(index, below(folder, what))
    for root in around(folder):
        for aliases in index.projects.own.get(root, ()):
            for path in aliases.meant(what):
                if (file := _script_at(index, path)) is not None:
                    return "", file
    return "", _script_of_package(index, what)


def _script_of_package(index: Index, what: str) -> int | None:
    parts = what.split("/")
    length = 2 if what.startswith("@") else 1
    name, rest = "/".join(parts[:length]), "/".join(parts[length:])
    if name not in index.projects.packages:
        return None
    folder = index.projects.packages[name]
    usual = (below(folder, f"{start}{rest}") for start in ("", "src/", "lib/"))
    exported = index.projects.exports[name].meant(what) if name in index.projects.exports else ()
    found = (_script_at(index, path) for paths in (exported, usual) for path in paths)
    return next((file for file in found if file is not None), None)


def _script_at(index: Index, path: str) -> int | None:
    """What is built from sources is not in the set, but they are."""
    found = index.first(_script_files(path))
    if found is None and (source := _BUILT.sub(r"\1src/", path, count=1)) != path:
        found = index.first(_script_files(source))
    return found


def _script_files(path: str) -> Iterator[str]:
    yield path
    for written, meant in _AS_TYPESCRIPT:
        if path.endswith(written):
            yield path.removesuffix(written) + meant
    yield from (path + end for end in _SCRIPT_ENDINGS)
    yield from (inside(path, f"index{end}") for end in _SCRIPT_ENDINGS)


# Go


def _go(index: Index, path: str, what: str, _names: Collection[str]) -> Meant:
    for module in around(what):
        if module in index.projects.packages:
            folder: str | None = below(index.projects.packages[module], what[len(module) :].lstrip("/"))
            break
    else:
        folder = index.folder_ending(f"vendor/{what}", seen_from=path) if "." in what else None
    if folder is not None:
        yield from ((file, "") for file in index.of_folder(folder, ".go", without="_test.go"))


# Rust

_CRATE_FILES = ("lib.rs", "main.rs")
_PROGRAMS = frozenset({"tests", "benches", "examples"})


def _rust(index: Index, path: str, what: str, names: Collection[str]) -> Meant:
    own = _rust_folder(index, path)
    kind, _colon, said = what.partition(":")
    file: int | None = None
    if kind == "mod" and said:
        file = index.first(_rust_files(own, [said]))
    elif kind == "path" and not said.startswith(":"):
        file = index.first([below(folder_of(path), said)])
    else:
        for name in names:
            yield from _rust_name(index, path, own, [*what.split("::"), name])
    if file is not None:
        yield file, ""


def _rust_name(index: Index, path: str, own: str, way: list[str]) -> Meant:
    first, *rest = [name for name in way if name] or [""]
    match first:
        case "crate":
            return _rust_module(index, _crate_root(index, path), rest)
        case "self":
            return _rust_module(index, own, rest)
        case "super":
            further = len(rest) - len(rest := rest[_leading_supers(rest) :])
            return _rust_module(index, below(own, "../" * (further + 1)), rest)
        case _ if first in index.projects.packages:
            return _rust_module(index, below(index.projects.packages[first], "src"), rest)
        case _:  # a module beside, or else something of somebody else's
            return _rust_submodule(index, own, [first, *rest])


def _leading_supers(names: list[str]) -> int:
    return next((number for number, name in enumerate(names) if name != "super"), len(names))


def _rust_folder(index: Index, path: str) -> str:
    """Where the modules inside that of a file are."""
    folder, name = folder_of(path), path.rpartition("/")[2]
    is_top = name in {*_CRATE_FILES, "mod.rs"} or _is_crate(index, folder)
    return folder if is_top else path.removesuffix(".rs")


def _is_crate(index: Index, folder: str) -> bool:
    """Whether each file there is a program of its own."""
    parent, _slash, name = folder.rpartition("/")
    return name in _PROGRAMS and inside(parent, "Cargo.toml") in index.numbers


def _crate_root(index: Index, path: str) -> str:
    if _is_crate(index, folder_of(path)):
        return folder_of(path)
    folders = around(folder_of(path))
    return next(
        (one for one in folders if index.first(inside(one, name) for name in _CRATE_FILES) is not None), ""
    )


def _rust_module(index: Index, folder: str, names: list[str]) -> Meant:
    """What the names lead to from the module whose folder it is, or else that module."""
    found = list(_rust_submodule(index, folder, names))
    if not found:
        own = (*(inside(folder, name) for name in (*_CRATE_FILES, "mod.rs")), f"{folder}.rs")
        file = index.first(own)
        found = [] if file is None else [(file, "".join(names[:1]))]
    yield from found


def _rust_submodule(index: Index, folder: str, names: list[str]) -> Meant:
    """The deepest module on the way: what comes next is something in it."""
    for length in range(len(names), 0, -1):
        file = index.first(_rust_files(folder, names[:length]))
        if file is not None:
            yield file, "".join(names[length : length + 1])
            return


def _rust_files(folder: str, names: list[str]) -> Iterator[str]:
    path = inside(folder, "/".join(names))
    yield from (f"{path}.rs", f"{path}/mod.rs")


# Java


def _java(index: Index, path: str, what: str, names: Collection[str]) -> Meant:
    package = what.removesuffix(".*")
    if package == what:
        yield from _taken(index, JAVA, path, what, [""])
        return
    way = package.replace(".", "/")
    last = way.rpartition("/")[2]
    folder = folder_of(path)
    for name in names:
        if f"{last}/{name}.java" in index.by_end:
            _place, file = _once(index, JAVA, folder, f"{package}.{name}")
            if file is not None:
                yield file, ""
    yield from _taken(index, JAVA, path, package, [""])  # or all that is static in a class


def _java_class(index: Index, folder: str, what: str) -> Found:
    """What is static, or a class in a class, is in the file of the class around it."""
    seen_from = inside(folder, "")
    while "." in what:
        file = index.ending(f"{what.replace('.', '/')}.java", seen_from=seen_from)
        if file is not None:
            return "", file
        what = what.rpartition(".")[0]
    return _NOWHERE


# C and C++


def _c_file(index: Index, folder: str, what: str) -> Found:
    beside = index.first([below(folder, what)])
    return "", index.ending(what.lstrip("./"), seen_from=inside(folder, "")) if beside is None else beside


def _script(index: Index, path: str, what: str, names: Collection[str]) -> Meant:
    return _taken(index, SCRIPT, path, what, names)


def _c(index: Index, path: str, what: str, names: Collection[str]) -> Meant:
    return _taken(index, C, path, what, names)


_RESOLVERS: Mapping[str, _Resolver] = {
    PYTHON: _python,
    SCRIPT: _script,
    GO: _go,
    RUST: _rust,
    JAVA: _java,
    C: _c,
}
_FINDERS: Mapping[str, Callable[[Index, str, str], Found]] = {
    PYTHON: _python_module,
    SCRIPT: _script_file,
    JAVA: _java_class,
    C: _c_file,
}
