"""What a step in a sandbox may try against Weft's git outside: a shell script each, and what Weft says to it.

In a script `$G` is the git directory of the step, `$REPO` the project, `$HOME_OUT` the user's home, `$VICTIM` a
file there, `$SIBLING` the workspace of another slice, `$B` the full name of the slice's branch. `commit` makes a
commit of the file `one`.
"""

from typing import NamedTuple


class Attack(NamedTuple):
    name: str
    script: str
    error: str = ""
    """What the error for this slice matches; empty: its work is recorded, and the attack has no effect."""


_NOT_PLAIN = "is not a regular file"
_LOOSE = "O=$(git rev-parse HEAD:one); F=$G/objects/$(echo $O | cut -c1-2)/$(echo $O | cut -c3-); "
_RAW = (
    "raw() { kind=$1; python3 -c 'import sys,zlib,hashlib,os;k=sys.argv[1].encode();d=sys.stdin.buffer.read();"
    's=k+b" %d\\0"%len(d)+d;o=hashlib.sha1(s).hexdigest();p=sys.argv[2]+"/objects/"+o[:2];'
    'os.makedirs(p,exist_ok=True);open(p+"/"+o[2:],"wb").write(zlib.compress(s));print(o)\' $kind $G; }; '
)
_COMMIT = (
    "tree %s\\nparent %s\\nauthor A <a@b> 1700000000 +0000\\ncommitter A <a@b> 1700000000 +0000\\n\\nm\\n"
)
_OF_TREE = f'C=$(printf "{_COMMIT}" $T $(git rev-parse HEAD) | raw commit); echo $C > $G/$B; '
_BLOB = "E=$(printf x | git hash-object -w --stdin); "

LINKS = (
    Attack("index-link", "echo 1 > one; rm $G/index; ln -s $VICTIM $G/index"),
    Attack(
        "index-link-to-new-file", "echo 1 > one; rm $G/index; ln -s $HOME_OUT/.ssh/authorized_keys $G/index"
    ),
    Attack("index-lock-link", "echo 1 > one; ln -s $VICTIM $G/index.lock"),
    Attack("index-fifo", "echo 1 > one; rm $G/index; mkfifo $G/index"),
    Attack("index-folder", "echo 1 > one; rm $G/index; mkdir -p $G/index/x"),
    Attack("index-garbage", "echo 1 > one; head -c 4000 /dev/urandom > $G/index"),
    Attack("head-link", "commit; rm $G/HEAD; ln -s $VICTIM $G/HEAD", _NOT_PLAIN),
    Attack("head-link-to-ref", "commit; rm $G/HEAD; ln -s refs/heads/main $G/HEAD", _NOT_PLAIN),
    Attack("head-fifo", "commit; rm $G/HEAD; mkfifo $G/HEAD", _NOT_PLAIN),
    Attack("head-folder", "commit; rm $G/HEAD; mkdir $G/HEAD", _NOT_PLAIN),
    Attack("branch-link", "commit; rm $G/$B; ln -s $VICTIM $G/$B", _NOT_PLAIN),
    Attack("branch-fifo", "commit; rm $G/$B; mkfifo $G/$B", _NOT_PLAIN),
    Attack(
        "branch-folder-link",
        "commit; mv $G/refs/heads/weft ~/w; ln -s ~/w $G/refs/heads/weft",
        _NOT_PLAIN,
    ),
    Attack("refs-link", "commit; mv $G/refs ~/refs; ln -s ~/refs $G/refs", _NOT_PLAIN),
    Attack("log-link", "commit; rm $G/logs/HEAD; ln -s $VICTIM $G/logs/HEAD", _NOT_PLAIN),
    Attack("logs-link", "commit; rm -r $G/logs; ln -s $HOME_OUT $G/logs", _NOT_PLAIN),
    Attack("branch-log-link", "commit; ln -sf $VICTIM $G/logs/$B"),
    Attack("merge-head-link", "commit; ln -s $VICTIM $G/MERGE_HEAD", "a `git merge` is unfinished"),
    Attack(
        "merge-message-link", "commit; echo 2 > two; ln -s $VICTIM $G/MERGE_MSG; ln -s $VICTIM $G/MERGE_MODE"
    ),
    Attack(
        "note-link",
        "commit; for n in weft-recorded.new weft-index weft-brought; do ln -s $VICTIM $G/$n; done",
    ),
    Attack(
        "aside-link", "commit; echo 2 > two; for n in $(seq 1 99); do ln -s $VICTIM $G/.weft-new.$n; done"
    ),
    Attack(
        "packed-refs-link", "commit; rm $G/$B; rm $G/packed-refs; ln -s $VICTIM $G/packed-refs", _NOT_PLAIN
    ),
)

