package archive

// NewTable is what tests on every engine make their Store with.
var NewTable = newTable
