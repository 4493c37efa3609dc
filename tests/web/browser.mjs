// SPDX-License-Identifier: GPL-2.0-only
/* What pages.mjs needs of a browser: pages that are watched, axe, pixels. */
import fs from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const AXE = fs.readFileSync(createRequire(import.meta.url)
	.resolve("axe-core/axe.min.js"), "utf8");
const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic",
	"--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];

export const complaints = [];	/* errors, and requests to elsewhere */
export let base;
let browser;

export async function open(url) {
	base = url;
	browser = await chromium.launch({ args: ARGS,
		executablePath: process.env.CHROMIUM });
}

export async function close() {
	await browser.close();
}

export function ok(holds, what, seen) {
	console.log(`${holds ? "ok" : "not ok"} ${what}`);
	if (!holds && seen !== undefined)
		console.log(`seen: ${JSON.stringify(seen)}`);
}

function watch(page) {
	page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));
	page.on("pageerror", (e) => complaints.push(e.message));
	page.on("request", (r) => r.url().startsWith(`${base}/`) ||
		r.url().startsWith("blob:") || complaints.push(r.url()));
}

/* Run @act on a fresh page of @path, whose errors count unless @expected. */
export async function visit(path, options, act) {
	const { width = 1200, expected = false, before, ...rest } = options;
	const context = await browser.newContext({
		viewport: { width, height: 850 }, ...rest });
	const page = await context.newPage();
	page.setDefaultTimeout(60000);
	if (!expected)
		watch(page);
	await before?.(page);
	const answer = await page.goto(base + path, { waitUntil: "load" });
	if (rest.javaScriptEnabled !== false && await page.$("#chart"))
		await page.waitForSelector("#chart canvas, #chart img");
	await act(page, answer);
	await context.close();
}

/* axe has to come by evaluate: the CSP stops a script tag. */
export async function violations(page) {
	await page.evaluate(AXE);
	const found = await page.evaluate(() => globalThis.axe.run());
	return found.violations.map((v) =>
		`${v.id}: ${v.nodes.map((n) => n.html.slice(0, 90)).join(" | ")}`);
}

/* { colours, hash } of the chart's canvas. */
export function pixels(page) {
	return page.evaluate(() => {
		const canvas = document.querySelector("#chart canvas");
		const { data } = canvas.getContext("2d").getImageData(0, 0,
			canvas.width, canvas.height);
		const colours = new Set();
		let hash = 0;
		for (const v of new Uint32Array(data.buffer)) {
			colours.add(v);
			hash = (Math.imul(hash, 31) + v) | 0;
		}
		return { colours: colours.size, hash };
	});
}
