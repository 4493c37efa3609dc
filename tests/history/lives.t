#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Random lives of a tree, posted in another order than they happened: where each
# kernel stands, what each push did, and what each patch was must equal a model in
# another language. A handful of them goes through git and ci/post-push.
# MMTREND_LIVES: how many (the gate: 200).
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"
lives=${MMTREND_LIVES:-40}
PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE

# live FIRST LAST [git]: on a server of their own
live() {
	db=$tmp/lives-$1${3:-}.db
	server_start --rate 0 || { ok 1 'the server starts'; done_testing; }
	"$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes >"$tmp/ptoken"
	chmod 600 "$tmp/ptoken"
	URL=$url RUNS=$token PUSHES=$(cat "$tmp/ptoken") PUSHES_FILE=$tmp/ptoken \
		python3 "$SRC/tests/history/lives.py" "$@" \
		>>"$tmp/events" 2>"$tmp/differs"
	ok $? "lives $1 to $(($2 - 1)) are told as the model has them${3:+, through git}"
	cut -c 1-2000 "$tmp/differs" | sed 's/^/# /'
	server_stop
	rm -f "$db"*
}
live 0 3 git
: >"$tmp/events"
first=0
while [ $first -lt "$lives" ]; do
	live $first $((first + 10))
	first=$((first + 10))
done

# 20 of each in the gate's 200
least=$((lives / 10))
awk '{ n[$1] += $2 } END { for (k in n) print n[k], k }' "$tmp/events" |
	sort >"$tmp/counts"
while read -r count kind; do
	ok $((count < least)) "$kind happened $count times, and $least are asked"
done <"$tmp/counts"
is "$(wc -l <"$tmp/counts")" 25 'that is every kind of event there is'
done_testing
