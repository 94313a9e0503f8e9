"""What bubblewrap is called with."""

from weft.runtime.sandbox.call import (
    BASE_MOUNTS,
    NAMESPACES,
    PathAccess,
    SandboxCall,
    SandboxPath,
    bwrap_argv,
    seen_at,
)

HEAD = ("bwrap", *NAMESPACES)


def argv(*places: SandboxPath, network: bool = True) -> tuple[str, ...]:
    return bwrap_argv(SandboxCall(program="bwrap", places=places, network=network, cwd="/w"), ("ls", "-l"))


def test_without_places_everything_is_readable_and_there_are_no_privileges() -> None:
    assert argv() == (*HEAD, *BASE_MOUNTS, "--chdir", "/w", "--", "ls", "-l")
    assert {"--unshare-user", "--unshare-pid"} <= set(NAMESPACES)
    assert " ".join(BASE_MOUNTS).startswith("--cap-drop ALL --die-with-parent --ro-bind / /")


def test_the_network_is_taken_away_on_request() -> None:
    assert "--unshare-net" not in argv()
    assert "--unshare-net" in argv(network=False)


def test_places_are_laid_from_the_root_downwards_and_sealed_in_the_end() -> None:
    made = argv(
        SandboxPath("/a/b/c", PathAccess.WRITE),
        SandboxPath("/a", PathAccess.EMPTY),
        SandboxPath("/a/b", PathAccess.READ),
    )
    assert made[len(HEAD) + len(BASE_MOUNTS) : -5] == (
        *("--tmpfs", "/a", "--ro-bind", "/a/b", "/a/b", "--bind", "/a/b/c", "/a/b/c"),
        *("--remount-ro", "/a"),
    )


def test_of_one_path_the_last_counts() -> None:
    made = argv(SandboxPath("/a", PathAccess.WRITE), SandboxPath("/a", PathAccess.READ))
    assert "--bind" not in made
    assert made[len(HEAD) + len(BASE_MOUNTS) :][:3] == ("--ro-bind", "/a", "/a")


def test_each_way_to_be_seen_has_its_option() -> None:
    made = argv(
        SandboxPath("/dev/kvm", PathAccess.WRITE),
        SandboxPath("/f", PathAccess.BLANK),
        SandboxPath("/l", PathAccess.LINK, "to"),
        SandboxPath("/t", PathAccess.SCRATCH),
    )
    assert made[len(HEAD) + len(BASE_MOUNTS) : -5] == (
        *("--ro-bind", "/dev/null", "/f", "--symlink", "to", "/l", "--tmpfs", "/t"),
        *("--dev-bind", "/dev/kvm", "/dev/kvm"),
    )


def test_what_is_in_a_place_is_seen_as_the_deepest_around_it() -> None:
    places = [SandboxPath("/a", PathAccess.EMPTY), SandboxPath("/a/b", PathAccess.READ)]
    values = [seen_at(places, path) for path in ("/a/x", "/a/b/x", "/a/bx", "/x", "/a")]
    assert values == [PathAccess.EMPTY, PathAccess.READ, PathAccess.EMPTY, None, PathAccess.EMPTY]
