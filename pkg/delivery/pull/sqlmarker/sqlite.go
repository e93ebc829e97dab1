package sqlmarker

// SQLite is the dialect of SQLite 3.35 and later. It has one writer at a time, and one that read
// before another wrote can write no more: so a floor that was read holds until the transaction's
// end. Open the database with a busy timeout (_pragma=busy_timeout(10000) in modernc.org/sqlite),
// or two writers at once fail instead of waiting.
var SQLite = standard("sqlite", "?", "INTEGER", "", "")
