#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# An example for CI owners: plain cron and git follow one tree on one measured
# host. Copy it and change what is below "the host's own". The project's tests
# run it as it stands, with stand-ins for building and booting a kernel only.
#
#   */10 * * * * root MMTREND_URL=https://mmtrend.example.org /usr/local/lib/mmtrend/cron.sh
#
# Each time: fetch; post every push that the clone's reflog knows; measure if the
# newest tip is the kernel that runs; else build and boot it, for the next time.
# What cannot be sent waits in a spool, so a server that is away stops nothing.
set -eu

# --- the host's own ------------------------------------------------------------
: "${CLONE:=/srv/linux}"	# a whole clone of the tree, made by `git clone`
: "${TREE:=mm-unstable}"	# its name on the server
: "${REF:=origin/mm-unstable}" "${BASE:=origin/mm-stable}"
: "${HOST:=$(hostname)}"	# this host's name on the server
: "${PUSH_TOKEN:=/etc/mmtrend/push-token}"	# scope pushes, for TREE
: "${RUN_TOKEN:=/etc/mmtrend/token}"		# scope runs, for HOST
: "${POST_PUSH:=post-push}"	# ci/post-push
# BUILD SHA DIR makes and installs the kernel of the work tree DIR; BOOT SHA
# starts it, by kexec or reboot, and need not return; RUNNING says which kernel
# runs: with CONFIG_LOCALVERSION_AUTO its release ends in -g and 12 digits.
: "${BUILD:=/etc/mmtrend/build}" "${BOOT:=/etc/mmtrend/boot}" "${RUNNING:=uname -r}"
: "${RUN_OPTIONS:=}"		# what to measure, of `mmtrend run`: "--for" is
				# what the server still lacks of this host

# --- the loop --------------------------------------------------------------------
say() { echo "cron.sh: $*" >&2; }
state=$(git -C "$CLONE" rev-parse --absolute-git-dir)/mmtrend-$TREE
mkdir -p "$state"
exec 9>"$state/lock"
flock -n 9 || exit 0		# the last call still builds

git -C "$CLONE" fetch --quiet --tags || say "fetch failed: the last tip stays"
"$POST_PUSH" --repo "$CLONE" --tree "$TREE" --base "$BASE" --reflog "$REF" \
	--token-file "$PUSH_TOKEN" || say "post-push ended with $?"
tip=$(git -C "$CLONE" rev-parse "$REF")

# How far the newest tip has got: $state/built, $state/finished. A gap is told
# with its reason, again each time until the server has it.
is() { [ "$(cat "$state/$1" 2>/dev/null)" = "$tip" ]; }
becomes() { echo "$tip" >"$state/$1"; }
gap() {
	say "$tip: $1"
	becomes gap
	echo "$1" >"$state/reason"
}

if is finished || is gap; then
	:
elif $RUNNING | grep -q -- "-g$(echo "$tip" | cut -c 1-12)"; then
	rc=0
	# shellcheck disable=SC2086 # words
	mmtrend run --commit "$tip" --tree "$TREE" --host "$HOST" $RUN_OPTIONS \
		>"$state/run.log" 2>&1 || rc=$?
	case $rc in
	0|3) becomes finished ;;	# 3: kept, and marked as not valid
	*) gap "mmtrend run ended with $rc" ;;
	esac
elif is built; then
	gap "another kernel came up"
else
	git -C "$CLONE" worktree add --force --detach "$state/src" "$tip" \
		>/dev/null 2>&1 ||
		git -C "$state/src" checkout --quiet --force --detach "$tip"
	if $BUILD "$tip" "$state/src" >"$state/build.log" 2>&1; then
		becomes built
		sync
		$BOOT "$tip"
	else
		gap "build failed"
	fi
fi
if is gap && mmtrend skip --commit "$tip" --host "$HOST" \
		--reason "$(cat "$state/reason")" --token-file "$RUN_TOKEN"; then
	becomes finished
	rm "$state/gap"
fi
mmtrend push --token-file "$RUN_TOKEN" >/dev/null || say "mmtrend push ended with $?"
