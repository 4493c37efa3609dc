/* SPDX-License-Identifier: GPL-2.0-only */
/* Migrations: in order, once, all or nothing; never on a file that is not ours. */
#include <sqlite3.h>

#include "server/migrate.h"
#include "tests/unit/store_doc.h"

static struct err e;
static sqlite3 *db;

static void exec(const char *sql)
{
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int number(const char *sql)
{
	sqlite3_stmt *st = NULL;
	int n = -1;

	sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	if (sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return n;
}

static void fresh(void)
{
	sqlite3_close(db);
	sqlite3_open(":memory:", &db);
}

static void in_order(void)
{
	static const char *const sql[] = {
		"CREATE TABLE a(x)", "INSERT INTO a VALUES(1)",
		"INSERT INTO a SELECT count(*) + 10 FROM a",
	}, *const bad[] = {
		"CREATE TABLE a(x)",
		"CREATE TABLE b(x); INSERT INTO nowhere VALUES(1)",
	};

	fresh();
	is_i(migrate_steps(db, sql, 2, &e), 0, "two steps run on an empty database");
	is_i(number("PRAGMA user_version"), 2, "and leave version 2");
	is_i(number("PRAGMA application_id"), MIGRATE_APPLICATION, "marked as ours");
	is_i(migrate_steps(db, sql, 3, &e), 0, "a third one is added later");
	is_i(number("SELECT count(*) FROM a"), 2, "and no step ran twice");
	is_i(number("SELECT max(x) FROM a"), 11, "nor out of order");
	is_i(migrate_steps(db, sql, 2, &e), -1, "a newer database is refused");
	is(e.msg, "its schema is version 3, newer than this mmtrendd, which knows 2",
	   "with both versions");

	fresh();
	is_i(migrate_steps(db, bad, 2, &e), -1, "a failing step fails");
	is_i(number("PRAGMA user_version"), 1, "and leaves the version before it");
	is_i(number("SELECT count(*) FROM sqlite_schema"), 1,
	     "and nothing of itself");
	is_i(sqlite3_get_autocommit(db), 1, "and no transaction open");
}

static void foreign(void)
{
	static const char *const sql[] = { "CREATE TABLE a(x)" };

	fresh();
	exec("CREATE TABLE theirs(x)");
	is_i(migrate_steps(db, sql, 1, &e), -1, "a database with tables is not taken over");
	is(e.msg, "not a database of mmtrendd", "and the reason says so");
	is_i(number("SELECT count(*) FROM sqlite_schema"), 1, "nor changed");
	fresh();
	exec("PRAGMA application_id = 7");
	is_i(migrate_steps(db, sql, 1, &e), -1, "nor one of another program");
}

/* The same through the door: nothing is written to a file that is refused. */
static void files(void)
{
	struct store *s;
	FILE *f;

	dir_start();
	s = store_open(db_path, &e);
	ok(s != NULL, "the real schema opens");
	store_close(s);
	s = store_open(db_path, &e);
	ok(s != NULL, "and opens again");
	store_close(s);

	sqlite3_close(db);
	sqlite3_open(db_path, &db);
	exec("PRAGMA user_version = 1000");
	s = store_open(db_path, &e);
	ok(!s && strstr(e.msg, "newer than this mmtrendd"),
	   "a file of a newer program is refused");
	store_close(s);
	sqlite3_close(db);
	db = NULL;
	dir_end();

	dir_start_again();
	f = fopen(db_path, "w");
	fputs("this is a text file that somebody cares about, and longer than "
	      "a header of SQLite, which is one hundred bytes", f);
	fclose(f);
	s = store_open(db_path, &e);
	ok(!s && strstr(e.msg, "not a database"),
	   "a file that is no database is refused");
	store_close(s);
	f = fopen(db_path, "r");
	ok(f && fgetc(f) == 't', "and left as it was");
	fclose(f);
	dir_end();
}

int main(void)
{
	in_order();
	foreign();
	files();
	return tap_done();
}
