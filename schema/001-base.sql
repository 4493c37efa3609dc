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

-- One result over kernels on one host epoch.
CREATE TABLE series (
	id		INTEGER PRIMARY KEY,
	epoch		INTEGER NOT NULL REFERENCES epoch(id),
	bench		TEXT NOT NULL,
	rev		INTEGER NOT NULL,
	metric		TEXT NOT NULL,
	folio_bytes	INTEGER NOT NULL,
	params		TEXT NOT NULL,			-- canonical: record_params_text()
	exact		TEXT NOT NULL DEFAULT '',	-- exact metrics: compiler, emulator, config
	unit		TEXT NOT NULL,
	better		TEXT NOT NULL,
	quantum		INTEGER NOT NULL,
	ops		INTEGER NOT NULL,
	reduce		TEXT NOT NULL,
	same_as		TEXT,
	last_run	INTEGER NOT NULL,		-- newest run with a row of it
	figures		INTEGER NOT NULL DEFAULT 0,	-- kernels with an ok row of it
	UNIQUE (epoch, bench, metric, params, folio_bytes, rev, exact)
) STRICT;

CREATE TABLE run (
	id		INTEGER PRIMARY KEY,
	uuid		TEXT NOT NULL UNIQUE,
	body_sha256	BLOB NOT NULL,
	epoch		INTEGER NOT NULL REFERENCES epoch(id),
	kernel		INTEGER NOT NULL REFERENCES kernel(id),
	boot		TEXT NOT NULL,
	started_at	TEXT,
	posted_at	TEXT NOT NULL,
	invalid		TEXT				-- first reason against the whole run
) STRICT;
CREATE INDEX run_kernel ON run(kernel, epoch);
CREATE INDEX run_epoch ON run(epoch, kernel, boot);

-- The document as posted, compressed: what a person can always go back to.
CREATE TABLE body (
	run		INTEGER PRIMARY KEY REFERENCES run(id),
	len		INTEGER NOT NULL,
	deflated	BLOB NOT NULL
) STRICT;

-- One series in one run. launches: varint-packed launch values.
CREATE TABLE result (
	series		INTEGER NOT NULL REFERENCES series(id),
	kernel		INTEGER NOT NULL REFERENCES kernel(id),
	run		INTEGER NOT NULL REFERENCES run(id),
	status		INTEGER NOT NULL,		-- enum record_status
	n		INTEGER NOT NULL,
	value		INTEGER,
	spread		INTEGER,
	first		INTEGER,
	launches	BLOB,
	reason		TEXT,
	PRIMARY KEY (series, kernel, run)
) STRICT, WITHOUT ROWID;

-- Content by its hash: kernel configs.
CREATE TABLE file (
	sha256		TEXT PRIMARY KEY,
	len		INTEGER NOT NULL,
	deflated	BLOB NOT NULL
) STRICT, WITHOUT ROWID;