OBJECTS = (
    Attack(
        "object-folder-link",
        f"commit; {_LOOSE} D=$(dirname $F); mv $D ~/x; ln -s ~/x $D",
        _NOT_PLAIN,
    ),
    Attack("object-link", f"commit; {_LOOSE} mv $F ~/x; ln -s ~/x $F", _NOT_PLAIN),
    Attack("object-fifo", f"commit; {_LOOSE} rm -f $F; mkfifo $F", _NOT_PLAIN),
    Attack("objects-link", "commit; mv $G/objects ~/o; ln -s ~/o $G/objects", _NOT_PLAIN),
    Attack("pack-folder-link", "commit; rmdir $G/objects/pack; ln -s ~ $G/objects/pack", _NOT_PLAIN),
    Attack(
        "pack-link",
        "commit; git repack -adlq; for p in $G/objects/pack/*.pack; do mv $p ~/p; ln -s ~/p $p; done",
        _NOT_PLAIN,
    ),
    Attack("alternates-elsewhere", "commit; echo $HOME_OUT >> $G/objects/info/alternates"),
    Attack("alternates-fifo", "commit; rm $G/objects/info/alternates; mkfifo $G/objects/info/alternates"),
    Attack(
        "objects-of-another-store",
        "commit; mv $G/objects ~/o; mkdir -p $G/objects/info; echo ~/o > $G/objects/info/alternates",
        "refuses it",
    ),
    Attack(
        "shallow-without-parents", "commit; git rev-parse HEAD > $G/shallow; rm -f $G/objects/info/alternates"
    ),
    Attack("object-hard-link", f"commit; {_LOOSE} ln $F $G/objects/second; ln $F ~/second"),
    Attack("object-sparse", f"commit; {_LOOSE} chmod +w $F; truncate -s 5G $F", "at most"),
    Attack(
        "object-with-zeros-behind",
        f"commit; {_LOOSE} chmod +w $F; truncate -s 100M $F",
        "where it should|after its end",
    ),
    Attack(
        "object-of-empty-blocks",
        f"commit; {_LOOSE} rm -f $F; python3 -c 'import sys;"
        'sys.stdout.buffer.write(b"\\x78\\x01"+b"\\0\\0\\0\\xff\\xff"*4000000)\' > $F',
        "has no header|is broken",
    ),
    Attack(
        "tree-bomb",
        f'{_RAW}T=$(python3 -c \'import sys,zlib,hashlib,os;d=b"\\0"*(80<<20);s=b"tree %d\\0"%len(d)+d;'
        'o=hashlib.sha1(s).hexdigest();p=sys.argv[1]+"/objects/"+o[:2];os.makedirs(p,exist_ok=True);'
        f'open(p+"/"+o[2:],"wb").write(zlib.compress(s));print(o)\' $G); {_OF_TREE}',
        "has 83,886,080 bytes",
    ),
    Attack("commit-graph", "commit; head -c 999 /dev/urandom > $G/objects/info/commit-graph"),
    Attack("multi-pack-index", "commit; head -c 999 /dev/urandom > $G/objects/pack/multi-pack-index"),
    Attack(
        "poisoned-object",
        f"commit; {_LOOSE} rm -f $F; printf 'blob 4\\0EVIL' | python3 -c 'import "
        f"sys,zlib;sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' > $F",
        "refuses it",
    ),
    Attack(
        "poisoned-object-of-the-repository",
        "O=$(git rev-parse HEAD:README); D=$G/objects/$(echo $O | cut -c1-2); mkdir -p $D; printf 'blob "
        "4\\0EVIL' | python3 -c 'import "
        "sys,zlib;sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' > $D/$(echo $O | cut -c3-); "
        "echo 1 > one; git add one; git commit -qm one",
    ),
    Attack("truncated-object", f"commit; {_LOOSE} head -c 5 $F > ~/x; rm -f $F; mv ~/x $F", "is broken"),
    Attack("object-without-header", f"commit; {_LOOSE} rm -f $F; echo junk > $F", "is broken"),
    Attack(
        "object-bomb",
        f"commit; {_LOOSE} rm -f $F; python3 -c 'import sys,zlib;"
        'sys.stdout.buffer.write(zlib.compress(b"blob 9\\0"+b"0"*50000000))\' > $F',
        "larger than it says",
    ),
    Attack(
        "object-too-large",
        f"commit; {_LOOSE} rm -f $F; python3 -c 'import sys,zlib;"
        'sys.stdout.buffer.write(zlib.compress(b"blob 99999999999\\0x"))\' > $F',
        "has 99,999,999,999 bytes",
    ),
    Attack("missing-object", f"commit; {_LOOSE} rm -f $F", "refuses it"),
    Attack(
        "missing-parent",
        f"{_RAW}T=$(git rev-parse HEAD^{{tree}}); C=$(printf '{_COMMIT}' $T "
        f"1111111111111111111111111111111111111111 | raw commit); echo $C > $G/$B",
        "refuses it",
    ),
    Attack(
        "pack-garbage",
        "commit; echo junk > $G/objects/pack/pack-0123456789012345678901234567890123456789.pack",
        "refuses it",
    ),
    Attack(
        "tree-with-git-folder",
        f'{_RAW}{_BLOB}T=$(python3 -c \'import sys;sys.stdout.buffer.write(b"100644 .git\\0"+'
        f"bytes.fromhex(sys.argv[1]))' $E | raw tree); {_OF_TREE}",
        "refuses it",
    ),
    Attack(
        "tree-with-parent-folder",
        f'{_RAW}{_BLOB}T=$(python3 -c \'import sys;sys.stdout.buffer.write(b"100644 ..\\0"+'
        f"bytes.fromhex(sys.argv[1]))' $E | raw tree); {_OF_TREE}",
        "refuses it",
    ),
    Attack(
        "tree-with-path-in-a-name",
        f'{_RAW}{_BLOB}T=$(python3 -c \'import sys;sys.stdout.buffer.write(b"100644 a/../../b\\0"+'
        f"bytes.fromhex(sys.argv[1]))' $E | raw tree); {_OF_TREE}",
        "refuses it",
    ),
    Attack(
        "tree-out-of-order",
        f"{_RAW}{_BLOB}T=$(python3 -c 'import sys;o=bytes.fromhex(sys.argv[1]);sys.stdout.buffer.write("
        f'b"100644 b\\0"+o+b"100644 a\\0"+o)\' $E | raw tree); {_OF_TREE}',
        "refuses it",
    ),
    Attack(
        "tree-cut-off", f"{_RAW}T=$(printf '100644 a\\0xx' | raw tree); {_OF_TREE}", "ends within an entry"
    ),
    Attack(
        "commit-without-author",
        f"{_RAW}C=$(printf 'tree %s\\n\\nm\\n' $(git rev-parse HEAD^{{tree}}) | raw commit); echo $C > $G/$B",
        "refuses it",
    ),
    Attack(
        "module-url",
        "printf '[submodule \"x\"]\\npath = x\\nurl = -u./payload\\n' > .gitmodules; git add .; commit",
        "refuses it",
    ),
    Attack("module-file-link", "ln -s $VICTIM .gitmodules; git add .; commit"),
    Attack(
        "module-link",
        f'{_RAW}{_BLOB}T=$(python3 -c \'import sys;sys.stdout.buffer.write(b"120000 .gitmodules\\0"+'
        f"bytes.fromhex(sys.argv[1]))' $E | raw tree); {_OF_TREE}",
        "refuses it",
    ),
    Attack("branch-at-a-file", f"commit; {_BLOB} echo $E > $G/$B", "refuses it"),
    Attack("branch-at-a-tag", "commit; git tag -am t t; git rev-parse t > $G/$B", "is not a commit"),
)

