# SPDX-License-Identifier: GPL-2.0-only
"""
Random lives of a tree that is rebased at each push.

A life is made of patches: what a person calls the same, whatever is done to it.
What is posted are their commits, whose keys the events change. No git is needed:
a SHA is a hash of what git would hash. build() makes the same life in git.
"""
import collections
import copy
import hashlib
import random
import subprocess
import time


def digest(*parts):
    return hashlib.sha1("\0".join(map(str, parts)).encode()).hexdigest()


class Patch:
    def __init__(self, life, subject=None, author=None, link=True):
        number = life.number()
        self.file = f"mm/file{number}.c"
        self.subject = subject or f"mm: {life.name} change {number}"
        self.author = author or f"Dev {number % 5} <dev{number % 5}@example.org>"
        self.link = link and f"{life.name}.{number}@example.org"
        self.quilt = life.rng.random() < .1 and f"{life.name}-{number}.patch"
        self.text = f"{life.name} {number}"
        self.context = 0
        self.files = life.rng.choice([[], [], ["mm/gup.c"],
                                      ["mm/memory.c", "mm/mincore.c"]])

    def commit(self, parent):
        facts = {
            "parent": parent["sha"],
            "tree_hash": digest("tree", parent["tree_hash"], self.text),
            "subject": self.subject,
            "author": self.author,
            "authored_at": "2026-07-01T00:00:00Z",
            "patch_id": self.text and digest("id", self.text, self.context),
            "patch_id_u0": self.text and digest("id0", self.text),
            "link": self.link or None,
            "quilt": self.quilt or None,
            "files": self.files,
        }
        return {"sha": digest("commit", *facts.values()), **facts}


