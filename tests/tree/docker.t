#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# docker/: the compose file, the Dockerfile and the script that builds name the
# same things. `make images` tests the images themselves.
# shellcheck source=tests/lib.sh
. "$SRC/tests/lib.sh"
cd "$SRC/docker" || exit 1
python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' \
	<compose.yml >"$tmp/compose.json"
ok $? "compose.yml is YAML"
# compose FILTER: what jq finds in it
compose() { jq -r "$1" "$tmp/compose.json"; }
# stage NAME: its instructions, one a line
stage() {
	sed -e '/^#/d' -e :a -e '/\\$/{N;s/\\\n[ \t]*//;ba' -e '}' Dockerfile |
		awk -v want="$1" '/^FROM/ { in_it = $4 == want } in_it'
}
# said WORD: the arguments of the server's instruction of that name
said() { stage server | sed -n "s/^$1 //p"; }
# option NAME: of the server's entry point
option() { said ENTRYPOINT | jq -r ".[index(\"--$1\") + 1]"; }

is "$(compose '.services | to_entries[] | "\(.key) \(.value.image) \(.value.build.target)"' | sort)" \
	"$(sed -n 's/^FROM .* AS //p' Dockerfile | grep -v '^build$' | sort |
		sed 's/.*/& mmtrend-& &/')" \
	"a service for each image, by its name"
is "$(sed -n 's/^for target in \(.*\); do/\1/p' build | tr ' ' '\n' | sort)" \
	"$(compose '.services | keys[]')" "docker/build makes all of them"
# shellcheck disable=SC2016 # as the script has it
has "$(cat build)" '-t mmtrend-$target' "by the same name"
is "$(compose '.services[].build | "\(.context)/\(.dockerfile)"' | sort -u)" \
	../docker/Dockerfile "from the same file"

port=$(option listen | sed 's/.*://')
is "$(said EXPOSE)" "$port" "the port that the server listens on is exposed"
has "$(said HEALTHCHECK)" "127.0.0.1:$port/healthz" "asked for its health"
is "$(compose '.services.server.ports[]')" "127.0.0.1:$port:$port" \
	"and published, to this machine only"
is "$(compose '.services.server.command[1]')" "$(said CMD | jq -r '.[1]')" \
	"its address in the image and in the compose file"

for image in server agent; do
	is "$(compose ".services.$image.volumes[0]")" \
		"$image:$(stage $image | sed -n 's/^VOLUME //p')" \
		"the $image's volume"
done
is "$(compose '.volumes | keys | join(" ")')" "agent server" "both are declared"
for file in db tokens; do
	is "$(dirname "$(option $file)")" "$(said VOLUME)" "--$file is kept in it"
done

has "$(said USER)" mmtrend "the server runs as its own user"
is "$(compose '.services.server | .privileged, .user, .cap_add')" \
	"$(printf 'null\nnull\nnull')" "and gets nothing beyond it"
is "$(compose '.services.agent | .privileged, .network_mode, .pid')" \
	"$(printf 'true\nhost\nhost')" "the agent sees the host, and its /sys can be written"
is "$(compose '.services.agent.environment.MMTREND_TOKEN_FILE')" \
	"/run/secrets/$(compose '.services.agent.secrets[0]')" "the agent finds its token"
git -C "$SRC" check-ignore -q "docker/$(compose .secrets.token.file)"
ok $? "which git never takes"
is "$(sed -n 's/^COPY \([^-].*\) .*/\1/p' Dockerfile | while read -r f; do
	[ -e "$SRC/$f" ] || echo "$f"; done)" "" "what the build copies is there"
done_testing