_NAMED = (
    'named() { python3 -c \'import sys;n=sys.argv[2].encode().decode("unicode_escape").encode("latin-1");'
    'sys.stdout.buffer.write(sys.argv[3].encode()+b" "+n+b"\\0"+bytes.fromhex(sys.argv[1]))\' "$1" "$2" "$3" '
    "| raw tree; }; "
)
"""A tree with one entry: its object, its name with escapes, its mode."""


def _entry(name: str, mode: str = "100644") -> str:
    return f"{_RAW}{_NAMED}{_BLOB}T=$(named $E '{name}' {mode}); {_OF_TREE}"


def _written(commit: str) -> str:
    """A commit with a header and a message of its own; `%s` are its tree and its parent."""
    return (
        f"{_RAW}C=$(printf '{commit}' $(git rev-parse HEAD^{{tree}}) $(git rev-parse HEAD) | raw commit); "
        "echo $C > $G/$B"
    )


_HEADS = "tree %s\\nparent %s\\nauthor A <a@b> 1700000000 +0000\\ncommitter A <a@b> 1700000000 +0000\\n"

# Names that a file system takes for `.git`, and commits that other programs read in another way.
TREES = (
    *(
        Attack(f"tree-like-git-{number}", _entry(name), "refuses it")
        for number, name in enumerate(
            (
                ".GIT",
                ".gIt ",
                "git~1",
                "GIT~1",
                ".git.",
                ".git::$INDEX_ALLOCATION",
                ".g\\xe2\\x80\\x8cit",
                ".\\xe2\\x81\\xafgit",
            )
        )
    ),
    Attack("tree-with-backslash", _entry("a\\\\..\\\\b"), ""),
    Attack("tree-with-empty-name", _entry(""), "refuses it"),
    Attack("tree-with-dot", _entry("."), "refuses it"),
    Attack("tree-with-odd-mode", _entry("x", "177777")),
    Attack("tree-entry-of-another-kind", _entry("x", "40000"), "refuses it"),
    Attack("gitlink-to-a-file", _entry("sub", "160000"), ""),
    Attack(
        "gitlink-nowhere", "git update-index --add --cacheinfo 160000," + "1" * 40 + ",sub; git commit -qm s"
    ),
    Attack(
        "tree-twice-the-same",
        f"{_RAW}{_BLOB}T=$(python3 -c 'import sys;o=bytes.fromhex(sys.argv[1]);sys.stdout.buffer.write("
        f'2*(b"100644 a\\0"+o))\' $E | raw tree); {_OF_TREE}',
        "refuses it",
    ),
    Attack(
        "tree-of-cases",
        f"{_RAW}{_BLOB}T=$(python3 -c 'import sys;o=bytes.fromhex(sys.argv[1]);sys.stdout.buffer.write("
        f'b"100644 One\\0"+o+b"100644 one\\0"+o)\' $E | raw tree); {_OF_TREE}',
    ),
    Attack(
        "trees-in-trees",
        f"{_RAW}{_BLOB}T=$(python3 -c 'import sys,hashlib,zlib,os\n"
        'o,k=bytes.fromhex(sys.argv[1]),b"100644"\n'
        "for n in range(3000):\n"
        ' d=k+b" d\\0"+o;s=b"tree %d\\0"%len(d)+d;h=hashlib.sha1(s);o,k=h.digest(),b"40000"\n'
        ' p=sys.argv[2]+"/objects/"+h.hexdigest()[:2];os.makedirs(p,exist_ok=True)\n'
        ' open(p+"/"+h.hexdigest()[2:],"wb").write(zlib.compress(s))\n'
        f"print(o.hex())' $E $G); {_OF_TREE}",
        "",
    ),
    Attack("commit-with-nul", _written(_HEADS + "\\na\\0b\\n"), "refuses it|nul"),
    Attack("commit-with-odd-encoding", _written(_HEADS + "encoding ../../x\\n\\n\\377\\376\\n")),
    Attack("commit-with-more-headers", _written(_HEADS + "mergetag x\\ngpgsig -----BEGIN\\n y\\n\\nm\\n")),
    Attack(
        "commit-with-odd-date",
        _written(
            "tree %s\\nparent %s\\nauthor A <a@b> 99999999999999999999 +0000\\ncommitter A <a@b> 1 +0\\n\\nm\\n"
        ),
        "refuses it",
    ),
    Attack(
        "commit-that-is-its-own-parent",
        f"{_RAW}C=$(git rev-parse HEAD^{{tree}}); echo $C > $G/$B",
        "refuses it|is not a commit",
    ),
)

