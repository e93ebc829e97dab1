package main

import kongcompletion "github.com/jotaen/kong-completion"

// completionCommand prints what a shell needs to complete a line.
type completionCommand struct{ kongcompletion.Completion }

// Help implements kong.HelpProvider.
func (*completionCommand) Help() string {
	return "It says what to type, or, with --code, prints what the shell reads.\n\n" +
		examples("streamsort completion bash", "streamsort completion zsh --code", "streamsort completion fish --code")
}
