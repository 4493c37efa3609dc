// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chart of /trend: all folio sizes of one metric over kernels, from the
 * view's JSON, drawn by uPlot into the figure that else holds the server's
 * picture. uPlot draws axes and lines; bands, marks and breaks are drawn here.
 * The table below the figure stays the accessible form of the same data.
 *
 * In here k is a place on the x axis, a kernel or a push that has none of its
 * own, s one of the JSON's series, and size an index into the distinct folio
 * sizes. A size has a series for each epoch of the host, but one colour, mark
 * and button.
 */
const COLOURS = 9;	/* --s0 to --s8 in style.css */
const DASHES = [[], [8, 3], [3, 3], [8, 3, 2, 3], [12, 4]];
/* Corners and turn of a mark, in degrees; no corners: a circle. */
const SHAPES = [[0, 0], [4, 45], [3, -90], [4, 0], [3, 90], [6, 0], [5, -90]];
/* All in CSS pixels. */
const MARK = 4;		/* radius of a mark */
const MARK_ROOM = 9;	/* what a kernel needs to get its marks */
const LABEL_ROOM = 96;	/* and its label */
const NEAR = 14;	/* a click this near to a point is meant for it */
const LEFT = 72;	/* the y axis */
const RIGHT = 44;	/* half a label */
const CROSS = 9;	/* height above the x axis of a mark without a figure */

/* The steps of common/report.c: the next one from 10 of it on. */
const UNITS = {
	ns: [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]],
	insns: [["insns", 1], ["k", 1e3], ["M", 1e6]],
};
const WORDS = { invalid: "not valid", skip: "skipped",
	not_applicable: "not applicable", failed: "failed" };
const HELP = "Drag to zoom, Esc or double click for the whole range; click a " +
	"point to compare its kernel with the one before, a push without a kernel " +
	"to see what it changed. Keys: arrows move, + and - zoom, Enter is the click. " +
	"Hollow: not valid. Cross: not measured. =: same source as another push.";

const figure = document.getElementById("chart");

function make(tag, props, ...children) {
	const { attrs = {}, ...rest } = props;
	const node = Object.assign(document.createElement(tag), rest);
	for (const [name, value] of Object.entries(attrs))
		node.setAttribute(name, value);
	node.append(...children);
	return node;
}

function button(text, title, act) {
	return make("button", { type: "button", title, onclick: act }, text);
}

/* A mark around x, y as SVG path text: for the canvas and for the legend. */
function markPath([corners, turn], x, y, r) {
	if (!corners)
		return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0` +
			`a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
	const at = Array.from({ length: corners }, (_, i) => {
		const a = (turn + 360 * i / corners) * Math.PI / 180;
		return `${x + 1.2 * r * Math.cos(a)} ${y + 1.2 * r * Math.sin(a)}`;
	});
	return `M${at.join("L")}Z`;
}

/* --- figures ---------------------------------------------------------------- */

function pickUnit(largest, unit) {
	const steps = UNITS[unit] ?? [[unit, 1]];
	const [name, divide] = steps.findLast(([, d]) => largest >= 10 * d) ??
		steps[0];
	return { name, divide };
}

/* Three significant digits or more, three decimals or less; a small spread
 * gets one more than its value. */
function withSpread(v, spread, unit) {
	const digits = unit.divide === 1 || v >= 100 ? 0 :
		v >= 10 ? 1 : v >= 1 ? 2 : 3;
	const more = unit.divide !== 1 && digits < 3 && spread < 0.5 ? 1 : 0;
	return `${v.toFixed(digits)} \u00b1 ` +
		`${Number(spread.toFixed(digits + more))} ${unit.name}`;
}