REFS = (
    Attack("symbolic-branch", "commit; echo 'ref: refs/heads/main' > $G/$B", "is a symbolic ref"),
    Attack("symbolic-plan", "commit; echo 'ref: refs/heads/main' > $G/refs/heads/weft/notes/_plan"),
    Attack("branch-nowhere", "commit; echo 1234567890123456789012345678901234567890 > $G/$B", "refuses it"),
    Attack("branch-junk", "commit; echo '$(touch x)' > $G/$B", "does not name a commit"),
    Attack("branch-huge", "commit; truncate -s 100M $G/$B", "is not a regular file, or cannot be read"),
    Attack("branch-gone", "commit; git update-ref -d $B"),
    Attack(
        "head-elsewhere", "commit; echo 'ref: refs/heads/../../../config' > $G/HEAD", "has an invalid name"
    ),
    Attack("head-absolute", "commit; echo 'ref: /etc/passwd' > $G/HEAD", "has an invalid name"),
    Attack(
        "head-odd-bytes",
        "commit; printf 'ref: refs/heads/\\377\\001\\n' > $G/HEAD",
        "has an invalid name",
    ),
    Attack("head-at-main", "git switch -qC main; commit", "has no branch checked out"),
    Attack("main-moved", "commit; git update-ref refs/heads/main HEAD"),
    Attack(
        "plan-moved",
        "commit; git update-ref refs/heads/weft/notes/_plan HEAD; git update-ref refs/weft/x HEAD",
    ),
    Attack("log-junk", "commit; printf 'a\\nb c\\n\\377\\0 x y\\n' >> $G/logs/HEAD"),
    Attack("log-huge", "commit; truncate -s 100M $G/logs/HEAD", "is not a regular file, or cannot be read"),
    Attack("replace-ref", f"commit; {_BLOB} git replace -f $(git rev-parse HEAD:README) $E"),
    Attack(
        "grafts-and-shallow", "commit; git rev-parse HEAD > $G/shallow; git rev-parse HEAD > $G/info/grafts"
    ),
    Attack("common-folder", "commit; echo $REPO/.git > $G/commondir; echo $SIBLING/.git > $G/gitdir"),
    Attack("worktree-entry", "commit; mkdir -p $G/worktrees/x; echo $SIBLING/.git > $G/worktrees/x/gitdir"),
    Attack("branch-with-more-lines", "commit; git rev-parse HEAD HEAD~1 > $G/$B", "does not name a commit"),
    Attack(
        "packed-refs-many-times",
        "commit; C=$(git rev-parse HEAD); rm $G/$B; (echo 'xx $B'; echo ' '$B; echo ^$C; "
        "echo $C refs/heads/main; echo $C $B; echo 1111111111111111111111111111111111111111 $B) > $G/packed-refs",
    ),
    Attack(
        "packed-refs-huge",
        "commit; rm $G/$B; truncate -s 1G $G/packed-refs",
        "is not a regular file, or cannot be read",
    ),
    Attack("branch-sparse", "commit; truncate -s 60K $G/$B", "does not name a commit"),
    Attack("branch-is-a-folder", "commit; rm $G/$B; mkdir -p $G/$B/x; echo x > $G/$B/x/y", _NOT_PLAIN),
    Attack("reference-tables", "commit; mkdir -p $G/reftable; echo x > $G/reftable/tables.list"),
    Attack("many-refs", "commit; for n in $(seq 1 500); do cp $G/$B $G/refs/heads/r$n; done"),
)

