// SPDX-License-Identifier: GPL-2.0-only
/* node pages.mjs URL: every page in a browser, over the runs of docs.mjs. */
import { KERNELS, K_INVALID, K_MACHINE, K_SKIP, PUSHES, commit, tip }
	from "./docs.mjs";
import { base, close, complaints, ok, open, pixels, violations, visit }
	from "./browser.mjs";

const short = (k) => commit(k).slice(0, 12);
const json = async (path) => (await fetch(base + path)).json();
const text = (page, selector) => page.locator(selector).innerText();
const span = (page) => page.evaluate(() => {
	const { x } = document.getElementById("chart").trend.u.scales;
	return x.max - x.min;
});

/* Where series @s stands at kernel @k, in the page. */
const place = (page, s, k) => page.evaluate(([s, k]) => {
	const { trend } = document.getElementById("chart");
	const box = trend.u.over.getBoundingClientRect();
	return { x: box.x + trend.u.valToPos(k, "x"),
		y: box.y + trend.place(trend.series[s], k) };
}, [s, k]);

await open(process.argv[2]);
const TREND = "/trend?host=lab1&bench=mincore";
const GAPS = "/trend?host=lab2&bench=mincore";
const trend = await json(TREND.replace("?", ".json?"));
const { key } = trend.kernels;
const COMPARE = `/compare?host=lab1&a=${key[0]}&b=${key[2]}`;
const PAGES = { index: "/", hosts: "/hosts", kernels: "/kernels",
	trend: TREND, gaps: GAPS, compare: COMPARE, trees: "/trees",
	error: "/no-such-page" };
const at64k = trend.series.findIndex((s) => s.folio_bytes === 65536);

async function draws(page) {
	const { colours } = await pixels(page);
	ok(colours > 30, "the chart is drawn", colours);
	const shift = await page.evaluate(() => new Promise((done) => {
		new PerformanceObserver((list) => done(list.getEntries()
			.reduce((sum, e) => sum + e.value, 0)))
			.observe({ type: "layout-shift", buffered: true });
		setTimeout(() => done(0), 300);
	}));
	ok(shift < 0.05, "nothing jumps when the chart comes", shift);
}

async function hovers(page) {
	const k = 1, p = await place(page, at64k, k);
	await page.mouse.move(p.x, p.y + 2);
	const tip = await text(page, ".tip"), s = trend.series[at64k];
	const us = (s.value[k] / 1000).toFixed(0);
	ok(tip.includes(`64k: ${us} \u00b1 `), "hover shows value and spread", tip);
	ok(tip.includes(`n ${s.n[k]}, boots ${s.boots[k]}`),
		"hover shows launches and boots", tip);
	ok(tip.includes(short(k)) && tip.includes(trend.kernels.release[k]),
		"hover shows commit and release", tip);
	await page.mouse.move(5, 5);
	ok(await page.locator(".tip").isHidden(), "leaving the chart hides it");
}

async function hasKeys(page) {
	const press = async (...keys) => {
		for (const k of keys)
			await page.keyboard.press(k);
		return page.locator("#chart [aria-live]").textContent();
	};
	await page.focus(".plot");
	ok((await press("End")).includes(short(KERNELS - 1)), "End reads the newest");
	const first = await press("Home");
	ok(first.includes(short(0)), "Home reads the oldest", first);
	const below = await press("ArrowDown");
	ok(below.includes(short(0)) && below !== first,
		"down goes to the next size", [first, below]);
	ok(await press("ArrowUp") === first, "and up goes back");
	const right = await press("ArrowRight");
	ok(right.includes(short(1)), "right goes to the next kernel", right);
	await press("+");
	ok(await span(page) < KERNELS, "+ zooms in", await span(page));
	await press("Escape");
	ok(await span(page) === KERNELS, "Esc shows all again", await span(page));
}

/* Read kernel @k from top to bottom until @want comes. */
async function reads(page, k, want, what) {
	const heard = [];
	await page.focus(".plot");
	await page.keyboard.press("Home");
	for (let i = 0; i < k; i++)
		await page.keyboard.press("ArrowRight");
	for (let i = 0; i < 9; i++)
		await page.keyboard.press("ArrowUp");
	for (let i = 0; i < 9; i++) {
		heard.push(await page.locator("#chart [aria-live]").textContent());
		await page.keyboard.press("ArrowDown");
	}
	ok(heard.some((t) => t.includes(want)), what, heard);
}

