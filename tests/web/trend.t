#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The pages as a person meets them: a real browser on a real mmtrendd.
. "$SRC/tests/lib.sh"
web=$SRC/tests/web
chromium=$(command -v chromium) || skip_all "no chromium: ci/deps installs it"
command -v node >/dev/null || skip_all "no node: ci/deps installs it"
for module in playwright-core axe-core; do
	[ -d "$web/node_modules/$module" ] ||
		skip_all "no tests/web/node_modules/$module: ci/deps installs it"
done

# shellcheck disable=SC2119
server_start || { ok 1 "the server starts"; done_testing; }
mkdir "$tmp/docs"
node "$web/docs.mjs" "$SRC/tests/wire/valid/example.json" "$tmp/docs"
push_token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes)
for f in "$tmp"/docs/*.json; do
	what=${f##*/}
	case $what in pushes-*) may=$push_token ;; *) may=$token ;; esac
	is "$(curl -sS -o /dev/null -w '%{http_code}' --data-binary "@$f" \
		-H "Authorization: Bearer $may" -H 'Content-Type: application/json' \
		"$url/api/v1/${what%%-*}")" 201 "posted: $what"
done

# pages.mjs says "ok WHAT" or "not ok WHAT"; all else is for the reader.
HOME=$tmp CHROMIUM=$chromium node "$web/pages.mjs" "$url" \
	>"$tmp/pages" 2>"$tmp/stderr"
ran=$?
while read -r line; do
	case $line in
	"ok "*) ok 0 "${line#ok }" ;;
	"not ok "*) ok 1 "${line#not ok }" ;;
	*) echo "# $line" ;;
	esac
done <"$tmp/pages"
sed 's/^/# /' "$tmp/stderr"
ok "$ran" "the browser went through all pages"
done_testing
