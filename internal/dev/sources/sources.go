// Package sources has the go command know what the programs that a test builds are made of: call
// [Note] with them. [Zip] packs one.
//
// The go command takes a test's result from its cache unless the test's own code has changed, or a
// file that the test asked for; it does not see what another command reads. Without a note a test
// that builds a function passes from the cache after the function was changed.
package sources

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// format lists the files of each package of the main module.
const format = `{{if and .Module .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range .EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}`

// Note asks for each file that the packages are built from, as seen from a folder of their module.
// Where no test runs it does nothing.
func Note(ctx context.Context, folder string, packages ...string) error {
	if !testing.Testing() {
		return nil
	}
	files, err := List(ctx, folder, format, packages)
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return err
		}
	}
	return nil
}

// List has the go command list packages, and what they are built from, in a format; it returns the
// lines that are not empty.
func List(ctx context.Context, folder, format string, packages []string) ([]string, error) {
	command := exec.CommandContext(ctx, "go",
		append([]string{"list", "-e", "-deps", "-f", format}, packages...)...)
	command.Dir = folder
	var errs strings.Builder
	command.Stderr = &errs
	said, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", folder, err, &errs)
	}
	return strings.FieldsFunc(string(said), func(r rune) bool { return r == '\n' }), nil
}

// Zip packs a function's program into a zip of its own, as bootstrap.
func Zip(program, into string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := os.Create(into)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(file)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := archive.CreateHeader(header)
	if err == nil {
		_, err = entry.Write(text)
	}
	return errors.Join(err, archive.Close(), file.Close())
}
