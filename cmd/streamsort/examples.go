package main

import "strings"

// The examples of the verbs' help.

// examples are lines to type, as the help shows them.
func examples(lines ...string) string { return "Examples:\n\n    " + strings.Join(lines, "\n    ") }

// Help implements kong.HelpProvider.
func (*putCommand) Help() string {
	return examples("streamsort put messages.ndjson",
		`tail -f log | streamsort put --events '{"queue":"repo.name","seq":"number"}'`,
		"streamsort put --order arrival messages.ndjson")
}

// Help implements kong.HelpProvider.
func (*tailCommand) Help() string {
	return examples("streamsort tail orders", "streamsort tail -f orders --from 42", "streamsort tail -f orders --consumer billing", "streamsort tail --batches --count 3")
}

// Help implements kong.HelpProvider.
func (*statusCommand) Help() string {
	return examples("streamsort status orders", "streamsort status orders --watch 2s")
}

// Help implements kong.HelpProvider.
func (*queueCommand) Help() string {
	return examples("streamsort queue orders", "streamsort queue orders --watch 2s")
}

// Help implements kong.HelpProvider.
func (*inspectCommand) Help() string {
	return examples("streamsort inspect orders@42", "streamsort -o json inspect orders@42")
}

// Help implements kong.HelpProvider.
func (*traceCommand) Help() string {
	return examples("streamsort trace orders@42", "streamsort -o json trace orders@42")
}

// Help implements kong.HelpProvider.
func (*doctorCommand) Help() string {
	return examples("streamsort doctor", "streamsort --context prod doctor", "streamsort -o jsonl doctor")
}

// Help implements kong.HelpProvider.
func (*uiCommand) Help() string {
	return examples("streamsort ui", "streamsort --context prod ui --operate", "streamsort ui --listen 127.0.0.1:8080")
}

// Help implements kong.HelpProvider.
func (*verifyCommand) Help() string {
	return examples("streamsort verify orders", "streamsort verify orders --from 1000 --to 2000", "streamsort -o json verify orders")
}

// Help implements kong.HelpProvider.
func (*queuesCommand) Help() string {
	return "A list of all comes page by page, in no order that a reader could use, and is printed as it comes. With --sort it is read first: " +
		"the order is that of the queues that were read, 10,000 at most. By lag, the consumers of all of them are read as well.\n\n" +
		examples("streamsort queues --prefix shop/", "streamsort queues --state gap", "streamsort queues --sort lag --prefix shop/", "streamsort -o jsonl queues --limit 0")
}

// Help implements kong.HelpProvider.
func (*graphCommand) Help() string {
	return "On a terminal the picture is drawn anew with each look; elsewhere it is printed once, at the end. With -o jsonl each look is a document. " +
		"It shows as many of the latest looks as there are columns.\n\n" +
		examples("streamsort graph orders", "streamsort graph orders --every 5s --for 0", "streamsort -o jsonl graph orders --for 10m")
}

// Help implements kong.HelpProvider.
func (*gapsCommand) Help() string { return examples("streamsort gaps orders --limit 10") }

// Help implements kong.HelpProvider.
func (*summaryCommand) Help() string {
	return examples("streamsort summary --watch 5s", "streamsort -o json summary --prefix shop/")
}

// Help implements kong.HelpProvider.
func (*topCommand) Help() string {
	return "The consumers come by their lag; s sorts by how fast it changes, by name, and by lag again. q, or Ctrl-C, ends it.\n\n" +
		examples("streamsort top", "streamsort top --every 5s --prefix shop/", "streamsort --context prod top --limit 0")
}

// Help implements kong.HelpProvider.
func (*consumersCommand) Help() string {
	return examples("streamsort consumers orders", "streamsort consumers orders billing --watch 2s",
		"streamsort consumers --state blocked --consumer billing")
}

// Help implements kong.HelpProvider.
func (*chainsCommand) Help() string { return examples("streamsort chains --state failed") }

// Help implements kong.HelpProvider.
func (*chainCommand) Help() string {
	return "Of a chain the API knows how many edges were started and ended, not which. Where its first edge, or that of --edge, was fanned " +
		"into more edges than one chain takes, the parts are chains that hang under it: they are asked for one by one, 64 at most.\n\n" +
		examples("streamsort chain nightly-import", "streamsort chain nightly-import --watch 2s", "streamsort -o json chain nightly-import --edge TOKEN")
}

// Help implements kong.HelpProvider.
func (*auditCommand) Help() string {
	return examples("streamsort audit orders", "streamsort --time relative audit orders billing")
}

