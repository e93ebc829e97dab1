// Package delivery delivers every queue's messages, in order, to named
// consumers, each with a place of its own.
//
//	queues, err := cursor.NewDynamo(client, cursor.Names{})
//	sorter, err := cursor.New(queues, nil)
//	deliverer, err := delivery.New(delivery.NewDynamo(client, delivery.Names{}), sorter, nil)
//	handler, err := delivery.OnStream(deliverer, cursor.Names{}, delivery.Reader{
//		Name: "books",
//		Handle: func(ctx context.Context, b delivery.Batch) error {
//			return book(ctx, b.Messages) // in order, without a gap; an error has them come again
//		},
//	})
//	lambda.Start(handler) // behind the stream of the cursors table
//
// Make a [Store] with [NewDynamo] (or [NewMemory] in tests), a
// [cursor.Sorter] on the sorter's tables, and a [Deliverer] with [New]. A
// consumer is a [Reader]: a name, and a function that gets each [Batch]. The
// Lambda function behind the cursors' stream is [OnStream], which calls
// [Deliverer.Deliver] for each queue that a record names; call Deliver yourself
// where something else wakes you up. [Deliverer.Sweep] runs on a schedule and
// makes up for what the stream drops and what a crash leaves behind. What an
// operator does is [Deliverer.Operate]. A consumer that
// pulls has its [Claims] from [NewClaims], over HTTP from package pullhttp.
//
// A record of the stream is only a hint. A delivery begins behind what the
// consumer has committed, wherever the record's range is; so records may be
// dropped, repeated or late, and a consumer that was away for a week catches up.
//
// # Words
//
// Delivered is the last seq that was delivered and committed. A claim is the
// right to deliver a range; it has a token, whose number rises with every
// claim, and a lease, after which another may take it over. A consumer is
// blocked when a message failed as often, and for as long, as it may. The health of a sink is what all queues of a
// consumer's name know of it.
//
// # What is stored
//
// The consumers table, a consumer an item, under (queue, consumer):
//
//	v            N  layout of the item, 1
//	delivered    N  the last seq that was delivered and committed, or skipped
//	state        S  IDLE, STARTED, PREPARED, IN_DOUBT, SENDING or BLOCKED
//	tokenN, req  N, S  the token of the last claim
//	from, to     N  its range: from < seq <= to
//	leaseUntil   N  ms, when the claim may be taken over
//	deferred     BOOL  where the batch of the STARTED claim was handed over, and whoever has its
//	                   token commits it: leaseUntil is then when the work is late
//	attempts     N  how often the message behind delivered was claimed
//	together     N  how many of these claims had other messages with it
//	tried, triedTo  N  how many claims failed that had messages up to a seq
//	isolateTo     N  up to this seq a batch failed, or its process died: claims are smaller
//	retryAt      N  ms, when a batch that failed is tried again
//	failed, error, blockedSince   when and why a batch failed last
//	failingSince  N  ms, when the message behind delivered first failed alone
//	proven       BOOL  where its last failure said that the sink takes others, or that no other queue fails
//	away         N  how often in a row the sink was away when it was tried
//	replyQueue   S  where error is about replies: the queue that they go to
//	shown        N  how many bytes of error the queue's tenant may read, where that is not all
//	outcomes     M  how the last four claims ended, in slot tokenN mod 4, of each
//	  n          N  its number
//	  outcome    S  COMMITTED, ABORTED or CANCELLED
//	  sum        S  a short hash of its request
//	quarantine   M  claims that stayed in doubt too long, by their numbers, with req,
//	                from, to and state of each, and
//	  since      N  ms
//	outbox       L  of a claim that is SENDING: the queues that it has replies for
//	refused, refusedAnnounced   how many replies could never be stored, and were announced
//	refusedBy, refusedQueue, refusedWhy, refusedSince   the last claim that had such ones
//	answer       M  what the sink answered when it took the last batch, of sinks that say so
//	  status     N  its own, such as that of HTTP
//	  ms         N  how long the answer took
//	  at         N  ms, when it came
//	  text       S  the beginning of what it said, 200 bytes at most
//	  own        BOOL  where the queue's tenant set the sink itself: it may read text
//	paused, pausedSince   why nothing is claimed, and since when
//	rewinds      N  how often the consumer was set to another place
//	starting     S  the operation that sets it to a place, until that is done
//	keptFrom     N  while it is starting: from this seq on everything is stored and kept
//	lastOp       S  the last operation of an operator
//	asked        N  a position that was noted while a claim was in flight, for who commits it
//
// It is the lock, the state and the place in one item, so each step is one
// conditional update; with short names it has less than 1 KB and a step costs
// one write unit.
//
// Beside them, under ("consumer " and the consumer's name, " health"), what all its queues
// know of its sink: no consumer has a name with a space.
//
//	v            N  layout of the item, 1
//	rev          N  rises with each change, each of which compares it
//	by           S  who made the last change
//	failing      L  queues of which a batch failed since one was taken, ten at most, of each
//	  queue      S
//	  at         N  ms, when that was noted
//	failingSince N  ms, since when there are any
//	takenAt      N  ms, when the last batch was handed over that was taken and noted
//	opened       N  ms, since when the circuit is open
//	probeAt      N  ms, when the next probe may be made while it is
//	probes       N  how many were made
//	announced    BOOL  people heard that it is open
//	closed       N  ms, when it closed last
//	waking       BOOL  queues that were left alone until then are still to be woken up
//
// The operations table, what an operator did an item, under (queue, operation), which is at,
// consumer and op put together:
//
//	v            N  layout of the item, 1
//	consumer     S  whose
//	at           N  ms, when it was asked for
//	op           S  what the operator called it
//	kind         S  create, skip, redrive, rewind, pause, resume, settle, release or remove
//	seq          N  the message or the place that it is about; -1 where there is none
//	reason       S  why
//	request      M  what else was asked for: start, kind, token, outcome
//	who          M  who asked, with
//	  kind         S  iam, jwt, direct or none
//	  name         S  the caller's ARN, or the token's subject
//	  client       S  the token's client
//	done, error  BOOL, S  how it ended; neither while it is under way
//	replyQueue   S  where error is about replies: where they were to go
//
// and, under "id " and op, the first operation that had this op in the queue, as it was asked
// for: another one is refused.
//
// No error that is kept has a queue's or a chain's name in it: the code that shows it
// names what the reader may know.
//
// # The states of a consumer
//
//	             claim: token n+1, attempts+1
//	          ┌────────────────────────────────┐ ┌──┐ commit, and claim the next;
//	          │                                ▼ │  ▼ or the lease is over: claimed
//	(none) ──► IDLE ◄──────────────────────── STARTED   by another, CANCELLED
//	 create    ▲  │   commit: delivered = to    │
//	           │  │   failure: ABORTED          │
//	           │  │   lease over: CANCELLED     │
//	           │  └────────────┐ ┌──────────────┘
//	           │               ▼ ▼  after so many attempts alone: token n+1
//	           └───────────── BLOCKED
//	             skip: delivered+1, token n+1
//	             redrive: token n+1
//
// Rewind goes from IDLE or BLOCKED to IDLE at another place. It and create set
// starting, and nothing is claimed until it is sure that what lies behind the
// place is stored and kept. That is done piece by piece, from above, as messages expire
// from below; keptFrom says how far it is. While a consumer is paused nothing is claimed
// either; a claim that is in flight ends normally.
//
// # A bad message, or a sink that is away
//
// A handler that fails says one of three things. [Permanent]: the message is refused for good,
// and blocks as soon as it is alone. [SinkAway]: the sink is throttled or cannot be reached;
// that is counted against no message. Anything else is unknown, and is counted where the message was alone. Such a
// message blocks its queue late, and by one look, because a block that is wrong stops a queue, and one that is late costs a
// retry every five minutes:
//
//   - it was tried alone [Reader].MaxAttempts times, and it has failed for [Reader].BlockAfter; and
//   - the sink took something that was handed over after the failure before the last one, or no other queue fails.
//
// A message that kills its worker blocks after as many attempts; one that failed as well when BlockAfter is over. An entry of a
// queue that fails is good for three times the longest retry or probe, 15 minutes at least. A chain that ends writes what its failure
// proves, and the next delivery blocks by it. [ConsumerFailing] is announced when the attempts are used up.
//
// A process looks at the health of a name every 5 seconds at most, weakly, for all queues of it. A failure reads it strongly. A
// success is written only where the look before it showed that queues fail, and every 10 seconds at most: so a batch
// of a sink that works costs what it did. A success counts from when the batch was handed over: the sink may have gone away since.
//
// [DoneUpTo] says beside it how far the batch is done: the write that gives the claim back commits that part.
//
// # The circuit
//
// Once as many queues as [Circuit].Queues says fail, and the sink took nothing for 10 seconds (or ten queues fail at once), the circuit of
// the consumer's name is open: nothing is claimed for it but by one probe at a time, and a delivery
// ends as [EndedCircuitOpen].
//
//	         as many queues fail; probeAt: after 5 s
//	closed ───────────────────────────────────────────► open ◄──┐ a probe: probeAt is after the next
//	   ▲            a batch is taken                      │  └──┘ time, or the claim's lease
//	   └──────────────────────────────────────────────────┘      it fails: probeAt is after that time
//
// A probe is an ordinary batch of whatever queue comes first when it is due; one whose message failed waits 5 seconds more, since that
// may be a bad one. The process that makes it compares
// the item before the claim, so that of many that come at once one asks the sink; one that dies is
// followed by another when its claim's lease is over. While it is open the sweep notifies none of the queues that wait, and when it
// closes they are woken up at [Circuit].WakeRate. Of a batch that failed before the circuit closed, no
// retry time is waited for. Where the sink is there again, nobody is needed.
//
// Of a tracked consumer it is about handing on: a chain that fails is what the work says of the message, which
// has its attempts for that, and opens no circuit; a probe is taken when it was handed on. Consumers that pull have none: they do not ask while they are away.
//
// # A sink for each queue
//
// Where each queue has a sink of its own ([Reader].Apart), what one takes says nothing of another: no health is kept or
// looked at, and there is no circuit. A message that counts then blocks its queue after as many attempts and BlockAfter.
// What is slow, or fails, is delivered by a call of its own ([Reader].Inline, [Options].Aside): the claim of a batch that takes
// longer than Inline beside others is given back, as one whose sink is away, and the call claims it again. No call waits for a
// retry: its wake-up has another one made. Where a call cannot be asked for, a wake-up comes 5 seconds later; where it is
// lost, the queue lags, and the sweep wakes it up.
//
// # Two phases
//
// A consumer with a database of its own pulls, and has each message's effect
// exactly once: see [Claims], and package pull. Its claim is PREPARED or IN_DOUBT meanwhile, and then
// nobody else takes it over. What stayed in doubt too long is in quarantine, which is
// announced until the database, or an operator ([Deliverer.Operate]),
// settles it.
//
// # Replies
//
// A consumer may answer: what its handler, or its effect, adds by [Batch.Reply] is
// stored in other queues of the same tables, exactly once if the claim is committed,
// and not at all otherwise. The replies to one queue have an id that the claim's
// whole token and the queue give, so all of it may be done again by anybody. A reply
// out of its bounds is refused by Reply, and fails the batch, whatever the handler
// returns then.
//
// Where a consumer is pushed to, the stack decides, sends, and releases. The replies are staged (stored, and
// seen by nobody) before the decision, and get their seqs after it:
//
//	           stage; decide: outbox            send; finish: delivered = to
//	STARTED ─────────────────────────► SENDING ──────────────────────────────► IDLE
//	   │ lease over: CANCELLED,           │ lease over: the next caller, or the
//	   ▼ what was staged expires          └ sweep, sends and finishes. Nothing else.
//
// In two phases they stand beside the marker in the consumer's database. The commit,
// or the process that settles, looks whether the claim is PREPARED, IN_DOUBT or in quarantine,
// stores them, and then makes its update. It reads the consumer once more, so that a commit that is
// repeated after its replies have expired does not store them again.
//
// A reply that can never be stored (its seq is taken, its queue is of the other
// kind) is recorded among the queue's operations, counted in the consumer, announced once,
// and the commit goes on. A full queue is waited for, and announced after a time. A
// batch that is tracked, or deferred, takes no replies.
//
// Replies of a claim are visible before those of the next, save for claims that were
// in quarantine.
//
// # Deferred batches
//
// Where the work of a batch goes on after its handler has returned, the claim is deferred: the chain
// of the work ([Reader].Track, [Batch].Edges), or a worker that has the token ([Batch.Defer]),
// commits or fails it.
//
//	claim    (create the chain,) hand over, defer
//	───────► STARTED ─────────────────────────► STARTED, deferred ── chain DONE, or Commit ──► commit
//	            │ lease over: taken over           │  │ chain FAILED, TIMED_OUT, or Abort ───► failure
//	            ▼                                  │  lease over, and the chain is late: CANCELLED, a failure
//	                                               └─ the chain was extended: deferred until then
//
// [Deliverer.Ender] does that behind the chains' stream, Deliver and Sweep where
// its record was lost; only then is the chain sealed.
//
// # Who is in trouble
//
// Where there is a table of trouble ([Names].Trouble), it has a row for each queue and consumer
// that somebody should know of, which lists of them read: see internal/trouble. Whoever blocks or
// pauses a consumer, or finds a message missing, writes the row after that; the sweep does for
// gaps, lag, doubt, and replies that wait. Whoever ends it deletes the row, or the sweep does, which
// looks at rows for 5 seconds a run in turn, and writes what is missing where it sees to a consumer.
//
// # What is guaranteed
//
//   - A consumer gets each queue in order and without a hole. What is not there
//     any more is announced and waited for, never stepped over.
//   - Delivered rises only over what was delivered under the claim that is
//     committed, over what an operator skips, or set by an operator.
//   - At most one token is valid at any time. A claim that was taken over can
//     never commit.
//   - What is deferred was handed over. A tracked batch is committed by its chain only when all
//     edges of that have ended.
//   - A message that fails, or kills its worker, stops its own queue for its own
//     consumer and nothing else. A sink that is away blocks no queue. Its batch comes again as it was, and then by
//     halves; the last attempt has it alone, so that the one that blocks is the one
//     behind Delivered.
//   - Every accepted message is delivered, or its consumer is announced as
//     blocked, lagging or missing something, by every run of the sweep until
//     that is over.
//
// # What is not
//
// A batch is delivered at least once: a process that dies, or loses the answer, after
// the delivery and before the commit leaves it to be delivered again, under
// a higher token. And a process that sleeps past its lease between its claim and
// its delivery, and wakes up after another went on, delivers an old batch
// after newer ones. Its commit fails, but its sink has the batch. A sink that
// remembers the highest token number of each queue and consumer, in the same
// transaction as its effect, and refuses lower ones, is safe from both that and
// from reordering. Clock skew does no harm beyond that; a lease is 30
// seconds at least, so that it is longer than the skew.
//
// A handler whose effect must happen once a message calls dedup.Each (package
// pkg/dedup) on Batch.Messages: a batch that is delivered again passes over the
// messages whose effect is done.
//
// A consumer that is removed and made anew counts its tokens from 1 again: a
// sink that fences must forget the old ones.
//
// # What a crash leaves behind
//
// A process that dies with a claim in flight leaves it STARTED until its lease is
// over: the next hint, or the sweep, then takes it over or ends it. Attempts are
// counted by the claim, those alone apart, so that a message which kills every worker ends up
// BLOCKED all the same. One that dies after a commit leaves at most messages
// that came meanwhile, which have records of their own. An operator's call that
// dies leaves its operation on record without an end, and what it did in lastOp: the
// same order again does not do it twice, where no other came in between. A start
// that nobody finished is finished by the next caller, and so are the replies
// of a claim that was decided.
//
// Who lags is found by the sweep in the queues that moved, or were notified,
// lately; every write that makes a consumer lag behind a quiet queue is
// therefore preceded by a notification. A notification is a record in the cursors' stream that
// moves nothing: it wakes everybody up who reads the queue.
//
// A response that is lost makes the SDK repeat the request. Each write is made
// such that its repeat finds its own work: a claim by its token, a commit or a
// failure by the token's outcome, an operator's by lastOp.
package delivery