class Life:
    """One mm-unstable with its mm-stable and mm-new, push after push."""

    def __init__(self, seed, pushes, kinds=None):
        self.seed = seed
        self.rng = random.Random(seed)
        self.sane = seed % 4 == 0       # clocks are right, no push is missed
        self.name = f"life{seed}"
        self.kinds = kinds or self.KINDS
        self.numbers = 0
        self.clock = 1785218400 + self.rng.randrange(10 ** 6)
        self.events = collections.Counter()
        self.happened = []              # documents, and of which patches
        self.docs = []                  # those that are posted
        self.tips = {}                  # by tree
        root = {"sha": digest(self.name), "tree_hash": digest(self.name, "tree")}
        self.stable = [root]
        self.past = []                  # (commits, base) of former pushes
        self.gone = []                  # patches that were dropped
        self.patches = [Patch(self, link=self.rng.random() < .6)
                        for _ in range(self.rng.randint(3, 8))]
        self.push("stable", [], root)
        self.build_and_push()
        while sum(d["tree"].endswith("unstable") for d in self.docs) < pushes:
            for _ in range(self.rng.choice([1, 1, 1, 2, 3])):
                self.happen()
            self.build_and_push()

    def number(self):
        self.numbers += 1
        return self.numbers

    # -- what can happen between two pushes: each returns True if it did

    def far_change(self):
        """One name for all of them: on a linear tree that makes no patch of them."""
        self.to_stable([Patch(self, f"mm: {self.name} update", "b <b@x>", link=False)])
        return True

    def near_change(self):
        self.to_stable([Patch(self)])
        chosen = self.some(3)
        for patch in chosen:
            patch.context = self.number()
        return bool(chosen)

    def reworded(self):
        chosen = self.some(1)
        for patch in chosen:
            patch.subject += f", again {self.number()}"
        return bool(chosen)

    def near_and_renamed(self):
        self.to_stable([Patch(self)])
        chosen = [p for p in self.some(2) if not p.link]
        for patch in chosen:
            patch.context = self.number()
            patch.subject += f", renamed {patch.context}"
        return bool(chosen)

    def fix_added(self):
        chosen = self.some(1)
        for patch in chosen:
            fix = Patch(self, subject=patch.subject + " fix")
            fix.fixes = patch
            self.patches.insert(self.patches.index(patch) + 1, fix)
        return bool(chosen)

    def fix_folded(self):
        fixes = [p for p in self.patches if getattr(p, "fixes", None) in self.patches]
        for fix in fixes[:1]:
            self.patches.remove(fix)
            fix.fixes.text += f" folded {self.number()}"
        return bool(fixes)

    def dropped(self):
        chosen = self.some(1)
        for patch in chosen:
            self.patches.remove(patch)
            self.gone.append(patch)
        return bool(chosen)

    def came_back(self):
        if not self.gone:
            return False
        patch = self.gone.pop(self.rng.randrange(len(self.gone)))
        self.patches.insert(self.rng.randint(0, len(self.patches)), patch)
        return True

    def added(self):
        self.patches.insert(self.rng.randint(0, len(self.patches)),
                            Patch(self, link=self.rng.random() < .6))
        return True

    def reordered(self):
        before = list(self.patches)
        for patch in self.some(2):
            self.patches.remove(patch)
            self.patches.insert(self.rng.randint(0, len(self.patches)), patch)
        return self.patches != before

    def new_version(self):
        chosen = self.some(1)
        for patch in chosen:
            patch.text += f" v{self.number()}"
            patch.link = patch.link and f"v{self.number()}-{patch.link}"
        return bool(chosen)

    def only_link_stays(self):
        linked = [p for p in self.patches if p.link]
        for patch in linked[:1]:
            patch.text += f" rewritten {self.number()}"
            patch.subject += f" and more {self.number()}"
        return bool(linked)

    def graduated(self):
        count = self.rng.randint(1, 3)
        moved, self.patches = self.patches[:count], self.patches[count:]
        self.to_stable(moved)
        return bool(moved)

    def one_link_for_two(self):
        one, two = Patch(self), Patch(self)
        two.link = one.link
        self.patches += [one, two]
        return True

    def twins(self):
        one = Patch(self, link=False)
        two = Patch(self, subject=one.subject, author=one.author, link=False)
        self.patches += [one, two]
        return True

    def twin_left(self):
        names = collections.Counter((p.author, p.subject) for p in self.patches)
        both = [p for p in self.patches if names[p.author, p.subject] == 2]
        for patch in both[:1]:
            self.patches.remove(patch)
            both[1].text = f"{both[1].text} alone {self.number()}"
        return bool(both)

    def applied_twice(self):
        chosen = self.some(1)
        for patch in chosen:
            again = Patch(self, subject=f"Reapply {patch.subject}")
            again.text, again.context = patch.text, patch.context
            self.patches.append(again)
        return bool(chosen)

    def squashed(self):
        if len(self.patches) < 2:
            return False
        at = self.rng.randrange(len(self.patches) - 1)
        second = self.patches.pop(at + 1)
        self.patches[at].text = f"{self.patches[at].text} with {second.text}"
        return True

    def split(self):
        chosen = self.some(1)
        for patch in chosen:
            half = Patch(self)
            half.link, half.text = patch.link, patch.text + " second half"
            patch.text += " first half"
            self.patches.insert(self.patches.index(patch) + 1, half)
        return bool(chosen)

    def no_patch(self):
        """Twice the same, and git has no patch-id of it: two, not one."""
        for patch in Patch(self, link=False), Patch(self, link=False):
            patch.subject, patch.author = f"mm: {self.name} marker", "Dev <dev@x>"
            patch.text = patch.quilt = None
            self.patches.insert(self.rng.randint(0, len(self.patches)), patch)
        return True

    def tree_reset(self):
        self.to_stable([Patch(self), Patch(self)])
        self.gone += self.patches
        self.patches = [Patch(self) for _ in range(self.rng.randint(0, 3))]
        return True

    # Some need what another one made first: these stand here twice or more.
    KINDS = [*[far_change] * 3, near_change, *[near_and_renamed] * 2, reworded,
             *[fix_added] * 2, *[fix_folded] * 5, *[dropped] * 2, *[came_back] * 3, *[added] * 3,
             reordered, reordered, new_version, only_link_stays, graduated,
             one_link_for_two, *[twins] * 2, *[twin_left] * 4, applied_twice,
             squashed, split, no_patch, tree_reset]

    def happen(self):
        kind = self.rng.choice(self.kinds)
        if kind(self):
            self.events[kind.__name__] += 1

    def some(self, most):
        fit = [p for p in self.patches if p.text]
        return self.rng.sample(fit, min(len(fit), self.rng.randint(1, most)))

    # -- what is pushed

    def to_stable(self, patches):
        for patch in patches:
            self.stable.append(patch.commit(self.stable[-1]))

    def build_and_push(self):
        stable = self.tips.get("stable")
        self.push("stable", [c for c in self.stable if "parent" in c] if not stable else
                  self.stable[1 + [c["sha"] for c in self.stable].index(stable):],
                  self.stable[-1])
        commits, base = [], self.stable[-1]
        patches = copy.deepcopy(self.patches)
        for patch in patches:
            commits.append(patch.commit(commits[-1] if commits else base))
        dice = self.rng.random()
        if dice < .07 and self.past:
            commits, base, patches = self.rng.choice(self.past)
            self.events["forced_back"] += 1
        self.past.append((commits, base, patches))
        if commits and [c["sha"] for c in commits][-1] == self.tips.get("unstable"):
            self.events["empty"] += 1
        self.push("unstable", commits, base, patches)
        if self.rng.random() < .15:
            more = Patch(self)
            self.push("new", commits + [more.commit(commits[-1] if commits else base)],
                      base, patches + [more])
            self.events["shared_by_two_refs"] += 1

    def push(self, tree, commits, base, patches=()):
        self.clock += self.rng.choice([60, 3600, 7200, 86400, 0, -3600][:4 if self.sane else 6])
        new = commits[-1]["sha"] if commits else base["sha"]
        linear = int(tree == "stable")
        doc = {
            "schema": "mmtrend.push/1", "tree": f"{self.name}-{tree}",
            "pushed_at": utc(self.clock), "old": self.tips.get(tree), "new": new,
            "base": commits[0]["parent"] if commits else new, "linear": linear,
            "tags": [], "commits": commits,
        }
        if linear and doc["old"] == new:
            return
        self.tips[tree] = new
        self.happened.append((doc, patches))
        if self.docs and self.rng.random() < .05 and not self.sane:
            self.events["lost"] += 1
            return
        if doc in self.docs:
            return
        self.docs.append(doc)


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# --- the same in git ----------------------------------------------------------------

