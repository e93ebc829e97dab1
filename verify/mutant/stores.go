package main

// stores are those of all packages.
var stores = []store{
	{sorterFolder, []test{arrivalTables}, map[string]string{
		"raise low if low < ? (bound)": "it stores the key that stands there",
		"mark erased does inRow":       "nothing reads it of a stub",
		"mark erased does clockAhead":  "nothing reads it of a stub",
	}},
	{dedupFolder, []test{by(dedupFolder, "(TestTableConforms|TestNewerLayout)/memory")},
		map[string]string{
			"swap does v": "a row that may be changed has this layout",
		}},
	{deliveryFolder, []test{by(deliveryFolder, "TestStore.*/memory")}, map[string]string{
		"ask if asked < ? (bound)":                               "it stores the number that stands there",
		"commit and claim does state":                            "a claim that is committed by a push is Started, as the next one: the two requests share their changes",
		"commit prepared and claim does deferred":                "nothing is deferred that was prepared: the two requests share their changes",
		"abort prepared does deferred":                           "nothing is deferred that was prepared: failures share their changes",
		"settle quarantined if outcomes.*.n < ? (bound)":         "no claim has an outcome while it is in quarantine",
		"keep start if keptFrom > ? (bound)":                     "it stores the number that stands there",
		"audit if operation < ? (bound)":                         "no operation has a name without characters",
		"note refused announced if refusedAnnounced < ? (bound)": "it stores the number that stands there",
	}},
	{ackerFolder, []test{ackerStore}, nil},
	{stampsFolder, []test{stampsStore, ackerStore}, nil},
}