/* As the static picture: no line over what was not measured. */
async function showsGaps(page) {
	const { n, gaps, line } = await page.evaluate(() => {
		const { n, gaps, series } = document.getElementById("chart").trend;
		return { n, gaps, line: series[0].line };
	});
	ok(n === PUSHES.length && PUSHES.every((p, k) => !p.kernel === !!gaps[k]),
		"each push has its place", gaps);
	ok(PUSHES.every((p, k) => !p.kernel === (line[k] === null)),
		"no line crosses a gap", line);
	await page.focus(".plot");
	await page.keyboard.press("Home");
	const heard = [];
	for (let k = 1; k < n; k++) {
		await page.keyboard.press("ArrowRight");
		heard.push(await page.locator("#chart [aria-live]").textContent());
	}
	ok(heard[0].includes(`not measured: ${PUSHES[1].skip}`) &&
		heard[0].includes(tip(1).slice(0, 12)), "a gap reads its reason", heard);
	ok(heard[2].startsWith("not measured: no reason given"),
		"and that none was given", heard[2]);
	ok(heard[4].startsWith("same source"), "the same source is no gap", heard[4]);
	const p = await place(page, 0, 1);
	await page.mouse.move(p.x, p.y);
	ok((await text(page, ".tip")).includes(PUSHES[1].skip),
		"hover shows the reason, as text");
	const found = await violations(page);
	ok(found.length === 0, "gaps, wide: axe finds nothing", found);
	await page.mouse.click(p.x, p.y);
	await page.waitForURL("**/pushes/*");
	ok((await text(page, "main")).includes(tip(1).slice(0, 12)),
		"a click leads to the push", page.url());
}

/* The navigation, by keyboard alone, where it is narrowest. */
async function navigates(page) {
	const box = await page.locator("body > header").boundingBox();
	ok(box.x + box.width <= 390 && box.height < 60,
		"the header is one line of 390 px", box);
	await page.keyboard.press("Tab");
	for (const name of ["mmtrend", "Hosts", "Kernels", "Trees"]) {
		await page.keyboard.press("Tab");
		const seen = await page.evaluate(() => document.activeElement.textContent);
		ok(seen === name, `Tab reaches ${name}`, seen);
	}
	await page.keyboard.press("Enter");
	await page.waitForURL("**/trees");
	ok((await text(page, "main")).includes("mm-unstable"), "and Enter opens it");
}

async function toggles(page) {
	const before = await pixels(page);
	const button = page.getByRole("button", { name: "64k", exact: true });
	await button.click();
	const without = await pixels(page);
	ok(await button.getAttribute("aria-pressed") === "false" &&
		without.hash !== before.hash, "a legend button hides its size");
	await button.click();
	ok((await pixels(page)).hash === before.hash, "and brings it back");
	await page.click("text=all / none");
	ok(await page.locator(".legend [aria-pressed=true]").count() === 0,
		"all sizes off at once");
	await page.click("text=all / none");
	await page.click("text=log scale");
	ok((await pixels(page)).hash !== before.hash, "the log scale is another picture");
	await page.click("text=log scale");
	ok((await pixels(page)).hash === before.hash, "and the linear one is as before");
}

async function zooms(page) {
	const a = await place(page, at64k, 2), b = await place(page, at64k, 5);
	const whole = page.locator("button", { hasText: "whole range" });
	const drag = async () => {
		await page.mouse.move(a.x, 400);
		await page.mouse.down();
		await page.mouse.move(b.x - 20, 420, { steps: 4 });
		await page.mouse.move(b.x, 420);
		await page.mouse.up();
	};
	ok(await whole.isDisabled(), "nothing to reset before a zoom");
	await drag();
	ok(Math.abs(await span(page) - 3) < 0.2, "a drag zooms", await span(page));
	ok(page.url().endsWith(TREND), "and is no click", page.url());
	await whole.click();
	ok(await span(page) === KERNELS, "the button shows all again");
	await drag();
	const p = await place(page, at64k, 3);
	await page.mouse.dblclick(p.x + 40, p.y - 40);
	ok(await span(page) === KERNELS, "a double click shows all again",
		await span(page));
}

async function opensCompare(page) {
	const p = await place(page, at64k, 2);
	await page.mouse.move(p.x, p.y);
	await page.mouse.click(p.x, p.y);
	await page.waitForURL("**/compare?*");
	const query = new URL(page.url()).searchParams;
	ok(query.get("a") === key[1] && query.get("b") === key[2],
		"a click compares with the kernel before", page.url());
	const h1 = await text(page, "h1");
	ok(!/error|not found/i.test(h1), "which is a page", h1);
}

