package delivery

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
)

func (c Consumer) decided(t Token) bool { return c.owns(t, Sending) || c.ended(t, Committed) }

// Decide makes the Started claim of a token Sending, with its outbox, if it is not deferred: from
// here on it will be committed. What is in the outbox must be staged. 1 write unit.
//
// Lost response: the repeat finds it Sending and reports true. Another ended the claim: false, and
// nobody sees what was staged. We die right after: the next caller after the lease sends, and
// finishes.
func (s *requests) Decide(ctx context.Context, h Held, outbox []outgoing) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "decide", h.Queue, h.Consumer, isOwn(h.Token, Started),
		setState(Sending), attrOutbox.Set(ddb.ValueOf(outbox)))
	return c, made || c.decided(h.Token), err
}

// Finish ends the Sending claim of a token, as Commit does. 1 write unit.
//
// Lost response, another did it first: the repeat fails and finds the token's outcome, which is
// Committed: true. We die right after: as after Commit.
func (s *requests) Finish(ctx context.Context, h Held) (Consumer, bool, error) {
	c, made, err := s.update(ctx, "finish", h.Queue, h.Consumer, isHeld(h.Token, Sending),
		append(setPassed(), setEnded(h.Token, Committed), attrOutbox.Remove())...)
	return c, made || c.ended(h.Token, Committed), err
}

// Refuse counts replies of a claim that can never be stored, if they are not those that were
// counted last. 1 write unit.
//
// Lost response, another did it first: the repeat finds the claim's name and reports true. We die
// right after: the claim is still open, and the caller that goes on with it comes here again.
func (s *requests) Refuse(ctx context.Context, h Held, refused refusals) (Consumer, bool, error) {
	by := ddb.Text(h.Token.String())
	c, made, err := s.update(ctx, "refuse", h.Queue, h.Consumer,
		ddb.And(attrQueue.Exists(), attrRefusedBy.Ne(by)),
		attrRefused.PlusFrom(ddb.Int(0), refused.N), attrRefusedBy.Set(by),
		attrRefusedQueue.Set(ddb.Text(refused.Queue)),
		attrRefusedWhy.Set(ddb.Text(refused.Why)),
		attrRefusedSince.Set(ddb.Millis(refused.Since)))
	return c, made || c.Refused.By == h.Token.String(), err
}

// AnnouncedRefused notes that all that were refused up to the number seen are announced. 1 write
// unit.
//
// Lost response, another did it first: the number is that, or higher: true. We die right after:
// nothing is left to do.
func (s *requests) AnnouncedRefused(ctx context.Context, seen Consumer) (Consumer, bool, error) {
	announced := ddb.Int(seen.Refused.N)
	c, made, err := s.update(ctx, "note refused announced", seen.Queue, seen.Name,
		ddb.And(attrRefused.Ge(announced),
			ddb.Or(attrRefusedAnnounced.Missing(), attrRefusedAnnounced.Lt(announced))),
		attrRefusedAnnounced.Set(announced))
	return c, made || c.Refused.Announced >= seen.Refused.N, err
}
