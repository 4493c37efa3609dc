#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# ci/examples: cron.sh is executed against the real server by the real agent, with
# stand-ins for building and booting a kernel only; the others are read.
# shellcheck source=tests/lib.sh disable=SC2119
. "$SRC/tests/lib.sh"
# shellcheck source=tests/history/repo.sh
. "$SRC/tests/history/repo.sh"
examples=$SRC/ci/examples

# --- read ------------------------------------------------------------------------
if command -v shellcheck >/dev/null 2>&1; then
	shellcheck "$examples"/*.sh >&2
	ok $? 'shellcheck has nothing against the scripts'
else
	skip 'the scripts' 'no shellcheck (ci/deps gate)'
fi
if python3 -c 'import yaml' 2>/dev/null; then
	python3 - "$examples/github-actions.yml" <<'END' >"$tmp/steps"
import sys, yaml
flow = yaml.safe_load(open(sys.argv[1]))
assert flow[True], "on"			# YAML 1.1 reads "on" so
for name, job in flow["jobs"].items():
    assert job["runs-on"] and job["timeout-minutes"], name
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        if "run" in step:
            print("(\n" + step["run"] + "\n)")
END
	ok $? 'github-actions.yml is YAML, and each step does one thing'
	sh -n "$tmp/steps"
	ok $? '... in shell that parses'
else
	skip 'github-actions.yml' 'no python3-yaml (ci/deps)'
fi
for f in virtme-ng.sh github-actions.yml; do
	has "$(tr -s '# \n' ' ' <"$examples/$f")" "never run by the project's tests" \
		"$f says that it is only checked"
done
has "$(cat "$examples/virtme-ng.sh")" 'WARNING' 'and that a virtual machine is no measure of time'

# --- a CI host ---------------------------------------------------------------------
[ "$(id -u)" -eq 0 ] || { skip 'cron.sh' 'mmtrend run needs root'; done_testing; }
repo_start
patch a ann 'mm: a' '' 'set_line mm/gup.c 10 a'
pushed 2026-07-28T06:00:00Z a
server_start --rate 0 || { ok 1 'the server starts'; done_testing; }
"$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes >"$tmp/ptoken"
chmod 600 "$tmp/ptoken"
git clone -q "$repo" "$tmp/clone"
mkdir "$tmp/bin"
ln -s "$BUILD/mmtrend" "$tmp/bin/mmtrend"
cat >"$tmp/bin/build" <<'END'
#!/bin/sh
echo "built $(git -C "$2" rev-parse HEAD)" >>"$TMP/kernel.log"
[ "$1" = "$(git -C "$2" rev-parse HEAD)" ] && ! grep -q broken "$2/mm/gup.c"
END
cat >"$tmp/bin/boot" <<'END'
#!/bin/sh
echo "booted $1" >>"$TMP/kernel.log"
[ -e "$TMP/no-boot" ] || echo "6.18.0-g$(echo "$1" | cut -c 1-12)" >"$TMP/running"
END
chmod +x "$tmp/bin/build" "$tmp/bin/boot"
echo 6.1.0 >"$tmp/running"
cron() {
	TMP=$tmp PATH=$tmp/bin:$PATH MMTREND_URL=$url MMTREND_SPOOL=$tmp/spool \
	CLONE=$tmp/clone REF=origin/unstable BASE=origin/stable HOST=lab1 \
	PUSH_TOKEN=$tmp/ptoken RUN_TOKEN=$tmp/token POST_PUSH=$SRC/ci/post-push \
	BUILD=$tmp/bin/build BOOT=$tmp/bin/boot RUNNING="cat $tmp/running" \
	RUN_OPTIONS='--bench null --size base --launches 2 --iterations 5' \
		"$examples/cron.sh" >"$tmp/out" 2>"$tmp/err"
	rc=$?
}
log() { cut -d ' ' -f 1 "$tmp/kernel.log" | tr '\n' ' '; }
tree() { get "$url/trees/mm-unstable.json" | jq -c "$1"; }
cron
is "$rc $(log)" '0 built booted ' 'the newest tip is built and booted'
is "$(tree '[.rows[].new]')" "[\"$(sha unstable)\"]" 'and its push is posted'
cron
is "$rc $(log)" '0 built booted ' 'it runs now: nothing is built again'
sqlite3 "$db" "SELECT commit_sha FROM kernel" >"$tmp/kernels"
is "$(cat "$tmp/kernels")" "$(sha unstable)" 'it is measured, and the run is sent'
cron
is "$rc$(cat "$tmp/err")" 0 'and then there is nothing to do'
is "$(sqlite3 "$db" 'SELECT count(*) FROM run; SELECT count(*) FROM push' | tr '\n' ' ')" \
	'1 1 ' 'nothing is measured or posted twice'

patch broken ann 'mm: broken' '' 'set_line mm/gup.c 20 broken'
pushed 2026-07-29T06:00:00Z a broken
url=http://127.0.0.1:9 cron
is "$rc $(log)" '0 built booted built ' 'a tip that does not build, while the server is away'
cron
is "$rc $(log)" '0 built booted built ' 'is not built again'
is "$(tree '.rows[0] | [.new, .["host.lab1"]]')" \
	"[\"$(sha unstable)\",\"skipped: build failed\"]" 'and its gap has its reason'

patch fine ann 'mm: fine' '' 'set_line mm/gup.c 20 fine'
pushed 2026-07-30T06:00:00Z a fine
: >"$tmp/no-boot"
cron
cron
has "$(tree '.rows[0]["host.lab1"]')" 'another kernel came up' \
	'a kernel that does not come up is never measured as if it had'
is "$(tree '[.rows[].old]')" "$(tac "$tmp/log" | head -n 2 | cut -d ' ' -f 1 |
	jq -R . | jq -sc '. + [null]')" 'three pushes, one after another'
done_testing
