package sqlmarker

import "strings"

// Dialect is what differs between databases: the statements, each with its arguments in the order
// given here. [PostgreSQL] and [SQLite] are ready; another database is another such value.
//
// A key is stack, queue, consumer; a whole key is that, number and request. The statements that
// insert do nothing where the row is there already.
type Dialect struct {
	// Name is what the dialect is called in errors.
	Name string
	// Tables make what Install makes, each where it is not there yet.
	Tables []string
	// Version selects the layout's version and the database's name, no row if it is absent;
	// SetVersion inserts both.
	Version, SetVersion string
	// Ensure inserts a reader's row with the floor 0, by a key.
	Ensure string
	// Floor selects the floor, and the highest number that has a marker COMMITTED, or 0, by a key.
	// It locks the reader's row such that the floor stays until the transaction's end, and does not
	// wait for others who lock it so.
	Floor string
	// TryFloor selects the floor by a key, and locks the row against Floor. It finds no row where
	// it would have to wait.
	TryFloor string
	// Place selects the rewinds and the last seq of the batch whose marker COMMITTED has the
	// highest number, by a key; or no row.
	Place string
	// Insert inserts a marker: a whole key, outcome, replies, and the batch's rewinds and last seq.
	Insert string
	// Outcome selects a marker's outcome and replies by a whole key.
	Outcome string
	// Raise sets the floor: floor, then a key.
	Raise string
	// Prune deletes the markers under a number: a key, then the number.
	Prune string
}

// standard is the dialect of databases that know ON CONFLICT and numbered parameters, which begin
// with param. number is a type of 64 bits; share and try end the two selects that lock.
func standard(name, param, number, share, try string) Dialect {
	d := Dialect{
		Name: name,
		Tables: []string{
			`CREATE TABLE IF NOT EXISTS streamsort_marker_layout (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL,
	name TEXT NOT NULL
)`,
			`CREATE TABLE IF NOT EXISTS streamsort_readers (
	stack TEXT NOT NULL,
	queue TEXT NOT NULL,
	consumer TEXT NOT NULL,
	floor ` + number + ` NOT NULL,
	PRIMARY KEY (stack, queue, consumer)
)`,
			`CREATE TABLE IF NOT EXISTS streamsort_markers (
	stack TEXT NOT NULL,
	queue TEXT NOT NULL,
	consumer TEXT NOT NULL,
	number ` + number + ` NOT NULL,
	request TEXT NOT NULL,
	outcome TEXT NOT NULL CHECK (outcome IN ('COMMITTED', 'ABORTED')),
	replies TEXT,
	rewinds ` + number + ` NOT NULL DEFAULT 0,
	upto ` + number + ` NOT NULL DEFAULT -1,
	PRIMARY KEY (stack, queue, consumer, number, request)
)`,
		},
		Version:    `SELECT version, name FROM streamsort_marker_layout WHERE one = 1`,
		SetVersion: `INSERT INTO streamsort_marker_layout (one, version, name) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`,
		Ensure:     `INSERT INTO streamsort_readers (stack, queue, consumer, floor) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING`,
		Floor: `SELECT floor, (SELECT coalesce(max(number), 0) FROM streamsort_markers
	WHERE stack = $1 AND queue = $2 AND consumer = $3 AND outcome = 'COMMITTED')
FROM streamsort_readers WHERE stack = $1 AND queue = $2 AND consumer = $3` + share,
		TryFloor: `SELECT floor FROM streamsort_readers WHERE stack = $1 AND queue = $2 AND consumer = $3` + try,
		Place: `SELECT rewinds, upto FROM streamsort_markers
WHERE stack = $1 AND queue = $2 AND consumer = $3 AND outcome = 'COMMITTED' ORDER BY number DESC LIMIT 1`,
		Insert: `INSERT INTO streamsort_markers (stack, queue, consumer, number, request, outcome, replies, rewinds, upto)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
		Outcome: `SELECT outcome, replies FROM streamsort_markers
WHERE stack = $1 AND queue = $2 AND consumer = $3 AND number = $4 AND request = $5`,
		Raise: `UPDATE streamsort_readers SET floor = $1 WHERE stack = $2 AND queue = $3 AND consumer = $4`,
		Prune: `DELETE FROM streamsort_markers WHERE stack = $1 AND queue = $2 AND consumer = $3 AND number < $4`,
	}
	for _, statement := range []*string{
		&d.SetVersion, &d.Ensure, &d.Floor, &d.TryFloor, &d.Insert, &d.Outcome, &d.Raise, &d.Prune, &d.Place,
	} {
		*statement = strings.ReplaceAll(*statement, "$", param)
	}
	return d
}
