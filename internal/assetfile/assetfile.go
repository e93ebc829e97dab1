// Package assetfile is about files that lie beside a function's program and that
// hold its configuration. What only the deployment knows stands in the
// function's environment, and the file names the variable: ${NAME}. [Expand]
// puts the values in.
package assetfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Expand is a JSON text with the values of the variables that it names. name
// finds one in the text, ${ and } with it, and its first group is the variable's
// own name; lookup is as os.LookupEnv. The error joins the variables that are not
// set.
func Expand(text []byte, name *regexp.Regexp, lookup func(string) (string, bool)) ([]byte, error) {
	var errs []error
	text = name.ReplaceAllFunc(text, func(found []byte) []byte {
		name := string(name.FindSubmatch(found)[1])
		value, ok := lookup(name)
		if !ok {
			errs = append(errs, fmt.Errorf("%s, which the file names, is not set", name))
		}
		quoted, err := json.Marshal(value)
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		return quoted[1 : len(quoted)-1]
	})
	return text, errors.Join(errs...)
}
