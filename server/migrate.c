/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the files of schema/ that a database has not seen yet. */
#include <sqlite3.h>

#include "asset.h"
#include "migrate.h"

/* In order; a file's place in this table is the version it leads to. */
static const char *const files[] = {
	"001-base.sql", "002-history.sql", "003-patches.sql",
};
#define NFILES	(sizeof(files) / sizeof(files[0]))

/* Ours, or empty: then @version is 0. */
static int check(sqlite3 *db, size_t known, size_t *version, struct err *e)
{
	int application = 0, user = 0, objects = 0;
	sqlite3_stmt *st = NULL;
	int ret = sqlite3_prepare_v2(db, "SELECT application_id, user_version,"
			" (SELECT count(*) FROM sqlite_schema) FROM"
			" pragma_application_id, pragma_user_version", -1, &st,
			NULL);

	if (ret == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		application = sqlite3_column_int(st, 0);
		user = sqlite3_column_int(st, 1);
		objects = sqlite3_column_int(st, 2);
	}
	if (sqlite3_finalize(st) != SQLITE_OK || ret != SQLITE_OK)
		return err_set(e, "cannot be read: %s", sqlite3_errmsg(db));
	if (application != MIGRATE_APPLICATION &&
	    (application || user || objects))
		return err_set(e, "not a database of mmtrendd");
	if (user < 0 || (size_t)user > known)
		return err_set(e, "its schema is version %d, newer than this "
			       "mmtrendd, which knows %zu", user, known);
	*version = (size_t)user;
	return 0;
}

static int step(sqlite3 *db, const char *sql, size_t version, struct err *e)
{
	char mark[96];
	int ret = 0;

	snprintf(mark, sizeof(mark),
		 "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		 MIGRATE_APPLICATION, version);
	if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) ||
	    sqlite3_exec(db, sql, NULL, NULL, NULL) ||
	    sqlite3_exec(db, mark, NULL, NULL, NULL) ||
	    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
		ret = err_set(e, "schema step %zu failed: %s", version,
			      sqlite3_errmsg(db));
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return ret;
}

int migrate_steps(sqlite3 *db, const char *const *sql, size_t n, struct err *e)
{
	size_t version = 0;

	if (check(db, n, &version, e))
		return -1;
	for (; version < n; version++)
		if (step(db, sql[version], version + 1, e))
			return -1;
	return 0;
}

int migrate(sqlite3 *db, struct err *e)
{
	const char *sql[NFILES];
	size_t i;

	for (i = 0; i < NFILES; i++) {
		const struct asset *a = asset_find(files[i]);

		if (!a)
			return err_set(e, "%s is not embedded", files[i]);
		sql[i] = (const char *)a->data;	/* a NUL follows it */
	}
	return migrate_steps(db, sql, NFILES, e);
}
