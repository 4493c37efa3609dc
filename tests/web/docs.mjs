// SPDX-License-Identifier: GPL-2.0-only
/*
 * node docs.mjs EXAMPLE FOLDER: run documents for the page tests, made from
 * the example of the wire: eight kernels on one host, nine sizes of mincore.
 * The figures are made up. They hold what a chart must tell apart: a step at
 * 64k, one size invalid (K_INVALID), one skipped (K_SKIP), another machine
 * from K_MACHINE on. Another host follows a tree: PUSHES say which of its
 * pushes it measured.
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

/* One commit each; as far as kernel: it measured; tree: what has the same source;
 * skip: why it did not. */
export const PUSHES = [{ kernel: true }, { skip: "build failed: <mm/gup.c>" },
	{ kernel: true }, {}, { kernel: true, tree: 9 }, { tree: 9 }];
export const tip = (i) => `a${i}81d90e27aa`.padEnd(40, "0123456789abcdef");
const day = (i) => `2026-07-0${i + 1}T06:00:00Z`;
const tree = (i) => String(PUSHES[i].tree ?? i).repeat(40);

function push(i) {
	const parent = "b".repeat(40), sha = tip(i);
	return { schema: "mmtrend.push/1", tree: "mm-unstable", linear: 0,
		pushed_at: day(i), old: i ? tip(i - 1) : null, new: sha,
		base: parent, tags: [], commits: [{ sha, parent,
			tree_hash: tree(i), subject: "mm: a change",
			author: "A B <a@example.org>", authored_at: day(i),
			patch_id: String(i).repeat(40), patch_id_u0: null,
			link: null, quilt: null, files: ["mm/gup.c"] }] };
}

const skip = (i) => ({ schema: "mmtrend.skip/1", host: "lab2", push: null,
	commit: tip(i), reason: PUSHES[i].skip });

function onTree(example, i) {
	const d = doc(example, 0), sha = tip(i);
	d.id = d.id.slice(0, -2) + `a${i}`;
	d.boot.id = d.boot.id.slice(0, -2) + `a${i}`;
	d.host.label = "lab2";
	Object.assign(d.kernel, { commit: sha, tree_hash: tree(i),
		release: `6.18.0-g${sha.slice(0, 12)}`,
		build_id: `a${i}` + d.kernel.build_id.slice(2) });
	delete d.unread["/kernel/tree_hash"];
	return d;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [example, folder] = process.argv.slice(2);
	const from = JSON.parse(fs.readFileSync(example));
	const write = (name, d) => fs.writeFileSync(path.join(folder, name),
		JSON.stringify(d));
	for (let k = 0; k < KERNELS; k++)
		write(`runs-${k}.json`, doc(from, k));
	PUSHES.forEach((p, i) => {
		write(`pushes-${i}.json`, push(i));
		if (p.kernel)
			write(`runs-a${i}.json`, onTree(from, i));
		if (p.skip)
			write(`skips-${i}.json`, skip(i));
	});
}
