# SPDX-License-Identifier: GPL-2.0-only
"""
What mmtrend must say of pushes: their order, the place of a kernel among them,
which commits are one patch, what a push changed. It shares no code with the
server: it has the rules of server/history.h in another language, plain and slow.
"""
import base64
import collections
import hashlib


def identity(doc):
    return tuple(doc[k] or "" for k in ("tree", "old", "new", "pushed_at"))


def in_order(docs):
    """The pushes of one tree: by old -> new, where that leaves a choice by time."""
    docs = sorted(docs, key=lambda d: (d["pushed_at"], d["old"] or "", d["new"]))
    count = range(len(docs))
    old = [d["old"] or (d["base"] if d["linear"] else None) for d in docs]
    before = {}                         # place: of the push before it

    def ring(at, candidate):
        while candidate is not None and candidate != at:
            candidate = before.get(candidate)
        return candidate == at

    for at in count:
        fits = [i for i in count[:at] if docs[i]["new"] == old[at]
                and i not in before.values()]
        if fits:
            before[at] = fits[-1]
    for at in count:
        if at in before:
            continue
        for i in count[at + 1:]:
            if docs[i]["new"] == old[at] and i not in before.values() \
                    and not ring(at, i):
                before[at] = i
                break

    def key(at):
        chain = [at]
        while chain[-1] in before:
            chain.append(before[chain[-1]])
        return max(docs[i]["pushed_at"] for i in chain), chain[-1], len(chain)

    return [docs[at] for at in sorted(count, key=key)]


class Groups:
    """Which SHAs are one patch."""

    def __init__(self):
        self.of = {}

    def find(self, sha):
        return self.of.setdefault(sha, {sha})

    def join(self, one, two):
        both = self.find(one) | self.find(two)
        for sha in both:
            self.of[sha] = both


def lineage(docs):
    groups = Groups()
    commits = {c["sha"]: c for d in docs for c in d["commits"]}

    def join_by(key, never=()):
        first = {}
        for sha, commit in commits.items():
            value = commit[key]
            groups.find(sha)
            if value is not None and value not in never:
                groups.join(first.setdefault(value, sha), sha)

    for key in "link", "quilt":
        join_by(key, {value for d in docs for value, n in
                      collections.Counter(c[key] for c in d["commits"]).items() if n > 1})
    join_by("patch_id")
    join_by("patch_id_u0")

    surely = {sha: frozenset(group) for sha, group in groups.of.items()}
    for tree in {d["tree"] for d in docs}:
        pushes = in_order([d for d in docs if d["tree"] == tree])
        for one, two in zip(pushes, pushes[1:]):
            if one["linear"] or two["linear"]:
                continue
            left, right = by_name(one), by_name(two)
            for name in left.keys() & right.keys():
                if len(left[name]) == len(right[name]) == 1:
                    a, b = left[name][0], right[name][0]
                    if not surely[a] & shas(two) and not surely[b] & shas(one):
                        groups.join(a, b)
    return groups.of


def by_name(doc):
    names = collections.defaultdict(list)
    for commit in doc["commits"]:
        names[commit["author"], commit["subject"]].append(commit["sha"])
    return names


def shas(doc):
    return {c["sha"] for c in doc["commits"]}


def axis(tree, docs, measured):
    """
    Where each measured commit stands on a trend of this tree, (push, place in its
    list), in order; the places of the tips are last. Then which of them measured
    each push from the first on: itself, or one of the same source.
    """
    pushes = in_order([d for d in docs if d["tree"] == tree])
    spots = {}
    for sha in measured:
        tips = [i for i, d in enumerate(pushes) if d["new"] == sha]
        inside = [(i, j) for i, d in enumerate(pushes)
                  for j, c in enumerate(d["commits"]) if c["sha"] == sha]
        if tips:
            spots[sha] = (tips[0], float("inf"))
        elif inside:
            spots[sha] = inside[0]
    order = sorted(spots, key=spots.get)
    tree_of = {c["sha"]: c["tree_hash"] for d in docs for c in d["commits"]}
    tree_of.update((sha, said) for sha, said in measured.items() if said)
    sources = {}
    for i, doc in enumerate(pushes):
        tree_hash = doc["commits"][-1]["tree_hash"] if doc["commits"] else None
        own = [k for k, sha in enumerate(order) if spots[sha] == (i, float("inf"))]
        same = [k for k, sha in enumerate(order)
                if sha == doc["new"] or tree_hash and tree_of[sha] == tree_hash]
        sources[i] = (own + same + [None])[0]
    first = spots[order[0]][0] if order else len(pushes)
    return {
        "commits": order,
        "push": [spots[sha][0] - first for sha in order],
        "tip": [int(spots[sha][1] == float("inf")) for sha in order],
        "pushes": [push_id(d) for d in pushes[first:]],
        "kernel": [sources[i] for i in range(first, len(pushes))],
    }


