package localstack

import (
	_ "embed" // for the bootstraps
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

var (
	//go:embed interpret/bootstrap.py
	python string
	//go:embed interpret/bootstrap.mjs
	node string
)

// handlerNotFound is the errorType of a handler that is not there.
const handlerNotFound = "Runtime.HandlerNotFound"

// interpreter is the program, and its arguments, that runs a handler of a runtime in the folder of
// its code.
func interpreter(runtime, handler string) (program string, arguments []string, err error) {
	name, needs, arguments := "node", "Node 20 or newer",
		[]string{"--input-type=module", "--eval", node, handler}
	if strings.HasPrefix(runtime, "python") {
		// -B: nothing is written beside the code. -u: lines are shown when they are printed.
		name, needs, arguments = "python3", "Python 3.10 or newer",
			[]string{"-B", "-u", "-c", python, handler}
	}
	if program, err = exec.LookPath(name); err != nil {
		err = fmt.Errorf("%s is not on the PATH, and a function in its language needs it: install %s",
			name, needs)
	}
	return program, arguments, err
}

// interpreted says how a function that is no program of its own runs, in Python or Node: the
// interpreter on the PATH, whichever version a template names, in the folder of its code, behind a
// small program made of what AWS documents of the Runtime API. The runtimes that AWS publishes have
// to be fetched, and compiled on some machines.
func interpreted(templatePath string, f template.Function) (lambda.Program, error) {
	folder, err := codeFolder(templatePath, f)
	if err != nil {
		return lambda.Program{}, fmt.Errorf("%s: Resources.%s: %w", templatePath, f.LogicalID, err)
	}
	program, arguments, err := interpreter(f.Runtime, f.Handler)
	if err != nil {
		return lambda.Program{}, fmt.Errorf("%s: Resources.%s.Properties.Runtime: %w", templatePath,
			f.LogicalID, err)
	}
	return lambda.Program{Bootstrap: program, Arguments: arguments, Root: folder}, nil
}

// codeFolder is the folder that a function's Metadata names, the nearest one above the template;
// else its asset. It is read, so that the go command sees when a test's function has changed.
func codeFolder(templatePath string, f template.Function) (string, error) {
	if f.Source == "" {
		return asset(templatePath, f)
	}
	source := filepath.FromSlash(f.Source)
	if filepath.IsAbs(source) {
		_, err := os.ReadDir(source)
		return source, err
	}
	for dir := range upwards(filepath.Dir(templatePath)) {
		folder := filepath.Join(dir, source)
		if _, err := os.ReadDir(folder); err == nil {
			return folder, nil
		}
	}
	return asset(templatePath, f)
}
