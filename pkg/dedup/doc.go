// Package dedup runs an effect once for each (id, processor), remembers its
// result, and fences out owners whose time is over.
package dedup
