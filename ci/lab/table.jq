# SPDX-License-Identifier: GPL-2.0-only
# Of `mmtrend compare --json`, ci/lab/matrix's table: a row a metric, a column a
# size, thousands of instructions.
def size: if . >= 1048576 then "\(. / 1048576)m" else "\(. / 1024)k" end;
def thousands: if . == null then "-" elif . < 1000000 then
	(. / 100 | round / 10) else (. / 1000 | round) end;
def cell($v):
	if .before.value == null or .after.value == null then
		(.after.reason // .before.reason // "not measured" | .[0:40])
	else
		"\(.before.value | thousands) → \(.after.value | thousands)"
		+ if .verdict | test("x$") then
			" (\(.verdict | capture("(?<r>[0-9.]+x)$").r))" else "" end
		| if . as $t | $v | test("^SLOWER") then "**\($t)**" else . end
	end;
(.rows | map(.folio_bytes) | unique) as $sizes |
(.rows | group_by([.bench, .metric])) as $metrics |
"| k instructions | " + ($sizes | map(size) | join(" | ")) + " |",
"| --- |" + ($sizes | map(" ---: |") | add),
($metrics[] | . as $rows |
	"| \(.[0].bench) \(.[0].metric | sub("_insns$"; "")) | " +
	($sizes | map(. as $s | [$rows[] | select(.folio_bytes == $s)] |
		if length == 0 then "" else .[0] | .verdict as $v | cell($v) end) |
		join(" | ")) + " |")
