// Package record is what push (pkg/delivery) and pull (pkg/delivery/pull) share: the
// consumers' and the operators' records and their store, how a consumer's next batch is
// read, and how the replies of a claim are stored. What users need of it has a name in
// pkg/delivery, whose package comment says what is stored, and how a consumer's state
// changes.
package record
