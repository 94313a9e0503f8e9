"""Resolve mentions to files of the set, by the rules of each language.

A target outside the set, such as a library, resolves to nothing. If several files match, the one nearest to the
mentioning file counts; if that is ambiguous, none does, because a wrong link is worse than none.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from sys import stdlib_module_names

from weft.decompose.paths import find_nearest, folder_of, folder_with_parents, inside, resolve_path
from weft.decompose.references.index import Index, Location
from weft.decompose.references.mentions import GO, JAVA, PYTHON, RUST, SCRIPT, C

Targets = Iterator[tuple[int, str]]
"""Numbers of files and the name taken from each; the empty name means the whole file."""
_Resolver = Callable[[Index, str, str, Collection[str]], Targets]
_TOO_MANY = 64


def resolve(index: Index, family: str, path: str, target: str, names: Collection[str]) -> Targets:
    """Yields the files that a mention in `path` means; a file may occur several times."""
    return _RESOLVERS[family](index, path, target, names)


def _look_up(index: Index, family: str, folder: str, target: str) -> Location:
    """Looks a target up, with a cache for each folder."""
    key = (family, folder, target)
    location = index.asked.get(key)
    if location is None:
        location = index.asked[key] = _FINDERS[family](index, folder, target)
    return location


def _import_names(index: Index, family: str, path: str, target: str, names: Collection[str]) -> Targets:
    _place, file = _look_up(index, family, folder_of(path), target)
    if file is not None:
        yield from ((file, name) for name in names)


# Python

_NO_LOCATION: Location = ("", None)


def _python(index: Index, path: str, target: str, names: Collection[str]) -> Targets:
    folder = folder_of(path)
    place, module = _look_up(index, PYTHON, folder, target)
    for name in names:
        submodule = _python_submodule(index, place, module, name) if name else None
        if submodule is None and name and module is None:  # several folders of modules may have this name
            _place, submodule = _look_up(index, PYTHON, folder, target + "." * (target[-1:] != ".") + name)
        # `from package import name` can mean a module or something in `__init__`; a module is the better link.
        if submodule is not None:
            yield submodule, ""
        elif module is not None:
            yield module, name


def _python_submodule(index: Index, place: str, module: int | None, name: str) -> int | None:
    """Returns a module in a package, or in a folder that is not a package."""
    is_package = module is None or index.paths[module].rpartition("/")[2].startswith("__init__.")
    return index.modules.get(inside(place, name)) if is_package else None


def _python_module(index: Index, folder: str, target: str) -> Location:
    """Returns the location of a module or of a folder of modules."""
    names = target.lstrip(".")
    dots, module_path = len(target) - len(names), names.replace(".", "/")
    if dots:
        place = resolve_path(folder, "../" * (dots - 1) + module_path)
        return place, index.modules.get(place)
    top, _slash, rest = module_path.partition("/")
    if top in index.tops:
        for root in index.roots(folder, top):
            place = inside(root, module_path)
            module = index.modules.get(place)
            # A folder without a module is a namespace package.
            if module is not None or place in index.folders:
                return place, module
        return _python_elsewhere(index, folder, top, module_path)
    # The whole set may be one package; its name is then in no path.
    return (rest, index.modules.get(rest)) if top == index.name else _NO_LOCATION


def _python_elsewhere(index: Index, folder: str, top: str, module_path: str) -> Location:
    """Returns the location of a module that is in no enclosing folder."""
    candidates = index.elsewhere.get(module_path)
    if candidates is None:
        # A name of the standard library in some distant folder is probably not meant.
        is_clear = len(index.tops[top]) <= _TOO_MANY and top not in stdlib_module_names
        places = [inside(root, module_path) for root in sorted(index.tops[top])] if is_clear else []
        candidates = [place for place in places if place in index.folders or place in index.modules]
        index.elsewhere[module_path] = candidates
    place = find_nearest(inside(folder, ""), candidates)
    return _NO_LOCATION if place is None else (place, index.modules.get(place))


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


def _script_file(index: Index, folder: str, target: str) -> Location:
    if target.startswith("."):
        return "", _script_at(index, resolve_path(folder, target))
    for root in folder_with_parents(folder):
        for aliases in index.projects.own.get(root, ()):
            for path in aliases.resolve(target):
                if (file := _script_at(index, path)) is not None:
                    return "", file
    return "", _script_of_package(index, target)


def _script_of_package(index: Index, target: str) -> int | None:
    parts = target.split("/")
    # The name of a scoped package has two parts: @scope/name.
    length = 2 if target.startswith("@") else 1
    name, rest = "/".join(parts[:length]), "/".join(parts[length:])
    if name not in index.projects.packages:
        return None
    folder = index.projects.packages[name]
    conventional = (resolve_path(folder, f"{start}{rest}") for start in ("", "src/", "lib/"))
    exported = index.projects.exports[name].resolve(target) if name in index.projects.exports else ()
    files = (_script_at(index, path) for paths in (exported, conventional) for path in paths)
    return next((file for file in files if file is not None), None)


def _script_at(index: Index, path: str) -> int | None:
    """Returns the file at a path. The path of a build output leads to its source, which is in the set."""
    file = index.first(_script_files(path))
    if file is None and (source := _BUILT.sub(r"\1src/", path, count=1)) != path:
        file = index.first(_script_files(source))
    return file


def _script_files(path: str) -> Iterator[str]:
    yield path
    for extension, source_extension in _AS_TYPESCRIPT:
        if path.endswith(extension):
            yield path.removesuffix(extension) + source_extension
    yield from (path + end for end in _SCRIPT_ENDINGS)
    yield from (inside(path, f"index{end}") for end in _SCRIPT_ENDINGS)


# Go


def _go(index: Index, path: str, target: str, _names: Collection[str]) -> Targets:
    for module in folder_with_parents(target):
        if module in index.projects.packages:
            folder: str | None = resolve_path(
                index.projects.packages[module], target[len(module) :].lstrip("/")
            )
            break
    else:
        # Outside the set's modules it may be a vendored copy; a path without a dot is the standard library.
        folder = index.find_folder_ending(f"vendor/{target}", seen_from=path) if "." in target else None
    if folder is not None:
        yield from ((file, "") for file in index.of_folder(folder, ".go", without="_test.go"))


# Rust

_CRATE_FILES = ("lib.rs", "main.rs")
_PROGRAMS = frozenset({"tests", "benches", "examples"})


def _rust(index: Index, path: str, target: str, names: Collection[str]) -> Targets:
    own = _rust_folder(index, path)
    kind, _colon, argument = target.partition(":")
    file: int | None = None
    if kind == "mod" and argument:
        file = index.first(_rust_files(own, [argument]))
    elif kind == "path" and not argument.startswith(":"):
        file = index.first([resolve_path(folder_of(path), argument)])
    else:
        for name in names:
            yield from _rust_name(index, path, own, [*target.split("::"), name])
    if file is not None:
        yield file, ""


def _rust_name(index: Index, path: str, own: str, names: list[str]) -> Targets:
    first, *remaining = [name for name in names if name] or [""]
    match first:
        case "crate":
            return _rust_module(index, _crate_root(index, path), remaining)
        case "self":
            return _rust_module(index, own, remaining)
        case "super":
            extra_levels = len(remaining) - len(remaining := remaining[_leading_supers(remaining) :])
            return _rust_module(index, resolve_path(own, "../" * (extra_levels + 1)), remaining)
        case _ if first in index.projects.packages:
            return _rust_module(index, resolve_path(index.projects.packages[first], "src"), remaining)
        case _:  # a sibling module, or else a library
            return _rust_submodule(index, own, [first, *remaining])


def _leading_supers(names: list[str]) -> int:
    return next((number for number, name in enumerate(names) if name != "super"), len(names))


def _rust_folder(index: Index, path: str) -> str:
    """Returns the folder of a file's submodules."""
    folder, name = folder_of(path), path.rpartition("/")[2]
    is_top = name in {*_CRATE_FILES, "mod.rs"} or _is_crate(index, folder)
    return folder if is_top else path.removesuffix(".rs")


