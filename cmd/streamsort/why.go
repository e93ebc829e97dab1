package main

// whyCommand prints why a queue does not move.
type whyCommand struct {
	readFlags
	Queue    string `arg:"" help:"The queue's name."`
	Consumer string `arg:"" optional:"" help:"Only this consumer's."`
}

// Run implements the verb.
func (c *whyCommand) Run(s *session) error { return nil }
