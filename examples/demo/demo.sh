#!/bin/sh
# Makes a small repository with a plan in it, and runs the plan. Two of its slices disagree about one line, so one of
# them is held for a person to settle; all else lands on main.
set -eu
project=$(cd "$(dirname "$0")/project" && pwd)
place=$(mktemp -d)
cp -R "$project/." "$place"
cd "$place"
git init --quiet --initial-branch main
git add .
git -c user.name=You -c user.email=you@localhost commit --quiet --message "Where we start"

code=0
weft run || code=$?
if [ "$code" != 4 ]; then # 4: something waits for a person
    exit "$code"
fi
printf '\nWhat landed on main of %s:\n' "$place"
git log --oneline --first-parent
