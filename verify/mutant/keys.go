package main

var (
	keyTests    = test{"./internal/sortkey", "Key|Rank"}
	keyRequests = test{"./functions/enqueue", "Key|RawEvents|Tenants"}
)

// keyMutants are bugs of keys: one that sorts otherwise than what it is of, that nobody can
// read again, or that is taken as it should not be.
var keyMutants = []mutant{
	{"keys: the exponent of a negative number is not complemented", "internal/sortkey", keyTests, []edit{
		{"key_number.go", "\t\tcomplement(to[start:])", "\t\tcomplement(to[start+1:])"},
	}},
	{"keys: an odd exponent is as the even one below", "internal/sortkey", keyTests, []edit{
		{"key_number.go", "digits, hundreds = \"0\"+digits, hundreds+1", "digits = \"0\" + digits"},
	}},
	{"keys: a number has two stored forms", "internal/sortkey", keyTests, []edit{
		{"key_number.go", "x == 0 && (i == 1 || code == 0)", "x == 0 && i == 1"},
	}},
	{"keys: the fraction before 1970 counts downward", "internal/sortkey", keyTests, []edit{
		{"key_time.go", "seconds, nanos = seconds+1, 1_000_000_000-nanos", "seconds, nanos = seconds+1, nanos"},
	}},
	{"keys: a text ends at its first zero", "internal/sortkey", keyTests, []edit{
		{"key_encoding.go", "to = append(to, b+1)", "to = append(to, b)"},
	}},
	{"keys: digits sort as a text", "internal/sortkey", keyTests, []edit{
		{"key_kind.go", "return string([]byte{byte(len(digits))}) + digits", "return \"\\x01\" + digits"},
	}},
	{"keys: a pre-release comes behind its release", "internal/sortkey", keyTests, []edit{
		{"key_kind.go", "semverRelease = \"\\x04\"", "semverRelease = \"\\x01\""},
	}},
	{"keys: a run of a pattern is looked for at the end", "internal/sortkey", keyTests, []edit{
		{"key_rank.go", "_, after, found := strings.Cut(text, run)", "at := strings.LastIndex(text, run)\n\t\tfound := at >= 0\n\t\tafter := text[max(at, 0):]"},
	}},
	{"keys: both kinds of message for one queue", "pkg/cursor", keyRequests, []edit{
		{"put.go", "\tcase way == p.kind:\n", "\tcase true:\n"},
	}},
	{"keys: checked when others are stored", "pkg/cursor", keyRequests, []edit{
		{"put.go", "\t\tif err := m.Validate(); err != nil {", "\t\tif err := m.Validate(); err != nil && m.KeyParts == nil {"},
	}},
}