def _is_crate(index: Index, folder: str) -> bool:
    """Returns whether each file in the folder is a program of its own."""
    parent, _slash, name = folder.rpartition("/")
    return name in _PROGRAMS and inside(parent, "Cargo.toml") in index.numbers


def _crate_root(index: Index, path: str) -> str:
    if _is_crate(index, folder_of(path)):
        return folder_of(path)
    folders = folder_with_parents(folder_of(path))
    return next(
        (
            folder
            for folder in folders
            if index.first(inside(folder, name) for name in _CRATE_FILES) is not None
        ),
        "",
    )


def _rust_module(index: Index, folder: str, names: list[str]) -> Targets:
    """Yields the module that the names lead to from a folder, or else the module of the folder itself."""
    modules = list(_rust_submodule(index, folder, names))
    if not modules:
        own = (*(inside(folder, name) for name in (*_CRATE_FILES, "mod.rs")), f"{folder}.rs")
        file = index.first(own)
        modules = [] if file is None else [(file, "".join(names[:1]))]
    yield from modules


def _rust_submodule(index: Index, folder: str, names: list[str]) -> Targets:
    """Yields the deepest module along the names, with the next name as the item in it."""
    for length in range(len(names), 0, -1):
        file = index.first(_rust_files(folder, names[:length]))
        if file is not None:
            yield file, "".join(names[length : length + 1])
            return


