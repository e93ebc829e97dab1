package settings

// SideBySide is sideBySide, for the test.
var SideBySide = sideBySide