def build(life, tree, repo):
    """Make every push of this tree in a new repository; the lines for ci/post-push
    --log. Each patch changes a line of a file of its own, beside which stands its
    context; below a push lies a commit with these files as the patches find them."""
    when = "1782864000 +0000"
    stream, marks = [], 0

    def commit(author, message, files, parent):
        nonlocal marks
        marks += 1
        stream.append("reset refs/heads/x\n" if not parent else "")
        stream.append(f"commit refs/heads/x\nmark :{marks}\nauthor {author} {when}\n"
                      f"committer c <c@example.org> {when}\n{data(message)}")
        stream.append(f"from :{parent}\n" if parent else "")
        for name, text in files.items():
            stream.append(f"M 100644 inline {name}\n{data(text)}")
        return marks

    pushes = [(doc, patches) for doc, patches in life.happened
              if doc["tree"] == f"{life.name}-{tree}"]
    tips, lines = [], []
    for doc, patches in pushes:
        base = tip = commit("b <b@example.org>", "base", {
            p.file: f"context {p.context}\na\nold\nb\n" for p in patches if p.text}, None)
        for p in patches:
            link = f"\n\nLink: https://lkml.kernel.org/r/{p.link}" if p.link else ""
            tip = commit(p.author, p.subject + link, {
                p.file: f"context {p.context}\na\n{p.text}\nb\n"} if p.text else {}, tip)
        if doc in life.docs:
            lines.append((tips[-1:] or ["-"]) + [tip, doc["pushed_at"], base])
        tips.append(tip)
    subprocess.run(["git", "init", "-q", repo], check=True)
    subprocess.run(["git", "-C", repo, "fast-import", "--quiet",
                    f"--export-marks={repo}.marks"],
                   input="".join(stream), text=True, check=True)
    with open(f"{repo}.marks") as marks_file:
        sha = dict(line.split() for line in marks_file)
    return "".join(" ".join(str(sha.get(f":{word}", word)) for word in line) + "\n"
                   for line in lines)


def data(text):
    return f"data {len(text.encode())}\n{text}\n"