def _rust_files(folder: str, names: list[str]) -> Iterator[str]:
    path = inside(folder, "/".join(names))
    yield from (f"{path}.rs", f"{path}/mod.rs")


# Java


def _java(index: Index, path: str, target: str, names: Collection[str]) -> Targets:
    package = target.removesuffix(".*")
    if package == target:
        yield from _import_names(index, JAVA, path, target, [""])
        return
    package_path = package.replace(".", "/")
    last = package_path.rpartition("/")[2]
    folder = folder_of(path)
    for name in names:
        if f"{last}/{name}.java" in index.by_end:
            _place, file = _look_up(index, JAVA, folder, f"{package}.{name}")
            if file is not None:
                yield file, ""
    yield from _import_names(
        index, JAVA, path, package, [""]
    )  # the target may also be the static members of a class


def _java_class(index: Index, folder: str, target: str) -> Location:
    """Returns the file of a class. Static members and nested classes are in the file of the outer class."""
    seen_from = inside(folder, "")
    while "." in target:
        file = index.find_file_ending(f"{target.replace('.', '/')}.java", seen_from=seen_from)
        if file is not None:
            return "", file
        # The last name may be a member or a nested class.
        target = target.rpartition(".")[0]
    return _NO_LOCATION


# C and C++


def _c_file(index: Index, folder: str, target: str) -> Location:
    beside = index.first([resolve_path(folder, target)])
    return "", index.find_file_ending(
        target.lstrip("./"), seen_from=inside(folder, "")
    ) if beside is None else beside


def _script(index: Index, path: str, target: str, names: Collection[str]) -> Targets:
    return _import_names(index, SCRIPT, path, target, names)


def _c(index: Index, path: str, target: str, names: Collection[str]) -> Targets:
    return _import_names(index, C, path, target, names)


_RESOLVERS: Mapping[str, _Resolver] = {
    PYTHON: _python,
    SCRIPT: _script,
    GO: _go,
    RUST: _rust,
    JAVA: _java,
    C: _c,
}
_FINDERS: Mapping[str, Callable[[Index, str, str], Location]] = {
    PYTHON: _python_module,
    SCRIPT: _script_file,
    JAVA: _java_class,
    C: _c_file,
}
