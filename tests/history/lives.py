#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
lives.py FIRST LAST [git]: post these random lives to the server at URL, in another
order than they happened, and compare all that it says with the model; on stdout
what happened in them. With "git", each is made in git and posted by ci/post-push.
Tokens: RUNS, PUSHES (PUSHES_FILE).
"""
import http.client
import json
import os
import subprocess
import sys
import tempfile

from life import Life, build, digest
from model import WORDS, axis, changes, in_order, lineage, push_id, shas, story


class Daemon:
    def __init__(self):
        host, port = os.environ["URL"].removeprefix("http://").split(":")
        self.address = host, int(port)

    def ask(self, method, path, token=None, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        if token:
            headers["Authorization"] = "Bearer " + os.environ[token]
        connection = http.client.HTTPConnection(*self.address)
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status not in (200, 201):
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300]}")
        return json.loads(text)


def run_of(life, number, sha, tree_hash):
    """A run of one cell on that commit."""
    return {
        "schema": "mmtrend.run/1",
        "id": f"01a22c21-17c0-7d0b-9f5e-{life.seed:06x}{number:06x}",
        "host": {"label": life.name, "epoch": {
            "arch": "x86_64", "cpu": "c", "cpus": 2, "base_page_bytes": 4096,
            "pmd_bytes": 2097152}},
        "kernel": {"release": f"6.1.0-g{sha[:12]}", "commit": sha,
                   "build_id": sha, "tree_hash": tree_hash},
        "boot": {"id": f"boot-{number}"},
        "benches": [{"name": "mincore", "rev": 1, "params": {"memory_bytes": 4096},
                     "metrics": [{"name": "time_ns", "unit": "ns", "better": "lower",
                                  "quantum": 1, "ops": 1, "reduce": "median"}]}],
        "cells": [{"bench": "mincore", "folio_bytes": 65536, "status": "ok",
                   "launches": [{"folios": 1, "other_folios": 0, "proved": "counter",
                                 "samples": {"time_ns": [1000 + number]}}]}],
    }


def live(daemon, life, docs, post_pushes):
    """Post it, some of it twice, then ask."""
    rng, known = life.rng, [c for d in docs for c in d["commits"]]
    chosen = {d["new"]: d["commits"][-1]["tree_hash"] for d in docs
              if d["commits"] and rng.random() < .6}
    chosen.update((c["sha"], c["tree_hash"]) for c in known if rng.random() < .04)
    measured = {sha: rng.choice([tree_hash, None]) for sha, tree_hash in chosen.items()}
    nowhere = digest(life.name, "nowhere")
    measured[nowhere] = None
    posts = [("runs", run_of(life, i, sha, tree_hash))
             for i, (sha, tree_hash) in enumerate(measured.items())]
    posts += [("pushes", doc) for doc in docs if post_pushes]
    posts += rng.sample(posts, len(posts) // 10)
    rng.shuffle(posts)
    for what, doc in posts:
        daemon.ask("POST", "/api/v1/" + what, what.upper(), doc)

    groups = lineage(docs)
    for tree in sorted({d["tree"] for d in docs}):
        happened = [d for d in docs if d["tree"] == tree]
        if life.sane:
            same(f"{tree}: pushes stand as they happened", happened, in_order(happened))
        want = axis(tree, docs, measured)
        got = daemon.ask("GET", f"/trend.json?host={life.name}&bench=mincore&tree={tree}"
                                "&last=1000")
        same(f"{tree}: the trend", want, {
            "commits": got["kernels"]["commit"], "push": got["kernels"]["push"],
            "tip": got["kernels"]["tip"], "pushes": got["pushes"]["id"],
            "kernel": got["pushes"]["kernel"]})
        same(f"{tree}: unplaced", [nowhere], [k["commit"] for k in got["unplaced"]])
        check_changes(daemon, tree, docs, groups)
    check_patches(daemon, docs, groups, rng)


def check_changes(daemon, tree, docs, groups):
    linear = [d for d in docs if d["linear"]]
    landed_in = {c["sha"]: d["tree"] for d in linear for c in d["commits"]}

    def landed(sha):
        return next((landed_in[s] for s in groups[sha] if s in landed_in), None)

    before = None
    for push in in_order([d for d in docs if d["tree"] == tree]):
        got = daemon.ask("GET", f"/pushes/{push_id(push)}.json?show=all")["rows"]
        want, kept = changes(before, push, groups, landed)
        what = f"{tree}: push {push_id(push)}"
        rest = [r["was_place"] for r in sorted(got, key=lambda r: r["place"] or 0)
                if not r["moved"] and r["place"] and r["was_place"]]
        same(f"{what}: those that did not move stand in order", sorted(rest), rest)
        same(f"{what}: and no more could", kept, len(rest))
        same(f"{what}: what only moved says so", [],
             [r for r in got if (r["change"] == "moved") and not r["moved"]
              or r["change"] == "same" and r["moved"]])
        order = [(not r["files"], WORDS.index(r["change"]), r["place"] or r["was_place"])
                 for r in got]
        same(f"{what}: the files of interest first", sorted(order), order)
        plain = [{k: v for k, v in r.items() if k != "moved"} for r in got]
        for r in plain:
            if r["change"] == "moved":
                r["change"] = "same"
        key = (lambda r: (r["place"] or 0, r["was_place"] or 0))
        same(f"{what}: what happened", sorted(want, key=key), sorted(plain, key=key))
        before = push


def check_patches(daemon, docs, groups, rng):
    twice = {c["sha"] for d in docs for c in d["commits"]
             if len(groups[c["sha"]] & shas(d)) > 1}
    for sha in (rng.sample(sorted(groups), min(8, len(groups)))
                + rng.sample(sorted(twice), min(4, len(twice)))):
        got = daemon.ask("GET", f"/patches/{sha}.json")["rows"]
        same(f"patch {sha}: its story", story(docs, groups, sha),
             [[r["tree"], r["sha"], {"rebased": "same"}.get(r["change"], r["change"]),
               r["pushes"]] for r in got])


def through_git(daemon, life):
    """Its two rebased trees: from git to documents, which must have the same keys."""
    with tempfile.TemporaryDirectory() as repo:
        docs = []
        for tree in "unstable", "new":
            log = build(life, tree, f"{repo}/{tree}")
            command = [os.environ["SRC"] + "/ci/post-push", "--repo", f"{repo}/{tree}",
                       "--tree", f"{life.name}-{tree}", "--base", log.split()[3],
                       "--log", "-"] if log else ["true"]
            made = subprocess.run([*command, "-n"], input=log, text=True, check=True,
                                  stdout=subprocess.PIPE)
            docs += [json.loads(line) for line in made.stdout.splitlines()]
            subprocess.run([*command, "--url", os.environ["URL"], "--token-file",
                            os.environ["PUSHES_FILE"]], input=log, text=True, check=True,
                           stdout=subprocess.DEVNULL)
    planned = [d for tree in ("unstable", "new") for d in life.docs
               if d["tree"] == f"{life.name}-{tree}"]
    for key in "subject", "author", "link":
        same(f"{life.name}: {key}", values(planned, key), values(docs, key))
    for key in "patch_id", "patch_id_u0":
        pairs = set(zip(values(planned, key), values(docs, key)))
        same(f"{life.name}: one {key} in git for each", len(set(values(planned, key))),
             len(pairs))
        same(f"{life.name}: and another for another", len(set(values(docs, key))),
             len(pairs))
    live(daemon, life, docs, False)


def values(docs, key):
    return [c[key] for d in docs for c in d["commits"]]


def same(what, want, got):
    if want != got:
        raise SystemExit(f"{what}\nwant {json.dumps(want)}\ngot  {json.dumps(got)}")


def main():
    daemon, first, last = Daemon(), int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, last):
        if "git" in sys.argv:
            life = Life(seed, 6, [k for k in Life.KINDS if k is not Life.applied_twice])
            through_git(daemon, life)
        else:
            life = Life(seed, 12)
            live(daemon, life, life.docs, True)
        for kind, count in life.events.items():
            print(kind, count)


if __name__ == "__main__":
    main()