SETTINGS = (
    Attack("monitor", "commit; echo 2 > two; git config core.fsmonitor 'touch $HOME_OUT/ran'"),
    Attack(
        "filter",
        "git config filter.x.clean 'touch $HOME_OUT/ran; cat'; git config filter.x.required true; "
        "echo '* filter=x' > .gitattributes; echo 1 > one",
    ),
    Attack("filter-of-the-user", "echo '* filter=users' > .gitattributes; echo 1 > one"),
    Attack("attributes-in-info", "echo '* filter=users' > $G/info/attributes; echo 1 > one"),
    Attack(
        "hooks",
        "for h in post-commit reference-transaction post-checkout post-index-change pre-auto-gc; do mkdir -p "
        "$G/hooks; printf '#!/bin/sh\\ntouch $HOME_OUT/ran\\n' > $G/hooks/$h; chmod +x $G/hooks/$h; done; echo "
        "1 > one",
    ),
    Attack(
        "hooks-path",
        "mkdir h; printf '#!/bin/sh\\ntouch $HOME_OUT/ran\\n' > h/post-commit; chmod +x h/*; "
        "git config core.hooksPath $PWD/h; echo 1 > one",
    ),
    Attack(
        "include",
        "git config include.path $PWD/inc; git config includeIf.gitdir:/.path $PWD/inc; "
        "printf '[core]\\nfsmonitor = touch $HOME_OUT/ran\\n' > inc; echo 1 > one",
    ),
    Attack(
        "transport",
        "git config core.sshCommand 'touch $HOME_OUT/ran'; git config uploadpack.packObjectsHook "
        "'touch $HOME_OUT/ran'; git config protocol.ext.allow always; commit",
    ),
    Attack(
        "external-diff",
        "git config diff.external 'touch $HOME_OUT/ran'; git config diff.x.textconv 'touch $HOME_OUT/ran'; echo "
        "'* diff=x' > .gitattributes; echo 1 > one",
    ),
    Attack("work-tree", "commit; git config core.worktree $SIBLING; echo 2 > two"),
    Attack(
        "worktree-configuration",
        "git config extensions.worktreeConfig true; printf '[core]\\nfsmonitor = touch "
        "$HOME_OUT/ran\\n' > $G/config.worktree; echo 1 > one",
    ),
    Attack("configuration-link", "commit; ln -sf $VICTIM $G/config; echo 2 > two"),
    Attack("alternate-refs-command", "git config core.alternateRefsCommand 'touch $HOME_OUT/ran'; commit"),
    Attack("format", "commit; git config core.repositoryformatversion 9; git config extensions.evil 1"),
)

