package main

// The tests that hold what is the sink's apart from what is a message's.
var (
	awayStore    = test{"./internal/record", "TestStoreAway/memory"}
	awayDelivery = test{"./pkg/handoff", "TestASinkThatIsAway"}
	awayWire     = test{"./internal/sink", "TestAway"}
)

// outageMutants are bugs by which a sink that is away is taken for messages that are bad.
var outageMutants = []mutant{
	{"a sink that is away counts", recordFolder, awayStore, []edit{
		{"store_claims.go", "attrAttempts.Plus(-1), attrAway.Set(", "attrAway.Set("},
	}},
	{"a sink that is away makes claims smaller", recordFolder, awayStore, []edit{
		{"store_claims.go", "attrAttempts.Plus(-1), attrAway.Set(", "attrIsolateTo.Set(attrTo.Ref()), attrAttempts.Plus(-1), attrAway.Set("},
	}},
	{"a sink that is away is asked each second", deliveryFolder, awayDelivery, []edit{
		{"deliver.go", "failure.Away = c.Away + 1", "failure.Away = 1"},
	}},
	{"an error that is the sink's is the message's", "functions/process", test{"./functions/process", "TestHanding"}, []edit{
		{"readers.go", "if kind.IsAway(err) {", "if false {"},
	}},
	{"throttling is known by its status alone", "internal/sink/kind", awayWire, []edit{
		{"away.go", "answer.Status >= http.StatusInternalServerError || isThrottle(answer.Code)", "answer.Status >= http.StatusInternalServerError"},
	}},
	{"a fault of a service is the message's", "internal/sink/kind", awayWire, []edit{
		{"away.go", "answer.Status == http.StatusTooManyRequests || answer.Status >= http.StatusInternalServerError || ", "answer.Status == http.StatusTooManyRequests || "},
	}},
	{"an entry that is refused by a fault is a bad message", "internal/sink/fifo", awayWire, []edit{
		{"answer.go", ", Away: !f.SenderFault}", "}"},
	}},
	{"an entry that is refused for good is a fault", "internal/sink/fifo", awayWire, []edit{
		{"answer.go", ", Away: !f.SenderFault}", ", Away: true}"},
	}},
}
