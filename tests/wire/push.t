#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The published schema of a push, read by another program's validator, takes what
# our parser takes and refuses what it refuses.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"

python=/usr/bin/python3
"$python" -c 'import jsonschema' 2>/dev/null ||
	skip_all "no python3-jsonschema: ci/deps installs it"
valid() {
	"$python" - "$SRC/schema/push.schema.json" "$1" <<'END' 2>&1
import json, sys, jsonschema
schema, doc = (json.load(open(f)) for f in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(doc))
print(errors[0].message[:200] if errors else "valid")
END
}
is "$(valid "$SRC/tests/wire/push/example.json")" valid "the schema takes the example"
both() {	# JQ-PROGRAM valid|refused: by the schema, and by the server
	jq "$1" "$SRC/tests/wire/push/example.json" >"$tmp/push.json"
	said=$(valid "$tmp/push.json"); [ "$said" = valid ] || said=refused
	is "$said" "$2" "the schema: $2: $1"
	code=$(curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $push_token" \
		-H 'Content-Type: application/json' --data-binary "@$tmp/push.json" "$url/api/v1/pushes")
	# 409: the text is right, but a SHA is one commit.
	case $code in 20?|409) code=valid ;; 400) code=refused ;; esac
	is "$code" "$2" "... and the server"
}
server_start --rate 0 || exit 1
push_token=$("$BUILD/mmtrendd" token add --tokens "$tmp/tokens" --scope pushes)
both . valid
both 'del(.old, .base, .tags) | .tree = "a"' valid
both '.commits[] |= del(.files, .link, .quilt) | .tree = "b"' valid
both '.commits = [] | .tree = "c"' valid
both '.surprise = 1' refused
both 'del(.linear)' refused
both '.linear = 2' refused
both '.tree = ".x"' refused
both '.new = null' refused
both '.tags = ["a b"]' refused
both '.commits[0].surprise = 1' refused
both 'del(.commits[0].subject)' refused
both '.commits[0].subject = "\u200b"' refused
both '.commits[0].patch_id = "x"' refused
both '.commits[0].files = "mm/gup.c"' refused
both '.commits[1].authored_at = "yesterday"' refused
done_testing
