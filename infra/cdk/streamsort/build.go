package streamsort

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// functionNames are the programs of the functions, as folders of functions/.
var functionNames = []string{"enqueue", "sort", "sweep", "process", "delivery", "ack", "webhook",
	"source"}

const functionsPath = "github.com/streamsort/streamsort/functions/"

// sourceKey is the Metadata by which the local stack finds what a function is built from.
const sourceKey = "streamsort:source"

// BuiltFrom says to the local stack (`streamsort local`) which main package a function of the
// caller's own is built from: its folder, relative to the root of the Go module in which cdk.out
// lies, or its import path; for Python and Node the folder of the code. The stack then builds it
// for the machine it runs on, and anew when it changes. Without it, the stack takes what is
// deployed.
func BuiltFrom(function awslambda.Function, source string) {
	function.Node().DefaultChild().(awslambda.CfnFunction).AddMetadata(jsii.String(sourceKey), source)
}

// Build compiles the functions for Lambda into a folder, for Props.Binaries, and more packages of
// the caller's own beside them: each as bootstrap in a folder named after the package's. It runs
// the go command in the current folder, whose go.mod must name this module's functions as tools:
//
//	go get -tool github.com/streamsort/streamsort/functions/{enqueue,sort,sweep,process,delivery,ack,webhook,source}
//
// What was built before is not built again. The error has what the go command said.
func Build(folder string, architecture Architecture, more ...string) error {
	packages := more
	for _, name := range functionNames {
		packages = append(packages, functionsPath+name)
	}
	var errs []error
	for _, source := range packages {
		out := filepath.Join(folder, path.Base(filepath.ToSlash(source)), "bootstrap")
		command := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-tags",
			"lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", out, source)
		command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+string(architecture), "GOARM64=v8.1",
			"CGO_ENABLED=0")
		if said, err := command.CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("go build %s: %w\n%s", source, err, said))
		}
	}
	return errors.Join(errs...)
}
