-- SPDX-License-Identifier: GPL-2.0-only
--
-- What is kept. Ids are row ids of this file and never leave it: URLs name
-- hosts by label, kernels by key, runs by their own UUID. No row stores a
-- position: the order of kernels is derived (server/history.h).
-- Times are UTC text, durations ns, sizes bytes.

CREATE TABLE host (
	id		INTEGER PRIMARY KEY,
	label		TEXT NOT NULL UNIQUE,
	generation	INTEGER NOT NULL DEFAULT 0	-- raised by each change; feeds ETags
) STRICT;

-- The stable facts of a machine. A change of one of them starts new series.
CREATE TABLE epoch (
	id		INTEGER PRIMARY KEY,
	host		INTEGER NOT NULL REFERENCES host(id),
	sha256		TEXT NOT NULL,
	facts		TEXT NOT NULL,			-- canonical JSON, hashed above
	first_posted	TEXT NOT NULL,
	UNIQUE (host, sha256)
) STRICT;

-- One build of a kernel. key: its build id; without one "v-" and 16 hex digits
-- of SHA-256 over tree hash and config, or over release and version.
CREATE TABLE kernel (
	id		INTEGER PRIMARY KEY,		-- ascending by first arrival
	key		TEXT NOT NULL UNIQUE,
	pool		INTEGER NOT NULL REFERENCES kernel(id),	-- the first of this tree
							-- hash, config and compiler
	release		TEXT NOT NULL,
	version		TEXT,
	commit_sha	TEXT,
	commit_proven	INTEGER NOT NULL DEFAULT 0,
	tree		TEXT,
	tree_hash	TEXT,
	build_id	TEXT,
	config_sha256	TEXT,
	compiler	TEXT,
	first_posted	TEXT NOT NULL
) STRICT;
CREATE INDEX kernel_commit ON kernel(commit_sha) WHERE commit_sha IS NOT NULL;
CREATE INDEX kernel_tree ON kernel(tree_hash) WHERE tree_hash IS NOT NULL;

-- What one benchmark measures on one host epoch; all its sizes share it.
CREATE TABLE metric (
	id		INTEGER PRIMARY KEY,
	epoch		INTEGER NOT NULL REFERENCES epoch(id),
	bench		TEXT NOT NULL,
	name		TEXT NOT NULL,
	params		TEXT NOT NULL,			-- canonical: record_params_text()
	rev		INTEGER NOT NULL,
	unit		TEXT NOT NULL,
	better		TEXT NOT NULL,
	quantum		INTEGER NOT NULL,
	ops		INTEGER NOT NULL,
	reduce		TEXT NOT NULL,
	same_as		TEXT,
	last_run	INTEGER NOT NULL DEFAULT 0,	-- newest run that has it
	valid		INTEGER NOT NULL DEFAULT 0,	-- kernels with a valid figure
	measured	INTEGER NOT NULL DEFAULT 0,	-- kernels with any figure
	UNIQUE (epoch, bench, name, params, rev)
) STRICT;

-- One result over kernels.
CREATE TABLE series (
	id		INTEGER PRIMARY KEY,
	metric		INTEGER NOT NULL REFERENCES metric(id),
	folio_bytes	INTEGER NOT NULL,
	exact		TEXT NOT NULL,			-- exact metrics: compiler, config
	UNIQUE (metric, folio_bytes, exact)
) STRICT;

-- Runs of one boot are not independent; those that do not know theirs ("") are
-- taken for one.
CREATE TABLE boot (
	id		INTEGER PRIMARY KEY,
	epoch		INTEGER NOT NULL REFERENCES epoch(id),
	text		TEXT NOT NULL,
	UNIQUE (epoch, text)
) STRICT;

CREATE TABLE run (
	id		INTEGER PRIMARY KEY,
	uuid		TEXT NOT NULL UNIQUE,
	body_sha256	TEXT NOT NULL,
	epoch		INTEGER NOT NULL REFERENCES epoch(id),
	kernel		INTEGER NOT NULL REFERENCES kernel(id),
	boot		INTEGER NOT NULL REFERENCES boot(id),
	started_at	TEXT,
	posted_at	TEXT NOT NULL,
	invalid		TEXT				-- first reason against the whole run
) STRICT;
CREATE INDEX run_kernel ON run(kernel, epoch);
CREATE INDEX run_epoch ON run(epoch, kernel);

-- The document as posted, compressed: what a person can always go back to.
CREATE TABLE body (
	run		INTEGER PRIMARY KEY REFERENCES run(id),
	len		INTEGER NOT NULL,
	deflated	BLOB NOT NULL
) STRICT;

-- One series in one run. A run's sizes of a metric stand together, and runs that
-- pool into one figure: a run changes as many pages as it has metrics. Ids of
-- the run's own transaction: REFERENCES would only look them up again.
CREATE TABLE result (
	metric		INTEGER NOT NULL,
	pool		INTEGER NOT NULL,		-- kernel.pool; the build: run.kernel
	series		INTEGER NOT NULL,
	boot		INTEGER NOT NULL,
	run		INTEGER NOT NULL,
	status		INTEGER NOT NULL,		-- enum record_status
	n		INTEGER NOT NULL,
	value		INTEGER,
	spread		INTEGER,
	first		INTEGER,
	launches	BLOB,				-- varints, one a launch
	reason		TEXT,
	PRIMARY KEY (metric, pool, series, boot, run)
) STRICT, WITHOUT ROWID;

-- Content by its hash: kernel configs.
CREATE TABLE file (
	sha256		TEXT PRIMARY KEY,
	len		INTEGER NOT NULL,
	deflated	BLOB NOT NULL
) STRICT, WITHOUT ROWID;