async function taps(page) {
	const p = await place(page, at64k, 2);
	await page.touchscreen.tap(p.x, p.y);
	ok((await text(page, ".tip")).includes(short(2)) &&
		page.url().endsWith(TREND), "a tap shows a point and opens nothing",
	page.url());
}

async function goesDark(page) {
	const light = await pixels(page);
	await page.emulateMedia({ colorScheme: "dark" });
	await page.waitForTimeout(100);
	const ground = await page.evaluate(() =>
		getComputedStyle(document.body).backgroundColor);
	ok(ground.match(/\d+/g).every((v) => v < 64), "a dark page is dark", ground);
	ok((await pixels(page)).hash !== light.hash, "the chart follows at once");
}

async function accessible() {
	for (const [name, path] of Object.entries(PAGES))
		for (const colorScheme of ["light", "dark"])
			await visit(path, { width: 390, colorScheme, expected:
				name === "error" }, async (page) => {
				const found = await violations(page);
				ok(found.length === 0,
					`${name}, ${colorScheme}: axe finds nothing`, found);
				if (colorScheme === "dark")
					return;
				const [has, room] = await page.evaluate(() => [
					document.documentElement.scrollWidth, innerWidth]);
				ok(has <= room, `${name}: fits 390 px`, [has, room]);
			});
}

async function withoutScript() {
	for (const path of [TREND, COMPARE])
		await visit(path, { javaScriptEnabled: false }, async (page) => {
			ok(await page.locator("main table").first().isVisible(),
				`a table without script: ${path.split("?")[0]}`);
			const img = page.locator("#chart img");
			const [wide, alt] = [await img.evaluate((i) => i.naturalWidth),
				await img.getAttribute("alt")];
			ok(wide > 300 && alt.length > 10, "and a picture with words for it",
				[wide, alt]);
		});
}

async function withoutData() {
	const before = (page) => page.route("**/trend.json?*", (r) =>
		r.fulfill({ status: 503, json: { error: "the disk is full" } }));
	await visit(TREND, { before, expected: true }, async (page) => {
		const img = page.locator("#chart img");
		await page.waitForFunction(() =>
			document.querySelector("#chart img").naturalWidth > 300);
		ok(await img.isVisible() && (await text(page, "#chart"))
			.includes("the disk is full"), "no data: the picture, and why");
	});
}

/* 9 sizes of 1,000 kernels, from the real answer. */
async function isQuick() {
	const grow = (list) => Array.from({ length: 1000 }, (_, i) =>
		list[i % list.length]);
	const columns = (o) => Object.fromEntries(Object.entries(o).map(
		([name, v]) => [name, Array.isArray(v) ? grow(v) : v]));
	const json = { ...trend, kernels: columns(trend.kernels),
		series: trend.series.slice(0, 9).map(columns) };
	const before = (page) => page.route("**/trend.json?*", (r) =>
		r.fulfill({ json }));
	await visit(TREND, { before }, async (page) => {
		const ms = await page.evaluate(() => {
			const start = performance.now();
			document.getElementById("chart").trend.build();
			return new Promise((done) => requestAnimationFrame(() =>
				done(performance.now() - start)));
		});
		console.log(`9 x 1,000 points: ${Math.round(ms)} ms`);
		ok(ms < 1500, "9 x 1,000 points are drawn in 1.5 s", ms);
	});
}

ok(trend.kernels.key.length === KERNELS, "all kernels are on the trend",
	trend.kernels);
await visit(TREND, {}, async (page) => {
	await draws(page);
	await hovers(page);
	await hasKeys(page);
	await reads(page, K_INVALID, "not valid: 12 of 8192 folios fell back",
		"an invalid point is there and says why");
	await reads(page, K_SKIP, "skipped: no such size here",
		"a skipped one too");
	ok(await page.evaluate(() => document.getElementById("chart").trend.breaks
		.map((b) => b.k).join()) === String(K_MACHINE),
	"a change of the machine is drawn where it was");
	await toggles(page);
	await goesDark(page);
});
await visit(TREND, {}, zooms);
await visit(TREND, {}, opensCompare);
await visit(GAPS, {}, showsGaps);
await visit("/", { width: 390 }, navigates);
await visit(TREND, { hasTouch: true, width: 390 }, taps);
await visit(TREND, {}, async (page) => {
	await page.focus(".plot");
	await page.keyboard.press("End");
	const found = await violations(page);
	ok(found.length === 0, "trend, wide: axe finds nothing", found);
});
await accessible();
await withoutScript();
await withoutData();
await isQuick();
ok(complaints.length === 0, "no error in the console, no request elsewhere",
	complaints);
await close();
