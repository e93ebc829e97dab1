package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// completionFlag prints what a shell reads to complete a line, and ends the program.
type completionFlag string

// completions are what the shells read: the program's path, and its name, are filled in.
var completions = map[string]string{
	"bash": "complete -o default -o bashdefault -C %[1]s %[2]s\n",
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\ncomplete -o default -o bashdefault -C %[1]s %[2]s\n",
	"fish": `function __complete_%[2]s
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    %[1]s
end
complete -f -c %[2]s -a "(__complete_%[2]s)"
`,
}

// BeforeReset implements the hook of the parser that comes before a verb is required.
func (completionFlag) BeforeReset(app *kong.Kong, line *kong.Context, at *kong.Path) error {
	shell := fmt.Sprint(line.FlagValue(at.Flag))
	code, ok := completions[shell]
	switch {
	case shell == "":
		return nil // not given
	case !ok:
		return usageError(fmt.Sprintf("--completion must be one of bash, zsh and fish: it is %q", shell))
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(app.Stdout, code, program, app.Model.Name); err != nil {
		return err
	}
	app.Exit(exitDone)
	return nil
}