// Help implements kong.HelpProvider.
func (*configureCommand) Help() string {
	return examples("streamsort configure orders policy=skip gapAfter=2m")
}

// Help implements kong.HelpProvider.
func (*createCommand) Help() string {
	return examples("streamsort create orders billing", "streamsort create orders audit --start latest")
}

// Help implements kong.HelpProvider.
func (*skipCommand) Help() string {
	return examples("streamsort skip orders billing 17 --reason 'account was closed'")
}

// Help implements kong.HelpProvider.
func (*redriveCommand) Help() string {
	return examples("streamsort redrive orders billing 17 --reason 'ledger is back'",
		"streamsort redrive --all --consumer billing --error 'time*out' --since 1h --reason 'ledger is back'")
}

// Help implements kong.HelpProvider.
func (*rewindCommand) Help() string {
	return examples("streamsort rewind orders billing 1000 --reason 'replay for the audit'",
		"streamsort rewind --all --consumer billing --to first --reason 'replay for the audit'")
}

// Help implements kong.HelpProvider.
func (*pauseCommand) Help() string {
	return examples("streamsort pause orders billing --reason 'the ledger moves'",
		"streamsort pause --all --consumer billing --reason 'the ledger moves' --yes")
}

// Help implements kong.HelpProvider.
func (*resumeCommand) Help() string {
	return examples("streamsort resume orders billing --reason 'it moved'",
		"streamsort resume --all --state paused --reason 'it moved'")
}

// Help implements kong.HelpProvider.
func (*removeCommand) Help() string {
	return examples("streamsort remove orders billing --reason 'no longer read'")
}

// Help implements kong.HelpProvider.
func (*settleCommand) Help() string {
	return examples("streamsort settle orders billing TOKEN COMMITTED --reason 'the bank has the batch'")
}

// Help implements kong.HelpProvider.
func (*releaseCommand) Help() string {
	return examples("streamsort release orders billing TOKEN --reason 'the messages are given up'")
}

// Help implements kong.HelpProvider.
func (*restartKeysCommand) Help() string {
	return examples("streamsort restart-keys meters/17 --reason 'the meter was reset'")
}

// Help implements kong.HelpProvider.
func (*eraseCommand) Help() string {
	return examples("streamsort erase orders --dry-run", "streamsort erase orders --reason 'asked for by its owner'",
		"streamsort erase --tenant acme --reason 'they left'")
}

// Help implements kong.HelpProvider.
func (*replayCommand) Help() string {
	return examples("streamsort replay orders 1000 1999 orders.2026-03 --bucket orders-archive")
}

// Help implements kong.HelpProvider.
func (*localCommand) Help() string {
	return examples("streamsort local", "streamsort local --port 3001 --data ./tables", "streamsort local --watch --kill 0.01")
}

// Help implements kong.HelpProvider.
func (*contextAdd) Help() string {
	return examples("streamsort context add prod --stack Streamsort --region eu-west-1",
		"streamsort context add test --url https://queues.example.com --sign --region eu-west-1")
}

// Help implements kong.HelpProvider.
func (*contextUse) Help() string {
	return examples("streamsort context use prod", "streamsort --context prod summary")
}

// Help implements kong.HelpProvider.
func (*contextList) Help() string { return examples("streamsort context list") }

// Help implements kong.HelpProvider.
func (*contextRemove) Help() string { return examples("streamsort context remove prod") }

// Help implements kong.HelpProvider.
func (*endpointsCommand) Help() string {
	return examples("streamsort endpoints", "streamsort endpoints --consumer hooks --limit 0", "streamsort -o jsonl endpoints")
}

// Help implements kong.HelpProvider.
func (*endpointPut) Help() string {
	return examples("streamsort endpoint put hooks orders https://example.com/hooks", "streamsort endpoint put hooks '' https://example.com/hooks --prefix",
		"streamsort endpoint put hooks shop/ https://example.com/shop --prefix --rotate")
}

// Help implements kong.HelpProvider.
func (*endpointPause) Help() string {
	return examples("streamsort endpoint pause hooks orders --reason 'they asked'", "streamsort endpoint pause hooks shop/ --prefix --reason 'they move'")
}

// Help implements kong.HelpProvider.
func (*endpointResume) Help() string {
	return examples("streamsort endpoint resume hooks orders", "streamsort endpoint resume hooks shop/ --prefix")
}

// Help implements kong.HelpProvider.
func (*endpointRemove) Help() string {
	return examples("streamsort endpoint remove hooks orders", "streamsort endpoint remove hooks shop/ --prefix")
}
