package quota

// WindowAt makes the windows of tests.
var WindowAt = windowAt
