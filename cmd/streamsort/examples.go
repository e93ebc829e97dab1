package main

import "strings"

// The examples of the verbs' help.

// examples are lines to type, as the help shows them.
func examples(lines ...string) string { return "Examples:\n\n    " + strings.Join(lines, "\n    ") }

// Help implements kong.HelpProvider.
func (*doctorCommand) Help() string {
	return "A group of errors is what the failures of one consumer have in common: its text is what --error of a bulk operation takes.\n\n" +
		examples("streamsort doctor", "streamsort --context prod doctor --every 30s", "streamsort -o jsonl doctor", "streamsort doctor orders --from 1000 --to 2000")
}

// Help implements kong.HelpProvider.
func (*whyCommand) Help() string {
	return examples("streamsort why orders", "streamsort why orders billing")
}

// Help implements kong.HelpProvider.
func (*queueCommand) Help() string {
	return examples("streamsort queue --prefix shop/", "streamsort queue --state gap", "streamsort -o jsonl queue --limit 0",
		"streamsort queue orders --every 2s", "streamsort queue orders --audit --consumer billing")
}

// Help implements kong.HelpProvider.
func (*consumerList) Help() string {
	return examples("streamsort consumer --state blocked --consumer billing", "streamsort consumer orders", "streamsort consumer orders billing --every 2s")
}

// Help implements kong.HelpProvider.
func (*consumerCreate) Help() string {
	return examples("streamsort consumer create orders billing", "streamsort consumer create orders audit --start latest")
}

// Help implements kong.HelpProvider.
func (*consumerSettle) Help() string {
	return examples("streamsort consumer settle orders billing TOKEN COMMITTED --reason 'the bank has the batch'",
		"streamsort consumer settle orders billing TOKEN RELEASED --reason 'the messages are given up'")
}

// Help implements kong.HelpProvider.
func (*consumerRemove) Help() string {
	return examples("streamsort consumer remove orders billing --reason 'no longer read'")
}

// Help implements kong.HelpProvider.
func (*inspectCommand) Help() string {
	return "When it was delivered is in the log of process, where its trace is sampled, or logQueue names its queue.\n\n" +
		examples("streamsort inspect orders@42", "streamsort -o json inspect orders@42")
}

// Help implements kong.HelpProvider.
func (*chainCommand) Help() string {
	return "Of a chain the API knows how many edges were started and ended, not which. Where its first edge, or that of --edge, was fanned " +
		"into more edges than one chain takes, the parts are chains that hang under it: they are asked for one by one, 64 at most.\n\n" +
		examples("streamsort chain --state failed", "streamsort chain nightly-import --every 2s", "streamsort -o json chain nightly-import --edge TOKEN")
}

// Help implements kong.HelpProvider.
func (*topCommand) Help() string {
	return examples("streamsort top --limit 10", "streamsort --context prod top --every 5s --prefix shop/")
}

// Help implements kong.HelpProvider.
func (*uiCommand) Help() string {
	return examples("streamsort ui", "streamsort --context prod ui --operate", "streamsort ui --listen 127.0.0.1:8080")
}

// Help implements kong.HelpProvider.
func (*cheatCommand) Help() string { return examples("streamsort cheat") }

// Help implements kong.HelpProvider.
func (*putCommand) Help() string {
	return examples("streamsort put messages.ndjson",
		`tail -f log | streamsort put --events '{"queue":"repo.name","seq":"number"}'`,
		"streamsort put --order arrival messages.ndjson")
}

// Help implements kong.HelpProvider.
func (*tailCommand) Help() string {
	return examples("streamsort tail orders", "streamsort tail -f orders --from 42", "streamsort tail -f orders --consumer billing")
}

// Help implements kong.HelpProvider.
func (*replayCommand) Help() string {
	return examples("streamsort replay orders orders.2026-03 --from 1000 --to 1999 --bucket orders-archive")
}

// Help implements kong.HelpProvider.
func (*configureCommand) Help() string {
	return examples("streamsort configure orders policy=skip gapAfter=2m", "streamsort configure meters/17 --restart-keys --reason 'the meter was reset'")
}

// Help implements kong.HelpProvider.
func (*skipCommand) Help() string {
	return examples("streamsort skip orders@17 billing --reason 'account was closed'",
		"streamsort skip --consumer billing --error 'no such account' --reason 'accounts were closed'")
}

// Help implements kong.HelpProvider.
func (*redriveCommand) Help() string {
	return examples("streamsort redrive orders billing --reason 'ledger is back'",
		"streamsort redrive --consumer billing --error 'time*out' --since 1h --reason 'ledger is back' --yes")
}

// Help implements kong.HelpProvider.
func (*rewindCommand) Help() string {
	return examples("streamsort rewind orders billing --start 1000 --reason 'replay for the audit'",
		"streamsort rewind --consumer billing --start first --reason 'replay for the audit'")
}

// Help implements kong.HelpProvider.
func (*pauseCommand) Help() string {
	return examples("streamsort pause orders billing --reason 'the ledger moves'",
		"streamsort pause --consumer billing --reason 'the ledger moves' --yes")
}

// Help implements kong.HelpProvider.
func (*resumeCommand) Help() string {
	return examples("streamsort resume orders billing --reason 'it moved'",
		"streamsort resume --state paused --reason 'it moved'")
}

// Help implements kong.HelpProvider.
func (*endpointList) Help() string {
	return examples("streamsort endpoint", "streamsort endpoint --consumer hooks --limit 0")
}

// Help implements kong.HelpProvider.
func (*endpointPut) Help() string {
	return examples("streamsort endpoint put orders hooks https://example.com/hooks", "streamsort endpoint put '*' hooks https://example.com/hooks",
		"streamsort endpoint put 'shop/*' hooks https://example.com/shop --rotate")
}

// Help implements kong.HelpProvider.
func (*endpointPause) Help() string {
	return examples("streamsort endpoint pause orders hooks --reason 'they asked'", "streamsort endpoint pause 'shop/*' hooks --reason 'they move'")
}

// Help implements kong.HelpProvider.
func (*endpointResume) Help() string {
	return examples("streamsort endpoint resume orders hooks")
}

// Help implements kong.HelpProvider.
func (*endpointRemove) Help() string {
	return examples("streamsort endpoint remove orders hooks")
}

// Help implements kong.HelpProvider.
func (*eraseCommand) Help() string {
	return examples("streamsort erase orders", "streamsort erase orders --reason 'asked for by its owner' --yes",
		"streamsort erase --tenant acme --reason 'they left' --yes")
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
	return examples("streamsort context use prod", "streamsort --context prod doctor")
}

// Help implements kong.HelpProvider.
func (*contextList) Help() string { return examples("streamsort context list") }

// Help implements kong.HelpProvider.
func (*contextRemove) Help() string { return examples("streamsort context remove prod") }
