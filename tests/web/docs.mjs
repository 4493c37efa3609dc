// SPDX-License-Identifier: GPL-2.0-only
/*
 * node docs.mjs EXAMPLE FOLDER: run documents for the page tests, made from
 * the example of the wire: eight kernels on one host, nine sizes of mincore.
 * The figures are made up. They hold what a chart must tell apart: a step at
 * 64k, one size invalid (K_INVALID), one skipped (K_SKIP), another machine
 * from K_MACHINE on.
 */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const KERNELS = 8, K_INVALID = 3, K_SKIP = 4, K_MACHINE = 6;
const SIZES = { 4096: 151000, 16384: 149000, 32768: 119000, 65536: 114000,
	131072: 129000, 262144: 152000, 524288: 148000, 1048576: 147000,
	2097152: 8300 };

/* Sorted, so that kernel k of the page is kernel k here. */
export const commit = (k) => `${k}c81d90e27aa`.padEnd(40, "0123456789abcdef");

function launch(ns, folio_bytes, i) {
	const at = (j) => Math.round(ns * (1 + 0.004 * (i + j % 3)));
	return { folios: 268435456 / folio_bytes, other_folios: 0,
		proved: "counter+pagemap", pinned: null,
		samples: { time_ns: [at(0) + 40000, ...[1, 2, 3, 4, 5].map(at)] } };
}

function cell(k, folio_bytes) {
	const ns = SIZES[folio_bytes] * (folio_bytes === 65536 && k >= 2 ? 0.3 : 1);
	const is = { bench: "mincore", folio_bytes };
	if (k === K_SKIP && folio_bytes === 2097152)
		return { ...is, status: "skip", reasons: ["no such size here"] };
	const launches = [0, 1, 2].map((i) => launch(ns, folio_bytes, i));
	if (k === K_INVALID && folio_bytes === 32768) {
		launches[0].folios -= 12;
		return { ...is, status: "invalid", launches,
			reasons: ["12 of 8192 folios fell back"] };
	}
	return { ...is, status: "ok", launches };
}

function doc(example, k) {
	const d = structuredClone(example), tail = String(k).padStart(2, "0");
	const sha = commit(k);
	d.id = d.id.slice(0, -2) + tail;
	d.boot.id = d.boot.id.slice(0, -2) + tail;
	d.kernel.release = `6.18.0-g${sha.slice(0, 12)}`;
	d.kernel.commit = sha;
	d.kernel.dirty = 0;
	d.kernel.build_id = tail + d.kernel.build_id.slice(2);
	delete d.unread["/kernel/commit"];
	delete d.unread["/kernel/dirty"];
	if (k >= K_MACHINE)
		d.host.epoch.stepping += 1;
	d.benches = d.benches.filter((b) => b.name === "mincore");
	d.design = { launches: 3, iterations: 6 };
	d.cells = Object.keys(SIZES).map((b) => cell(k, Number(b)));
	return d;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [example, folder] = process.argv.slice(2);
	const from = JSON.parse(fs.readFileSync(example));
	for (let k = 0; k < KERNELS; k++)
		fs.writeFileSync(path.join(folder, `${k}.json`),
			JSON.stringify(doc(from, k)));
}