function logSplits(u, axis, min, max) {
	const steps = max / min > 100 ? [1] : max / min > 10 ? [1, 2, 5] :
		[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
	const splits = [];
	for (let e = Math.floor(Math.log10(min)); 10 ** e <= max; e++)
		splits.push(...steps.map((v) => Number(`${v}e${e}`)));
	return splits.filter((v) => v >= min && v <= max);
}

/* As route/trend.c: kernels, and pushes without one, old to new. */
function layAxis({ kernels, pushes }) {
	const axis = [], n = kernels.key.length;
	let kernel = 0;
	pushes.kernel.forEach((own, push) => {
		while (kernel < n && (kernels.push[kernel] ?? Infinity) <= push)
			axis.push({ kernel: kernel++ });
		if (own === null || kernels.push[own] !== push)
			axis.push({ push });
	});
	while (kernel < n)
		axis.push({ kernel: kernel++ });
	return axis;
}

/* What stands at a push without a kernel: a name, why, and where it leads. */
function gapOf({ pushes }, push) {
	const same = pushes.kernel[push] !== null;
	return { short: pushes.new[push].slice(0, 12), same,
		date: pushes.pushed_at[push], page: `/pushes/${pushes.id[push]}`,
		why: same ? "same source as a kernel of another push" :
			`not measured: ${pushes.skip[push] ?? "no reason given"}` };
}

/* Where a kernel has points, and none of the epoch before it. */
function findBreaks(series, n) {
	const breaks = [];
	for (let k = 0, last; k < n; k++) {
		const here = series.filter((s) => s.value[k] !== null ||
			s.not_ok[k]).map((s) => s.epoch);
		if (here.length === 0 || here.includes(last))
			continue;
		if (last)
			breaks.push({ epoch: here[0], k });
		last = here[0];
	}
	return breaks;
}

/* The JSON in the unit that is shown and by places on the axis; line is what
 * may be joined. */
function prepare(json) {
	const axis = layAxis(json);
	const gaps = axis.map((at) => at.push === undefined ? null :
		gapOf(json, at.push));
	const placed = (column, name) => axis.map((at, k) =>
		column[at.kernel] ?? gaps[k]?.[name] ?? null);
	const kernels = Object.fromEntries(Object.entries(json.kernels).map(
		([name, column]) => [name, placed(column, name)]));
	const largest = json.series.reduce((max, s) =>
		s.value.reduce((a, v) => Math.max(a, v), max), 0);
	const unit = pickUnit(largest, json.unit);
	const shown = (v) => v === null ? null : v / unit.divide;
	const bytes = [...new Set(json.series.map((s) => s.folio_bytes))];
	const series = json.series.map((s) => ({ ...s,
		size: bytes.indexOf(s.folio_bytes),
		value: placed(s.value).map(shown),
		spread: placed(s.spread).map((v) => shown(v) ?? 0),
		n: placed(s.n), boots: placed(s.boots), not_ok: placed(s.not_ok),
		line: placed(s.value.map((v, k) => s.not_ok[k] ? null : shown(v))),
	}));
	const sizes = bytes.map((b, size) => ({ on: true,
		label: series.find((s) => s.size === size).label }));
	const n = axis.length;
	return { json, unit, series, sizes, kernels, gaps, n,
		breaks: findBreaks(series, n) };
}

class Trend {
	constructor(json) {
		Object.assign(this, prepare(json));
		this.log = json.scale === "log";
		this.at = null;		/* { k, s, byKey }: under the cursor */
		this.view = { min: -Infinity, max: Infinity };	/* places shown */
		this.layout();
		this.build();
		matchMedia("(prefers-color-scheme: dark)")
			.addEventListener("change", () => this.build());
		new ResizeObserver(() => this.resize()).observe(this.plot);
	}

	/* --- what stands around the canvas ------------------------------ */
	layout() {
		this.logButton = button("log scale", "logarithmic y axis", () => {
			this.log = !this.log;
			this.build();
		});
		this.wholeButton = button("whole range", "show all kernels (Esc)",
			() => this.whole());
		this.tip = make("div", { className: "tip", hidden: true });
		this.live = make("p", { className: "quiet-text",
			attrs: { "aria-live": "polite" } });
		this.plot = make("div", { className: "plot", tabIndex: 0,
			onkeydown: (ev) => this.key(ev),
			onblur: () => this.hide(),
			attrs: { role: "application", "aria-roledescription": "chart",
				"aria-label": this.json.title,
				"aria-describedby": "chart-help" } });
		figure.replaceChildren(
			make("div", { className: "tools" }, this.logButton,
				button("+", "zoom in", () => this.zoomBy(0.5)),
				button("\u2212", "zoom out", () => this.zoomBy(2)),
				this.wholeButton),
			this.plot, this.legend(),
			make("p", { className: "help", id: "chart-help" }, HELP),
			this.live);
	}

	legend() {
		const buttons = this.sizes.map((of, size) => {
			of.button = button("", "show or hide this size",
				() => this.toggle(size, !of.on));
			of.button.setAttribute("aria-pressed", "true");
			of.button.append(this.swatch(size), of.label);
			return of.button;
		});
		const all = button("all / none", "show or hide all sizes", () => {
			const on = !this.sizes.some((of) => of.on);
			this.sizes.forEach((of, size) => this.toggle(size, on));
		});
		return make("div", { className: "legend", attrs: {
			role: "group", "aria-label": "folio sizes shown" } },
		...buttons, all);
	}

	/* The text is all our own: nothing of the JSON goes in as HTML. */
	swatch(size) {
		const colour = `var(--s${size % COLOURS})`;
		const span = make("span", {});
		span.innerHTML = `<svg viewBox="0 0 28 12" aria-hidden="true">
			<path d="M0 6H28" stroke="${colour}" stroke-width="2"
				stroke-dasharray="${this.dash(size)}"/>
			<path d="${markPath(this.shape(size), 14, 6, MARK)}"
				fill="${colour}"/></svg>`;
		return span;
	}

	toggle(size, on) {
		const of = this.sizes[size];
		of.on = on;
		of.button.setAttribute("aria-pressed", String(on));
		this.hide();
		this.u.batch(() => this.series.forEach((s, i) => {
			if (s.size === size)
				this.u.setSeries(i + 1, { show: on });
		}));
	}

	ink(name) { return this.css.getPropertyValue(`--${name}`); }
	colour(size) { return this.ink(`s${size % COLOURS}`); }
	dash(size) { return DASHES[size % DASHES.length]; }
	shape(size) { return SHAPES[size % SHAPES.length]; }
	posted(k) { return (this.kernels.date[k] ?? "").slice(0, 10); }

	/* --- uPlot: made anew when scale or colours change --------------- */
	build() {
		const lines = this.series.map((s) => s.line);
		this.css = getComputedStyle(figure);
		this.ring = make("div", { className: "ring", hidden: true });
		this.u?.destroy();
		this.u = new uPlot(this.options(), [[...lines[0].keys()], ...lines],
			this.plot);
		this.u.over.append(this.ring, this.tip);
		this.u.over.addEventListener("mousedown", () => {
			this.dragged = false;
		});
		this.u.over.addEventListener("click", (ev) => this.click(ev));
		this.u.over.addEventListener("mouseleave", () => {
			if (!this.at?.byKey)
				this.hide();
		});
		this.logButton.setAttribute("aria-pressed", String(this.log));
		this.zoomTo(this.view.min, this.view.max);
	}

	options() {
		return {
			width: this.plot.clientWidth,
			height: this.plot.clientHeight,
			padding: [10, RIGHT, 0, 0],
			legend: { show: false },
			scales: {
				x: { time: false, auto: false },
				y: { distr: this.log ? 3 : 1,
					range: () => this.yRange() },
			},
			axes: this.axes(),
			series: [{}, ...this.series.map((s) => ({
				show: this.sizes[s.size].on, width: 1.75,
				stroke: this.colour(s.size),
				dash: this.dash(s.size),
				points: { show: false },
			}))],
			cursor: {
				y: false, points: { show: false },
				/* click(): uPlot takes our snapping for a drag. */
				drag: { setScale: false, dist: 5, click() {} },
				move: (u, left, top) => [left < 0 ? left :
					u.valToPos(this.nearest(left), "x"), top],
				bind: { dblclick: () => () => this.whole() },
			},
			hooks: {
				drawAxes: [() => this.clipped(() => this.drawUnder())],
				draw: [() => this.clipped(() => this.drawMarks())],
				setCursor: [() => this.hover()],
				setSelect: [() => this.select()],
			},
		};
	}

	axes() {
		const line = { stroke: this.ink("rule"), width: 1 };
		const both = { stroke: this.ink("dim"), grid: line, ticks: line,
			font: `12px ${this.css.fontFamily}` };
		const x = { ...both, grid: { show: false }, size: 44,
			splits: () => this.labelled(),
			values: (u, ks) => ks.map((k) =>
				`${this.kernels.short[k]}\n${this.posted(k)}`) };
		const y = { ...both, size: LEFT - 20, labelSize: 20,
			labelFont: both.font,
			label: `${this.unit.name}, ${this.json.better} is better`,
			values: (u, vs) => vs.map(String) };
		if (this.log)
			Object.assign(y, { splits: logSplits, filter: (u, vs) => vs });
		return [x, y];
	}

	resize() {
		this.hide();
		this.u.setSize({ width: this.plot.clientWidth,
			height: this.plot.clientHeight });
	}

	visible() { return this.series.filter((s) => this.sizes[s.size].on); }

	/* Each point in view of the sizes that are on. */
	each(act) {
		const { min, max } = this.view;
		const to = Math.min(this.n - 1, Math.floor(max));
		for (const s of this.visible())
			for (let k = Math.max(0, Math.ceil(min)); k <= to; k++)
				act(s, k);
	}

	/* Over the figures in view, valid or not, with their spread. */
	yRange() {
		let lo = Infinity, hi = -Infinity;
		this.each((s, k) => {
			const v = s.value[k], low = v - s.spread[k];
			if (v === null || (this.log && v <= 0))
				return;
			lo = Math.min(lo, this.log && low <= 0 ? v : low);
			hi = Math.max(hi, v + s.spread[k]);
		});
		if (lo > hi)
			return [1, 10];
		if (this.log)
			return [lo / 1.15, hi * 1.15];
		const pad = (hi - lo) * 0.08 || hi * 0.1 || 1;
		return [lo < 0.4 * hi ? Math.min(0, lo) : lo - pad, hi + pad];
	}

	/* The newest kernel has a label, and before it as many as have room. */
	labelled() {
		const { min, max } = this.view, ks = [];
		const room = this.plot.clientWidth - LEFT - RIGHT;
		const step = Math.max(1, Math.ceil((max - min) * LABEL_ROOM / room));
		for (let k = Math.min(this.n - 1, Math.floor(max));
			k >= Math.max(0, min); k -= step)
			ks.unshift(k);
		return ks;
	}

	/* --- drawing, in device pixels ------------------------------------ */
	x(k) { return this.u.valToPos(k, "x", true); }
	y(v) { return this.u.valToPos(v, "y", true); }

	clipped(act) {
		const { ctx, bbox } = this.u;
		ctx.save();
		ctx.beginPath();
		ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
		ctx.clip();
		act();
		ctx.restore();
	}

	drawUnder() {
		const { ctx } = this.u;
		ctx.globalAlpha = 0.18;
		for (const s of this.visible()) {
			ctx.fillStyle = ctx.strokeStyle = this.colour(s.size);
			for (let from = 0, k = 0; k <= this.n; k++)
				if (k === this.n || s.line[k] === null) {
					this.drawBand(ctx, s, from, k - 1);
					from = k + 1;
				}
		}
		ctx.globalAlpha = 1;
		this.drawBreaks();
	}

	/* Kernels from..to all have a figure; one alone gets a bar. */
	drawBand(ctx, s, from, to) {
		const least = this.u.scales.y.min;
		const add = (k, sign) => ctx.lineTo(this.x(k),
			this.y(Math.max(s.line[k] + sign * s.spread[k], least)));
		ctx.beginPath();
		for (let k = from; k <= to; k++)
			add(k, 1);
		for (let k = to; k >= from; k--)
			add(k, -1);
		ctx.lineWidth = 4 * devicePixelRatio;
		if (from === to)
			ctx.stroke();
		else
			ctx.fill();
	}

	drawBreaks() {
		const { ctx, bbox } = this.u, px = devicePixelRatio;
		ctx.strokeStyle = ctx.fillStyle = this.ink("dim");
		ctx.textAlign = "left";
		ctx.font = `${11 * px}px ${this.css.fontFamily}`;
		ctx.lineWidth = px;
		ctx.setLineDash([5 * px, 4 * px]);
		for (const { epoch, k } of this.breaks) {
			const x = this.x(k - 0.5);
			ctx.stroke(new Path2D(`M${x} ${bbox.top}v${bbox.height}`));
			ctx.fillText(`machine ${epoch}`, x + 5 * px,
				bbox.top + 12 * px);
		}
	}

	/* Filled where there is room or no neighbour to join; hollow if not valid. */
	drawMarks() {
		const { ctx } = this.u, px = devicePixelRatio;
		const roomy = this.x(1) - this.x(0) >= MARK_ROOM * px;
		const lone = (s, k) => (s.line[k - 1] ?? s.line[k + 1] ?? null) === null;
		ctx.setLineDash([]);
		ctx.lineWidth = 1.5 * px;
		this.each((s, k) => {
			const v = s.value[k], bad = s.not_ok[k];
			if (v === null || !(roomy || bad || lone(s, k)))
				return;
			const mark = new Path2D(markPath(this.shape(s.size),
				this.x(k), this.y(v), MARK * px));
			ctx.strokeStyle = ctx.fillStyle = this.colour(s.size);
			ctx[bad ? "stroke" : "fill"](mark);
		});
		this.drawEmpty();
	}

	/* One cross where a push, or any size of a kernel, has no figure. */
	drawEmpty() {
		const { ctx, bbox } = this.u, d = 3 * devicePixelRatio;
		const y = bbox.top + bbox.height - CROSS * devicePixelRatio;
		const crosses = new Set();
		this.each((s, k) => {
			if (this.gaps[k] || (s.value[k] === null && s.not_ok[k]))
				crosses.add(k);
		});
		ctx.strokeStyle = this.ink("dim");
		for (const k of crosses)
			ctx.stroke(new Path2D(`M${this.x(k) - d} ` +
				(this.gaps[k]?.same ?
					`${y - d / 2}h${2 * d}m0 ${d}h${-2 * d}` :
					`${y - d}l${2 * d} ${2 * d}` +
					`m0 ${-2 * d}l${-2 * d} ${2 * d}`)));
	}

	/* --- zoom ---------------------------------------------------------- */
	/* Two kernels at least, and never beyond the ends. */
	zoomTo(min, max) {
		const span = Math.min(Math.max(max - min, 2), this.n);
		const mid = span < this.n ? (min + max) / 2 : (this.n - 1) / 2;
		const from = Math.min(Math.max(mid - span / 2, -0.5),
			this.n - 0.5 - span);
		this.hide();
		this.wholeButton.disabled = span >= this.n;
		/* uPlot asks for y before it has the new x: hence a view of our own.
		 * In a batch, since a lone setScale takes effect only later. */
		this.view = { min: from, max: from + span };
		this.u.batch(() => this.u.setScale("x", this.view));
	}

	zoomBy(factor) {
		const { min, max } = this.view;
		const mid = this.at?.k ?? (min + max) / 2;
		this.zoomTo(mid - (mid - min) * factor, mid + (max - mid) * factor);
	}

	whole() { this.zoomTo(-Infinity, Infinity); }

	/* The end of a drag. */
	select() {
		const { left, width } = this.u.select;
		const [min, max] = [left, left + width].map((px) =>
			this.u.posToVal(px, "x"));
		this.dragged = width > 0;
		if (this.dragged)
			this.zoomTo(min, max);
		this.u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
	}

	/* --- the point under the cursor, in CSS pixels --------------------- */
	nearest(left) {
		const k = Math.round(this.u.posToVal(left, "x"));
		return Math.min(Math.max(k, 0), this.n - 1);
	}

	/* How far down a point stands; null: there is none. */
	place(s, k) {
		if (this.gaps[k] || (s?.not_ok[k] && s.value[k] === null))
			return this.u.over.clientHeight - CROSS;
		return (s?.value[k] ?? null) === null ? null :
			this.u.valToPos(s.value[k], "y");
	}

	/* The points of a kernel, top first. */
	column(k) {
		return (this.gaps[k] ? [] : this.visible())
			.map((s) => ({ k, s, y: this.place(s, k) }))
			.filter((p) => p.y !== null).sort((a, b) => a.y - b.y);
	}

	hover() {
		const { left, top } = this.u.cursor;
		if (left < 0)
			return;
		const k = this.nearest(left), far = (p) => Math.abs(p.y - top);
		this.show(this.column(k).reduce((a, b) => far(b) < far(a) ? b : a,
			{ k, s: null, y: Infinity }));
	}

	hide() {
		this.at = null;
		this.tip.hidden = this.ring.hidden = true;
	}

	show(at) {
		const x = this.u.valToPos(at.k, "x"), y = this.place(at.s, at.k);
		this.at = at;
		this.lines = this.describe(at);
		this.tip.replaceChildren(
			...this.lines.map((line) => make("div", {}, line)));
		this.tip.hidden = false;
		this.placeTip(x, y ?? 0);
		this.ring.hidden = y === null;
		Object.assign(this.ring.style, { left: `${x}px`, top: `${y}px`,
			color: at.s ? this.colour(at.s.size) : "" });
	}

	/* Beside the point; without room there, at the other end of the plot. */
	placeTip(x, y) {
		const { offsetWidth: wide, offsetHeight: high } = this.tip;
		const { clientWidth, clientHeight } = this.u.over;
		const most = clientWidth + RIGHT - wide, low = clientHeight - high;
		const beside = [x + NEAR, x - NEAR - wide].find((left) =>
			left >= 0 && left <= most);
		const left = beside ?? Math.min(x - wide / 2, most - 4);
		const top = beside !== undefined ? Math.min(y - 20, low) :
			y < clientHeight / 2 ? low : 0;
		this.tip.style.left = `${Math.max(left, 4 - LEFT)}px`;
		this.tip.style.top = `${Math.max(top, 0)}px`;
	}

	describe({ k, s }) {
		const { short, release, commit } = this.kernels;
		if (this.gaps[k])
			return [this.gaps[k].why,
				`push of ${this.posted(k)}: ${short[k]}`];
		const lines = [], bad = s?.not_ok[k], value = s?.value[k] ?? null;
		lines.push((s ? `${s.label}: ` : "") + (value === null ?
			"no figure" : withSpread(value, s.spread[k], this.unit)));
		if (s?.n[k])
			lines.push(`n ${s.n[k]}, boots ${s.boots[k]}`);
		if (bad)
			lines.push(`${WORDS[bad.status] ?? bad.status}: ` +
				(bad.reason ?? "no reason given"));
		if (s && this.breaks.length)
			lines.push(`machine ${s.epoch}`);
		lines.push(`${short[k]}${commit[k] ? "" : " (commit not known)"}, ` +
			this.posted(k), release[k]);
		return lines;
	}

	/* --- what a person does -------------------------------------------- */
	/* Its push; or with the kernel before that has a valid figure of the same
	 * series. */
	follow({ k, s }) {
		const before = s?.line.findLastIndex((v, i) => i < k && v !== null) ?? -1;
		const { key } = this.kernels, { host, bench } = this.json;
		if (this.gaps[k])
			location.assign(this.gaps[k].page);
		else if (before >= 0 && s.value[k] !== null)
			location.assign("/compare?" + new URLSearchParams(
				{ a: key[before], b: key[k], bench, host }));
	}

	/* A finger has no hover: it shows the point and opens nothing. */
	click(ev) {
		const { at } = this;
		if (!at || this.dragged || ev.pointerType === "touch")
			return;
		if (Math.hypot(this.u.valToPos(at.k, "x") - ev.offsetX,
			this.place(at.s, at.k) - ev.offsetY) < NEAR)
			this.follow(at);
	}

	key(ev) {
		const at = this.at ?? { k: this.n - 1, s: this.series[0] };
		const by = this.at ? 1 : 0;	/* the first key only shows */
		const act = {
			ArrowLeft: () => this.step(at, at.k - by),
			ArrowRight: () => this.step(at, at.k + by),
			ArrowUp: () => this.climb(at, -1),
			ArrowDown: () => this.climb(at, 1),
			Home: () => this.step(at, 0),
			End: () => this.step(at, this.n - 1),
			"+": () => this.zoomKey(at, 0.5),
			"=": () => this.zoomKey(at, 0.5),
			"-": () => this.zoomKey(at, 2),
			Escape: () => this.whole(),
			Enter: () => this.follow(at),
		}[ev.key];
		if (!act || ev.ctrlKey || ev.altKey || ev.metaKey)
			return;
		ev.preventDefault();
		act();
	}

	/* To kernel k, in the same size, in whichever epoch has it. */
	step({ s }, k) {
		k = Math.min(Math.max(k, 0), this.n - 1);
		const points = this.column(k);
		this.speak(points.find((p) => p.s === s) ??
			points.find((p) => p.s.size === s?.size) ?? { k, s });
	}

	climb(at, by) {
		const points = this.column(at.k);
		const i = points.findIndex((p) => p.s === at.s);
		this.speak(points[i < 0 ? 0 : i + by] ?? at);
	}

	zoomKey(at, factor) {
		this.zoomBy(factor);
		this.speak(at);
	}

	speak(at) {
		const { min, max } = this.view, off = at.k - (min + max) / 2;
		if (at.k < min || at.k > max)
			this.zoomTo(min + off, max + off);
		this.u.setCursor({ left: this.u.valToPos(at.k, "x"), top: 0 }, false);
		this.show({ ...at, byKey: true });
		this.live.textContent = this.lines.join("; ");
	}
}

/* --- start ------------------------------------------------------------------ */

async function fetchJson(url) {
	const answer = await fetch(url);
	const body = await answer.json().catch(() => ({}));
	if (!answer.ok)
		throw new Error(body.error ?? `the server answered ${answer.status}`);
	return body;
}

/* uPlot is no module: it comes as the elements of a page do. */
function load(node) {
	return new Promise((done, fail) => {
		node.onload = done;
		node.onerror = () => fail(new Error("uPlot did not load"));
		document.head.append(node);
	});
}

/* The server's picture, as without script, and the reason for it. */
function fallBack(noscript, reason) {
	const page = new DOMParser().parseFromString(noscript, "text/html");
	figure.classList.add("still");
	figure.replaceChildren(...page.querySelectorAll("img"),
		make("p", { className: "help", attrs: { role: "status" } },
			`A still picture, as the chart cannot be drawn: ${reason}`));
}

async function start() {
	const noscript = figure.querySelector("noscript").textContent;
	try {
		const [json] = await Promise.all([
			fetchJson(figure.dataset.json),
			load(make("script", { src: "/vendor/uPlot.iife.min.js" })),
			load(make("link", { rel: "stylesheet",
				href: "/vendor/uPlot.min.css" })),
		]);
		if (!json.series.length || !json.kernels.key.length)
			throw new Error("there is nothing to draw yet");
		figure.trend = new Trend(json);	/* for the tests' sake, too */
	} catch (err) {
		fallBack(noscript, err.message);
	}
}

start();
