// Package trouble is the table of trouble: which queues and consumers are in a state that somebody
// should know of, and which chains failed or timed out, a row for each, so that a list of them
// costs what it shows, however many others there are.
//
// # What is stored
//
// A row is under (state, at), and in the index by (state, since):
//
//	state      S  what it is in; of a tenant's, a slash behind it and the shard, 1 to 8, that a hash of the tenant says: many
//	              notes of one tenant do not throttle those of all
//	at         S  the queue, a space, and the consumer: none where it is about the queue itself; or
//	              the chain's tag and a space
//	since      N  ms, since when it is so
//	n          N  rises with the consumer, the queue, or the chains of a tag: who is late changes no newer row
//	seq        N  the message that is missing, or that the consumer gets next
//	error      S  why that failed last, 300 bytes at most
//	shown      N  how many bytes of error the queue's tenant may read, where that is not all
//	expiresOn  N  s, when TTL may delete it: of chains only
//	v          N  layout of the item, 1
//
// A consumer has no space in its name, so the last one tells the two apart. Fifty rows of names of
// usual length have less than 8 KB, which are read for 1 read unit; with errors of full length it
// is 4. A key has 1,024 bytes at most: names that are longer together have no row, and are in no
// list.
//
// Beside the rows, under (" walk", " walk"), is how far the sweep's walk over all rows is:
//
//	in      S  the state whose rows it is in
//	after   S  the at of the last row of it that was looked at; "" where it begins
//
// And under (" counts", a minute), how many messages were stored and delivered in it, of which
// [Counter] has the rest of its process:
//
//	stored     N  how many messages were accepted
//	delivered  N  how many were handed to consumers
//
// # What is guaranteed
//
// Rows are never the truth. The process that brings a queue, or a consumer of it, into a state
// writes its row after that; the process that ends the state deletes the row after that. A write
// that fails fails nothing else, and a process may die before it: the sweep writes what is missing,
// and deletes what is over. So a row may be missing, or be over, for a while.
//
// A chain's row is written before nothing is left to do for its end, by who does that: an end stays
// due until the row is there. It is not looked at again: it expires as the chain's record does.
package trouble