FILES = (
    Attack("git-file-removed", "rm -rf .git; mv .git x; commit"),
    Attack("git-file-written", "echo 'gitdir: /tmp' > .git; chmod 777 .git; commit"),
    Attack("git-file-mounted", "unshare -Urm sh -c 'umount .git; mount --bind /tmp .; rm -f .git'; commit"),
    Attack("nested-repository", "git init -q inner; touch inner/x; commit", "contains other repositories"),
    Attack(
        "nested-link-to-the-repository",
        "mkdir inner; echo gitdir: $REPO/.git > inner/.git; touch inner/x; commit",
        "contains other repositories",
    ),
    Attack(
        "nested-head-fifo",
        "mkdir -p i/.git/objects i/.git/refs; mkfifo i/.git/HEAD; touch i/x; commit",
        "took longer than",
    ),
    Attack(
        "submodule",
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm s; "
        "mkdir -p sub; echo gitdir: $REPO/.git > sub/.git",
        "",
    ),
    Attack("links-in-files", "ln -s $VICTIM victim; ln -s $HOME_OUT home; ln -s $REPO/.git repo; commit"),
    Attack("folder-becomes-link", "rm README; ln -s $HOME_OUT README; commit"),
    Attack(
        "special-files",
        "mkfifo pipe; rm README; mkfifo README; python3 -c 'import socket;"
        'socket.socket(socket.AF_UNIX).bind("s")\'; echo 1 > one',
    ),
    Attack(
        "odd-names",
        "touch -- '-c core.fsmonitor=x' '--upload-pack=touch x' \"$(printf 'a\\nb\\377')\"; commit",
    ),
    Attack("setuid", "cp /bin/true one; chmod 6777 one"),
    Attack("no-rights", "commit; echo 2 > two; mkdir $G/x x; chmod 0 $G/x x"),
    Attack("deep-folders", "commit; cd $G; for n in $(seq 1 300); do mkdir d$n; cd d$n; done"),
    Attack("locks", "commit; touch $G/index.lock $G/HEAD.lock $G/$B.lock $G/packed-refs.lock $G/config.lock"),
    Attack("locks-of-other-kinds", "commit; echo 2 > two; mkdir -p $G/index.lock/x; mkfifo $G/$B.lock"),
)

