// Package figures counts what the operations take, for docs/reference/figures.md: requests' units by AWS's
// rules, on tables in memory that charge as DynamoDB does, beside what any algorithm must take at
// least, the older systems' algorithm, and SQS FIFO.
//
// Call [Count], and [Page] for its text. The counts are the same in every run: the page is held to them by a
// test, and the tables in memory are held to a real server's by the tests of internal/ddb. Times
// are no matter of this package: verify/bench measures them.
package figures
