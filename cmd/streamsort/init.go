package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

type initCommand struct {
	Language string `arg:"" optional:"" enum:"python,node,go" default:"python" help:"What the consumer is written in: ${enum}."`
	Dir      string `arg:"" optional:"" default:"." help:"The folder to write to, which is made where it is not there."`
}

// projects are the files of all languages, and in the folder of each its own. One that the go
// command would take for its own ends in .txt.
//
//go:embed projects
var projects embed.FS

type project struct{ run, test, build, runtime, handler, code string }

const buildGo = "CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build -tags lambda.norpc -o dist/bootstrap . && "

var languages = map[string]project{
	"python": {"orders=consumer.py", "python3 -m unittest", "", "python3.13", "consumer.handler", "."},
	"node":   {"orders=consumer.mjs", "node --test", "", "nodejs22.x", "consumer.handler", "."},
	"go":     {"orders=.", "go test", buildGo, "provided.al2023", "bootstrap", "dist"},
}

// beforeRelease is what `streamsort local` needs as long as nothing is released.
const beforeRelease = "Before a release, `streamsort local` runs inside Streamsort's clone, or with --zips."

func (c *initCommand) Run(s *session) error {
	p := languages[c.Language]
	run := "streamsort local --watch --consumer " + p.run
	filled := strings.NewReplacer("RUN\n", run+"\n", "TEST\n", p.test+"\n\n"+beforeRelease+"\n",
		"PACKAGE", p.build+"aws cloudformation package --template-file template.json",
		"RUNTIME", p.runtime, "HANDLER", p.handler, "CODE", p.code)
	files := map[string][]byte{}
	for _, folder := range []string{"projects", "projects/" + c.Language} {
		names, _ := fs.Glob(projects, folder+"/*.*") // fails only where the pattern is wrong
		for _, name := range names {
			text, err := projects.ReadFile(name)
			if err != nil {
				return err
			}
			if folder == "projects" {
				text = []byte(filled.Replace(string(text)))
			}
			files[filepath.Join(c.Dir, strings.TrimSuffix(path.Base(name), ".txt"))] = text
		}
	}
	for name := range files {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("%s is there already, and init overwrites nothing: name another folder, as in streamsort init %s orders", name, c.Language), err)
		}
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := writeNew(name, text); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%s has a consumer, its test, two messages and the template of a deployment.\n%s Next:\n\n", c.Dir, beforeRelease)
	if c.Dir != "." {
		fmt.Fprintf(s.out, "    cd %s\n", c.Dir)
	}
	_, err := fmt.Fprintf(s.out,
		"    %s\n    streamsort put messages.ndjson    # in another terminal\n    %s\n", run, p.test)
	return err
}

func writeNew(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}
