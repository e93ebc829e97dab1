package main

var (
	keyTests    = test{"./pkg/cursor", "Key|Rank"}
	keyRequests = test{"./functions/enqueue", "Key|RawEvents|Tenants"}
)

// keyMutants are bugs of keys: one that sorts otherwise than what it is of, that nobody can
// read again, or that is taken as it should not be.
var keyMutants = []mutant{
	{"keys: the last digit goes on", "pkg/cursor", keyTests, []edit{
		{"key_number.go", "\tto[len(to)-1]--\n", ""},
	}},
	{"keys: the exponent of a negative number is not complemented", "pkg/cursor", keyTests, []edit{
		{"key_number.go", "\t\tcomplement(to[start:])", "\t\tcomplement(to[start+1:])"},
	}},
	{"keys: an odd exponent is as the even one below", "pkg/cursor", keyTests, []edit{
		{"key_number.go", "digits, hundreds = \"0\"+digits, hundreds+1", "digits = \"0\" + digits"},
	}},
	{"keys: a number has two stored forms", "pkg/cursor", keyTests, []edit{
		{"key_number.go", "x == 0 && (i == 1 || code == 0)", "x == 0 && i == 1"},
	}},
	{"keys: the fraction before 1970 counts downward", "pkg/cursor", keyTests, []edit{
		{"key_time.go", "seconds, nanos = seconds+1, 1_000_000_000-nanos", "seconds, nanos = seconds+1, nanos"},
	}},
	{"keys: a time that no clock shows is read", "pkg/cursor", keyTests, []edit{
		{"key_encoding.go", "checkSeconds(value.number) == nil", "true"},
	}},
	{"keys: a zone of a day and more", "pkg/cursor", keyTests, []edit{
		{"key_time.go", "offset[:2] > \"23\" || ", ""},
	}},
	{"keys: a text ends at its first zero", "pkg/cursor", keyTests, []edit{
		{"key_encoding.go", "to = append(to, b+1)", "to = append(to, b)"},
	}},
	{"keys: digits sort as a text", "pkg/cursor", keyTests, []edit{
		{"key_kind.go", "return string([]byte{byte(len(digits))}) + digits", "return \"\\x01\" + digits"},
	}},
	{"keys: a pre-release comes behind its release", "pkg/cursor", keyTests, []edit{
		{"key_kind.go", "semverRelease = \"\\x04\"", "semverRelease = \"\\x01\""},
	}},
	{"keys: a leap second is the second behind it", "pkg/cursor", keyTests, []edit{
		{"key_time.go", "return next.Add(-1), err == nil", "return next, err == nil"},
	}},
	{"keys: what no pattern matches has no rank", "pkg/cursor", keyTests, []edit{
		{"key_rank.go", "\t\tcase pattern == anything:\n\t\t\tlast = i\n", ""},
	}},
	{"keys: a run of a pattern is looked for at the end", "pkg/cursor", keyTests, []edit{
		{"key_rank.go", "_, after, found := strings.Cut(text, run)", "at := strings.LastIndex(text, run)\n\t\tfound := at >= 0\n\t\tafter := text[max(at, 0):]"},
	}},
	{"keys: a type has ranks that it has not", "pkg/cursor", keyTests, []edit{
		{"key_type.go", " || part.tag == tagRank && part.rank >= len(of[i].patterns)", ""},
	}},
	{"keys: a seq beside a key", "internal/message", keyRequests, []edit{
		{"read.go", "case given[\"key\"] && given[\"seq\"]:", "case false:"},
	}},
	{"keys: both kinds of message for one queue", "internal/intake", keyRequests, []edit{
		{"intake.go", "\t\tif keyed[a.Queue] {", "\t\tif false {"},
	}},
	{"keys: checked when others are stored", "internal/intake", keyRequests, []edit{
		{"intake.go", "\tif err := cursor.ValidateKeyed(p.keyed); err != nil {\n\t\treturn nil, p.inCall(err, p.sorted)\n\t}\n", ""},
	}},
	{"keys: the id before is anybody's", "internal/intake", keyRequests, []edit{
		{"intake.go", ", full(place, \"prev\", &m.Prev)", ""},
	}},
}
