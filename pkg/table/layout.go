package table

import "errors"

// ErrNewerLayout: an item, or a document, was written by a later version of the package that reads
// it, which keeps something in it that this version does not know.
var ErrNewerLayout = errors.New("written by a newer version")
