package main

// Events that an event source brings, and what looks like an order or a request in them.
var (
	storedEvents = test{"./functions/enqueue", "TestEventsAreNoOrders|TestPutAlias"}
	eventMutants = []mutant{
		{"events: a document of raw events orders", "functions/enqueue", storedEvents, []edit{
			{"handler.go", `return c.Direct && c.Operation == "" && c.events != nil`, `return c.Direct && c.Alias != "" && c.events != nil`},
		}},
		{"events: the alias put takes requests", "internal/httpapi", storedEvents, []edit{
			{"api.go", "if alias := aliasOf(ctx); a.Aliases[alias] != nil {", "if alias := aliasOf(ctx); a.Aliases[alias] != nil && !json.Valid(raw) {"},
		}},
		{"events: the client context orders by the alias put", "internal/httpapi", storedEvents, []edit{
			{"api.go", "c.Request = Request{Direct: true, Alias: alias, Body: raw}", "c.Request = Request{Direct: true, Alias: alias, Body: raw, Operation: operationOf(ctx)}\n\t\tif c.Operation != \"\" {\n\t\t\tdo, err := a.route(ctx, c)\n\t\t\tif err != nil {\n\t\t\t\treturn 0, nil, err\n\t\t\t}\n\t\t\treturn do(ctx, c)\n\t\t}"},
		}},
		{"events: a list that is stored in part does not come again", "functions/enqueue", test{"./functions/enqueue", "TestEventsComeAgain"}, []edit{
			{"put.go", `if c.Alias != "" {`, `if c.Alias != "" && p.Single {`},
		}},
	}
)
