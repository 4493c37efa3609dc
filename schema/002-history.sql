-- SPDX-License-Identifier: GPL-2.0-only
--
-- History: what the refs that are followed became. The order of pushes and the
-- lineage of patches are derived (server/history.h). Key columns hold the 64
-- bits that history_key() makes of a text.

CREATE TABLE tree (
	id		INTEGER PRIMARY KEY,
	name		TEXT NOT NULL UNIQUE,
	generation	INTEGER NOT NULL DEFAULT 0	-- as a host's
) STRICT;

-- What a commit is apart from its SHA: a rebase makes another revision of it,
-- seldom another patch. (A merge, which has no patch-id, is one for each SHA.)
CREATE TABLE patch (
	id		INTEGER PRIMARY KEY,
	key_link	INTEGER NOT NULL,
	key_quilt	INTEGER NOT NULL,
	key_patch	INTEGER NOT NULL,
	key_u0		INTEGER NOT NULL,
	key_title	INTEGER NOT NULL,
	content		INTEGER NOT NULL UNIQUE,	-- key of all below
	subject		TEXT NOT NULL,
	author		TEXT NOT NULL,
	authored_at	TEXT NOT NULL,
	patch_id	TEXT,
	patch_id_u0	TEXT,
	link		TEXT,
	quilt		TEXT,
	files		TEXT				-- of interest, joined by spaces
) STRICT;

CREATE TABLE revision (
	id		INTEGER PRIMARY KEY,
	sha		BLOB NOT NULL UNIQUE,
	tree_hash	BLOB NOT NULL,
	patch		INTEGER NOT NULL		-- of the same transaction
) STRICT;

-- Its commits are two lists of ids, packed: revisions share long runs with the
-- push before, so that a list takes some 2 bytes a change.
CREATE TABLE push (
	id		INTEGER PRIMARY KEY,
	key		TEXT NOT NULL UNIQUE,		-- history_id()
	tree		INTEGER NOT NULL REFERENCES tree(id),
	pushed_at	TEXT NOT NULL,
	old		TEXT,
	new		TEXT NOT NULL,
	base		TEXT,
	linear		INTEGER NOT NULL,
	tags		TEXT,				-- joined by spaces
	commits		INTEGER NOT NULL,
	tip		INTEGER,			-- revision; null: no commits
	sha256		TEXT NOT NULL,			-- of all that was posted
	revisions	BLOB NOT NULL,
	patches		BLOB NOT NULL
) STRICT;
CREATE INDEX push_tree ON push(tree);

-- Why a host did not measure a push (by its key) or a commit.
CREATE TABLE skip (
	host		TEXT NOT NULL,
	what		TEXT NOT NULL,
	reason		TEXT NOT NULL,
	PRIMARY KEY (host, what, reason)
) STRICT, WITHOUT ROWID;

-- Built with changes on top: not what its commit names.
ALTER TABLE kernel ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;

-- The chart that is shown unasked is that of the newest run, whichever came
-- first.
ALTER TABLE metric ADD COLUMN last_started TEXT NOT NULL DEFAULT '';
UPDATE metric SET last_started = coalesce((SELECT max(started_at) FROM run
	WHERE id = last_run), '');
-- The oldest run of each machine.
CREATE INDEX run_started ON run(epoch, started_at);
