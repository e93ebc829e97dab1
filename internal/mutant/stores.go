package main

// stores are those of all packages.
var stores = []store{
	{"pkg/dedup", []test{{"./pkg/dedup", "(TestTableConforms|TestNewerLayout)/memory"}, dedupSchedules}},
}
