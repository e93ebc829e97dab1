package streamsort

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
)

// hidden are the ARNs of a file that are known after the deployment only: the variables that hold
// them, and what each looks like.
type hidden struct{ variables, looks map[string]string }

func newHidden() hidden { return hidden{map[string]string{}, map[string]string{}} }

// hide is an ARN as the file has it: a reference to its variable, where it is not known yet.
func (h hidden) hide(arn *string, variable, example string) *string {
	if arn == nil || !*awscdk.Token_IsUnresolved(*arn) {
		return arn
	}
	h.variables[variable], h.looks[variable] = *arn, example
	return new("${" + variable + "}")
}

// look is what a variable looks like, for those that read the file before the deployment. That of
// the zero hidden is for the user's own files, which have no variables.
func (h hidden) look(variable string) (string, bool) {
	example, is := h.looks[variable]
	return example, is
}

// readFile reads a file of lists that a prop names. The error is put behind the prop's name.
func readFile(path string, into any, strictly func(text []byte) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// Read strictly first: what is unknown there must not be lost here.
	if err = strictly(text); err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("is %s: %w", path, err)
	}
	return nil
}
