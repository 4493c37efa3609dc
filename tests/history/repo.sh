# SPDX-License-Identifier: GPL-2.0-only
# Sourced by tests/history/*.t: a git repository that lives like mm-unstable. A
# base branch, and a series of patches that is committed anew on it at each
# push, as quilt does. Dates of commits are fixed: the same patch on the same
# parent has the same SHA, and no date says anything about order. $tmp/log holds
# a line a push, $tmp/shas what patch each commit is of.
repo=$tmp/repo
# No setting of the user who runs the test may be seen.
GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=$tmp
GIT_AUTHOR_NAME=c GIT_AUTHOR_EMAIL=c@example.org
GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.org
GIT_AUTHOR_DATE='2026-07-01T00:00:00Z' GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL HOME GIT_AUTHOR_NAME \
	GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME \
	GIT_COMMITTER_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE
unset MMTREND_URL MMTREND_TOKEN_FILE MMTREND_SPOOL http_proxy HTTP_PROXY

in_repo() { git -C "$repo" "$@"; }
sha() { in_repo rev-parse "$1"; }

# Each file holds the lines 1 to 100.
repo_start() {
	git init -q "$repo"
	in_repo checkout -q -b stable
	mkdir -p "$repo/mm" "$tmp/patches"
	for f in mm/gup.c mm/mincore.c mm/memory.c mm/rmap.c mm/slub.c; do
		seq 100 >"$repo/$f"
	done
	in_repo add .
	in_repo commit -q --author 'b <b@example.org>' -m 'base'
	in_repo branch unstable
	: >"$tmp/log"
}
# set FILE LINE TEXT: a line becomes another, wherever it stands by now
set_line() { sed -i "s/^$2\$/$3/" "$repo/$1"; }
# above FILE LINE TEXT
above_line() { sed -i "s/^$2\$/$3\\n$2/" "$repo/$1"; }

# patch NAME AUTHOR SUBJECT LINK EDIT: what NAME is from now on; LINK '' for none
patch() {
	{
		echo "$3"
		printf '\nWhy %s.\n\n' "$1"
		[ -z "$4" ] || echo "Link: https://lkml.kernel.org/r/$4"
		echo "Signed-off-by: $2 <$2@example.org>"
	} >"$tmp/patches/$1.msg"
	echo "$2 <$2@example.org>" >"$tmp/patches/$1.author"
	echo "$5" >"$tmp/patches/$1.edit"
}
commit_patch() {
	# shellcheck source=/dev/null
	. "$tmp/patches/$1.edit"
	in_repo commit -q -a --author "$(cat "$tmp/patches/$1.author")" \
		-F "$tmp/patches/$1.msg"
	echo "$1 $(sha HEAD)" >>"$tmp/shas"
}
# on_stable NAME...: patches that go into the base for good
on_stable() {
	in_repo checkout -q stable
	for name; do commit_patch "$name"; done
}
# pushed TIME NAME...: the series on the base; its line in $tmp/log
pushed() {
	at=$1; shift
	old=$(sha unstable)
	in_repo checkout -q --detach stable
	for name; do commit_patch "$name"; done
	in_repo branch -q -f unstable HEAD
	echo "$old $(sha unstable) $at $(sha stable)" >>"$tmp/log"
}
