package localstack

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/localstack/interpret"
	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// interpreted says how a function that is no program of its own runs: the interpreter of its
// language, in the folder of its code.
func interpreted(templatePath string, f template.Function) (lambda.Program, error) {
	folder, err := codeFolder(templatePath, f)
	if err != nil {
		return lambda.Program{}, fmt.Errorf("%s: Resources.%s: %w", templatePath, f.LogicalID, err)
	}
	program, arguments, err := interpret.Command(f.Runtime, f.Handler)
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
