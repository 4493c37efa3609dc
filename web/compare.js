// SPDX-License-Identifier: GPL-2.0-only
/*
 * The picture of /compare. The page holds it in a noscript, so that HTML never
 * waits for gnuplot; with script it is fetched when it comes into view.
 */
const figure = document.getElementById("chart");
const page = new DOMParser().parseFromString(
	figure.querySelector("noscript").textContent, "text/html");
const picture = page.querySelector("img");

picture.loading = "lazy";
/* A picture that cannot be drawn leaves its words, not a broken frame. */
picture.onerror = () => figure.replaceChildren(picture.alt);
figure.replaceChildren(picture);
