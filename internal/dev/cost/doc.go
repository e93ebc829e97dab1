// Package cost says what Streamsort costs on AWS, in dollars a month, beside SQS FIFO and the
// algorithm of aws-stream-sort. `make cost` prints it; docs/reference/cost.md has its tables, and
// says what is assumed.
//
// Call [Workload.Check] and [Workload.Bills]. Every figure is one of three kinds, and stands in a
// file of its own: what AWS charges (prices.go), what an operation takes (units.go; tests measure
// each by AWS's rules and fail when it has changed), and what nobody has measured on AWS
// (assumed.go: times, sizes of log lines). A bill counts nothing twice and leaves out what is the
// same for all: the consumer's own function, data transfer, the free tier.
package cost
