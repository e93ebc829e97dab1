package pull

import (
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// RestoredError says that a database does not know a claim that was committed in it: it was
// restored from a backup that is older. What was committed since is lost in it, and nobody guesses:
// an operator sets the consumer back to where the database is, or accepts the loss.
type RestoredError struct {
	Queue, Consumer string
	// Last is the highest number that the database knows to be committed, Committed the one that it
	// should.
	Last, Committed int64
}

func (e *RestoredError) Error() string {
	why := "it was restored from an older backup"
	if e.Last == 0 {
		why = "it is another database, or has another name of the stack, or was restored"
	}
	return fmt.Sprintf("the database knows the claims of consumer %q of queue %q up to number %d, and number %d was committed in it: %s; docs/how-to/restore.md says what to type",
		e.Consumer, e.Queue, e.Last, e.Committed, why)
}

// AheadError says that a batch was committed in a database before: the tables of the delivery were
// restored from a backup that is older than the database, and hand out again what was handed out
// since. Nothing is done twice, and nobody guesses: an operator sets the consumer to the seq behind
// To.
type AheadError struct {
	Queue, Consumer string
	// From is behind which the batch begins, To up to where the database is.
	From, To int64
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("the database has what consumer %q of queue %q was handed up to %d, and it is handed %d again: the tables were restored from an older backup, or the consumer was recreated; docs/how-to/restore.md says what to type",
		e.Consumer, e.Queue, e.To, e.From+1)
}

var (
	// ErrOtherDatabase: the claim in doubt is another database's. Two databases must not share a
	// consumer.
	ErrOtherDatabase = errors.New("the claim in doubt was made for another database")
	// ErrContradiction: a claim has ended otherwise than in the consumer's database, which only an
	// operator, or an older backup, can have done.
	ErrContradiction = errors.New("the claim has ended otherwise than in the database")
	// ErrEnded: the effect of a batch committed its transaction, or rolled it back, so no marker
	// can be beside it.
	ErrEnded = errors.New(
		"the effect ended its transaction: it must neither commit it nor roll it back")
)

// onlyPeople reports whether an error is one that only people can repair.
func onlyPeople(err error) bool {
	return errors.As(err, new(*RestoredError)) || errors.As(err, new(*AheadError)) ||
		errors.As(err, new(*cursor.InvalidError)) ||
		errors.Is(err, ErrOtherDatabase) ||
		errors.Is(err, ErrContradiction) || errors.Is(err, ErrEnded) ||
		errors.Is(err, delivery.ErrNoConsumer)
}