OUTSIDE = (
    Attack(
        "write-repository",
        "for f in config HEAD hooks/x refs/heads/main objects/x worktrees/x packed-refs "
        "info/attributes; do echo x >> $REPO/.git/$f; done; rm -rf $REPO/.git/* ; commit",
    ),
    Attack(
        "write-objects",
        "for f in $REPO/.git/objects/??/*; do chmod +w $f; echo x > $f; rm -f $f; done; commit",
    ),
    Attack("write-checkout", "echo x > $REPO/README; rm -rf $REPO/*; commit"),
    Attack("write-sibling", "echo x > $SIBLING/README; mkdir -p $SIBLING; touch $SIBLING/x; commit"),
    Attack(
        "write-clone-of-sibling",
        "for f in $REPO/.git/worktrees/sibling/*; do echo x > $f; rm -rf $f; done; commit",
    ),
    Attack("write-own-registration", "touch $G/../x; touch $G/../../index; rm -rf $G/../link; commit"),
    Attack("write-journal", "echo x > $REPO/.weft/weft.db; rm -rf $REPO/.weft; commit"),
    Attack(
        "write-home",
        "echo x >> $VICTIM; mkdir -p $HOME_OUT/.ssh; echo k > $HOME_OUT/.ssh/authorized_keys; commit",
    ),
    Attack("read-home", "cat $VICTIM > one; commit"),
    Attack("hard-links", "ln $REPO/README here; ln $REPO/.git/config $G/config2; commit; rm -f here"),
    Attack(
        "through-proc",
        "for p in /proc/[0-9]*; do echo x > $p/root$VICTIM; echo x > $p/cwd/../../x; done; commit",
    ),
    Attack("kill-others", "kill -9 -1 2>/dev/null & wait; kill -9 $PPID; commit"),
    Attack("mounts", "mount --bind / /tmp; mount -o remount,rw /; mount -t tmpfs x $PWD; commit"),
    Attack(
        "new-namespace",
        'unshare -Urm sh -c "mount -o remount,rw,bind $REPO; echo x > $REPO/README; '
        'umount -l $REPO/.git; echo x > $REPO/.git/config"; commit',
    ),
    Attack("devices", "mknod d b 8 0; mknod $G/d c 1 3; commit"),
    Attack("terminal", "printf x > /dev/tty; python3 -c 'import fcntl;fcntl.ioctl(0,0x5412,b\"x\")'; commit"),
)

ATTACKS = (*LINKS, *OBJECTS, *TREES, *REFS, *SETTINGS, *FILES, *OUTSIDE)
