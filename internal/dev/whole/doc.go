// Package whole reports whether the tests run whole, as make check runs them: with the build tag
// whole. Files that have the tag are named *_whole_test.go. Without the tag the tests start no
// process and no server, and do less of what takes long.
package whole
