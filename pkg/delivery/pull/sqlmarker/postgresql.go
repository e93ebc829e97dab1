package sqlmarker

// PostgreSQL is the dialect of PostgreSQL 12 and later, with any driver that takes parameters as
// $1. A floor is held by a shared lock on its row, so it holds at every isolation level.
var PostgreSQL = standard("postgresql", "$", "BIGINT", " FOR SHARE OF streamsort_readers",
	" FOR UPDATE SKIP LOCKED")
