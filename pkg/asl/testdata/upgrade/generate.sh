#!/bin/sh
# Makes the databases beside this file: what the embedded engine of an earlier
# commit leaves on disk with a run in every state. Each name is the commit's.
# Given commits, it makes theirs alone. A release is one more when it is tagged.
set -eu
cd "$(dirname "$0")"
here=$PWD
for commit in ${*:-a63da28 f090bae f670973}; do
  tree=$(mktemp -d)
  git worktree add --quiet --detach "$tree" "$commit"
  mkdir "$tree/dump"
  cp dump.go.txt "$tree/dump/main.go"
  (cd "$tree" && go run ./dump) > "$here/$commit.sql"
  git worktree remove --force "$tree"
done
