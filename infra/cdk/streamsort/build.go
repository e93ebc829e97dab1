package streamsort

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// functionNames are the programs of the functions, as folders of functions/.
func functionNames() []string {
	return []string{"enqueue", "sort", "sweep", "process", "handoff", "ack", "webhook"}
}

// Build compiles the functions for Lambda into a folder, for Props.Binaries, and
// more packages of the caller's own beside them: each as bootstrap in a folder
// named after the package's. It runs the go command in the current folder, whose
// go.mod must name this module's functions as tools:
//
//	go get -tool github.com/streamsort/streamsort/functions/{enqueue,sort,sweep,process,handoff,ack,webhook}
//
// What was built before is not built again. The error has what the go command
// said.
func Build(folder string, architecture Architecture, more ...string) error {
	packages := more
	for _, name := range functionNames() {
		packages = append(packages, "github.com/streamsort/streamsort/functions/"+name)
	}
	var errs []error
	for _, source := range packages {
		out := filepath.Join(folder, path.Base(filepath.ToSlash(source)), "bootstrap")
		command := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", out, source)
		command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+string(architecture), "GOARM64=v8.1", "CGO_ENABLED=0")
		if said, err := command.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("go build %s: %w\n%s", source, err, said))
		}
	}
	return errors.Join(errs...)
}
