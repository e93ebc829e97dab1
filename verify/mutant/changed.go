package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// inChanged leaves the mutants whose verdict a change since the base can
// concern: a file was changed, added or deleted in a folder that the mutant's
// tests are built from, or here. What is not committed counts as well.
func inChanged(root, base string, all []mutant) ([]mutant, error) {
	base, err := theBase(root, base)
	if err != nil || base == "" {
		return all, err
	}
	folders, err := changedFolders(root, base)
	if err != nil {
		return nil, err
	}
	if folders["verify/mutant"] {
		return all, nil
	}
	concerned := map[test]bool{}
	for _, m := range all {
		if _, known := concerned[m.caught]; known {
			continue
		}
		built, err := builtFrom(root, m.caught.folder)
		if err != nil {
			return nil, err
		}
		concerned[m.caught] = slices.ContainsFunc(built, func(folder string) bool { return folders[folder] })
	}
	return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool { return !concerned[m.caught] && !folders[m.folder] }), nil
}

// theBase is the commit to compare with: the one that is asked for, else where
// this branch left origin/main, else the commit before. It is empty without
// one, as in a clone of one commit: then everything is new.
func theBase(root, asked string) (string, error) {
	if asked != "" {
		if _, err := output(root, "git", "rev-parse", "--verify", "--quiet", asked+"^{commit}"); err != nil {
			return "", fmt.Errorf("BASE=%s: no such commit: %w", asked, err)
		}
		return asked, nil
	}
	head, err := output(root, "git", "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	left, err := output(root, "git", "merge-base", "HEAD", "origin/main")
	if err != nil || left == head {
		if _, err := output(root, "git", "rev-parse", "--verify", "--quiet", "HEAD~1^{commit}"); err != nil {
			return "", nil
		}
		return "HEAD~1", nil
	}
	return strings.TrimSpace(left), nil
}

// changedFolders are the folders, from the root, of all files that differ from
// the base, a testdata's files counting as its package's.
func changedFolders(root, base string) (map[string]bool, error) {
	differing, err := output(root, "git", "diff", "--name-only", "--no-renames", "--relative", "-z", base, "--", ".")
	if err != nil {
		return nil, err
	}
	added, err := output(root, "git", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for file := range strings.SplitSeq(differing+added, "\x00") {
		if file != "" {
			folder, _, _ := strings.Cut(path.Dir(file)+"/", "/testdata/")
			folders[strings.TrimSuffix(folder, "/")] = true
		}
	}
	return folders, nil
}

// builtFrom are the folders, from the root, of this module's packages that the
// tests in a folder are built from, their own among them.
func builtFrom(root, folder string) ([]string, error) {
	listed, err := output(root, "go", "list", "-tags", "whole", "-deps", "-test", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", folder)
	if err != nil {
		return nil, err
	}
	var folders []string
	for line := range strings.Lines(listed) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		from, err := filepath.Rel(root, line)
		if err != nil {
			return nil, err
		}
		folders = append(folders, filepath.ToSlash(from))
	}
	return folders, nil
}

// output is what a command says, run in a folder. Its error has what the
// command said of it.
func output(folder, name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Dir = folder
	said, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, arguments[0], err)
	}
	return string(said), nil
}
