#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The walls between the rooms, and what must never be in the tree.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
cd "$SRC" || exit 1
files() { git ls-files --cached --others --exclude-standard "$@" |
	while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }
# nowhere PATTERN "guards" FILE...: no file may match
nowhere() {
	p=$1 what=$2; shift 2
	is "$(grep -nE -e "$p" "$@" /dev/null | head -5)" "" "$what"
}
# only PATTERN "guards" ALLOWED-REGEX: matches in C files only there
only() {
	is "$(files '*.[ch]' | grep -v '^tests/' | xargs grep -lE -e "$1" |
		grep -vE -e "$3")" "" "$2"
}
# shellcheck disable=SC2046
{
nowhere '#include "(\.\./)?(agent|server)/' "common/ includes nothing of ours outside itself" $(files 'common/*.[ch]')
nowhere '#include ".*server/' "the agent never sees the server" $(files 'agent/*.[ch]' 'agent/bench/*.[ch]')
nowhere '#include ".*agent/' "the server never sees the agent" $(files 'server/*.[ch]' 'server/route/*.[ch]')
}
only '<microhttpd\.h>' "libmicrohttpd stays behind server/http.c" '^server/http\.c$'
only '<sqlite3\.h>' "SQLite stays behind store and migrate" '^server/(store[a-z_]*|migrate)\.[ch]$'
only '<curl/curl\.h>' "libcurl stays behind agent/push.c" '^agent/push\.c$'
only '<jansson\.h>' "JSON is parsed in few places" '^(common/field\.c|agent/(push|show|compare|todo|claims)\.c)$'
is "$(files 'server/*.c' 'server/route/*.c' | xargs grep -lE '\b(v?fork|execve?|execl|execv[pe]*|posix_spawnp?|system|popen)\(' |
	grep -v '^server/plotter\.c$')" "" "only the plotter starts processes"
is "$(for f in $(files 'common/*.c' 'agent/*.c' 'agent/bench/*.c' 'server/*.c' 'server/route/*.c'); do
	h=${f%.c}.h; [ ! -f "$h" ] || grep -qF "#include \"$(basename "$h")\"" "$f" || echo "$f"; done)" "" \
	"each .c includes its own header"

# Everything ours says its licence.
is "$(files '*.c' '*.h' '*.def' '*.sh' '*.t' '*.sql' '*.mjs' '*.css' '*.js' Makefile 'ci/*' '.ci/*' |
	grep -vE '^(web/vendor/|tests/fuzz/corpus/)' | while read -r f; do
	head -5 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-only' || echo "$f"; done)" "" \
	"every source file carries the SPDX line"

# The README's map names every file of the programs.
is "$(files 'common/*.c' 'agent/*.c' 'agent/bench/*.c' 'server/*.c' 'server/route/*.c' 'ci/*' 'schema/*' 'web/*.*' |
	grep -vE '^web/vendor/' | while read -r f; do
	grep -qF "$(basename "${f%.*}")" README.md || echo "$f"; done)" "" \
	"the README's map names every file"

# Nothing unfinished, nothing of the place where it was written.
is "$(files | grep -vE '^(web/vendor/|COPYING|tests/tree/)' |
	xargs grep -nIE '\b(TODO|FIXME|XXX|HACK)\b' | head -5)" "" "nothing is left for later in the source"
is "$(files | grep -vE '^(web/vendor/|COPYING|tests/tree/)' |
	xargs grep -nIE '(/work/|\.\./shared|\.library|deb\.debian\.org|registry\.npmjs)' | head -5)" "" \
	"no path of a workplace and no registry's host"
is "$(files '*.c' '*.h' |
	grep -v '^tests/fuzz/corpus' | xargs grep -nE '[ 	]+$' | head -5)" "" "no trailing white space in C"
# shellcheck disable=SC2016 # awk's own
is "$(files '*.c' '*.h' | grep -vE '^tests/' | xargs awk '
	{ t = $0; gsub(/\t/, "        ", t) }
	length(t) > 100 { print FILENAME ":" FNR; n++ } n > 5 { exit }')" "" \
	"no line of C is wider than 100 columns"

# Landed migrations are never edited: their hashes stand here.
if [ -f schema/SHA256SUMS ]; then
	sha256sum --quiet -c schema/SHA256SUMS >&2; ok $? "a landed migration is never edited"
	is "$(for f in $(files 'schema/*.sql'); do grep -qF "$f" schema/SHA256SUMS || echo "$f"; done)" "" \
		"every migration's hash is kept"
else
	ok 1 "schema/SHA256SUMS keeps the hashes of landed migrations"
fi
done_testing