def push_id(doc):
    text = "".join(part + "\n" for part in identity(doc))
    return base64.b32encode(hashlib.sha256(text.encode()).digest())[:10].decode().lower()


WORDS = ["added", "dropped", "replaced", "context", "reworded", "moved", "same"]


def pair_up(left, right, groups):
    """(place, commit) of one patch in two pushes: equal ones, then those of one
    lineage, as the lists have them. What is left stays in left and right."""
    def facts(commit):
        return tuple(str(v) for k, v in commit.items()
                     if k not in ("tree_hash", "parent")
                     and (k != "sha" or not commit["patch_id"]))

    pairs = []
    for name in facts, lambda commit: min(groups[commit["sha"]]):
        for b in list(right):
            for a in left:
                if name(a[1]) == name(b[1]):
                    pairs.append((a, b))
                    left.remove(a)
                    right.remove(b)
                    break
    return pairs


def changes(before, after, groups, landed):
    """What a push did to the one before it, a row a patch, and which places in the
    longest run that kept its order could be told as not moved."""
    right = list(enumerate(after["commits"], 1))
    if not before or after["linear"]:
        return [row("added" if before else "same", None, b) for b in right], 0
    left = list(enumerate(before["commits"], 1))
    pairs = pair_up(left, right, groups)
    rows = [row("added", None, b) for b in right]
    rows += [row("dropped", a, None, landed(a[1]["sha"])) for a in left]
    for a, b in pairs:
        rows.append(row(what_changed(a[1], b[1]), a, b))
    return rows, longest_run([a[0] for a, b in sorted(pairs, key=lambda p: p[1][0])])


def row(word, a, b, landed=None):
    commit = (b or a)[1]
    return {"change": word, "files": " ".join(commit["files"]) or None, "landed": landed,
            "subject": commit["subject"], "author": commit["author"],
            "link": commit["link"], "patch_id": commit["patch_id"],
            "place": b and b[0], "sha": b and b[1]["sha"],
            "was_place": a and a[0], "was_sha": a and a[1]["sha"]}


def longest_run(places):
    """How many of them are in the longest run that rises."""
    best = []
    for i, place in enumerate(places):
        best.append(1 + max([best[j] for j in range(i) if places[j] < place], default=0))
    return max(best, default=0)


def story(docs, groups, sha):
    """One patch, tree by tree: a row for each commit that a push has and the last
    one with any did not have, what became of what by that, and in how many pushes
    it stood."""
    rows = []
    for tree in sorted({d["tree"] for d in docs}):
        last = {}                       # commit, its row; by SHA
        for push in in_order([d for d in docs if d["tree"] == tree]):
            here = [c for c in push["commits"] if c["sha"] in groups[sha]]
            left = [(0, c) for s, (c, _) in last.items() if s not in shas(push)]
            new = [(i, c) for i, c in enumerate(here) if c["sha"] not in last]
            became = {} if push["linear"] else {
                b["sha"]: what_changed(a, b)
                for (_, a), (_, b) in pair_up(left, list(new), groups)}
            for _, commit in new:
                rows.append([tree, commit["sha"], became.get(commit["sha"], "added"), 0])
                last[commit["sha"]] = commit, rows[-1]
            for commit in here:
                last[commit["sha"]][1][3] += 1
            if here:
                last = {c["sha"]: last[c["sha"]] for c in here}
    return rows


def what_changed(one, two):
    if one["patch_id_u0"] != two["patch_id_u0"]:
        return "replaced"
    if one["patch_id"] != two["patch_id"]:
        return "context"
    if (one["author"], one["subject"]) != (two["author"], two["subject"]):
        return "reworded"
    return "same"
