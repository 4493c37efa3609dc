#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The published schema, read by another program's validator, takes what the
# agent really writes and what our own parser takes, and refuses the rest.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

python=/usr/bin/python3
"$python" -c 'import jsonschema' 2>/dev/null ||
	skip_all "no python3-jsonschema: ci/deps installs it"

# valid FILE: what the validator says of it
valid() {
	"$python" - "$SRC/schema/run.schema.json" "$1" <<'END' 2>&1
import json, sys, jsonschema
schema, doc = (json.load(open(f)) for f in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(doc))
print(errors[0].message[:200] if errors else "valid")
END
}

for f in "$SRC"/tests/wire/valid/*.json; do
	is "$(valid "$f")" valid "the schema takes $(basename "$f")"
done

"$BUILD/mmtrend" run --host schema --bench null,mincore,gup,pfnmap --size base \
	--launches 2 --iterations 5 --memory 16m -o "$tmp/run.json" >/dev/null 2>"$tmp/err"
ok $(($? != 0 && $? != 3)) "the agent writes a document: $(tail -1 "$tmp/err")"
is "$(valid "$tmp/run.json")" valid "the schema takes what the agent writes"

refuse() {	# JQ-PROGRAM WHAT
	jq "$1" "$tmp/run.json" >"$tmp/bad.json"
	[ "$(valid "$tmp/bad.json")" != valid ]
	ok $? "the schema refuses $2"
}
refuse '.surprise = 1' "an unknown key"
refuse 'del(.host.label)' "a run without a host label"
refuse '.cells[0].folio_bytes = "64k"' "a size in words"
refuse '.cells[0].launches[0].samples.time_ns[0] = -1' "a negative sample"
refuse '.cells[0].status = "fine"' "a status that does not exist"
done_testing
