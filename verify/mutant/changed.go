package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// inChanged leaves the mutants in whose folder, or that of their tests, something was changed,
// added or deleted since the base; all where it was here. What is not committed counts as well.
//
// The base that is not asked for is where this branch left origin/main, else the commit before. In
// a clone of one commit everything is new.
func inChanged(root, asked string, all []mutant) ([]mutant, error) {
	base := asked
	if base == "" {
		base = "HEAD~1"
		if left, err := output(root, "git", "merge-base", base, "origin/main"); err == nil {
			base = strings.TrimSpace(left)
		}
	}
	folders, err := changedFolders(root, base)
	switch {
	case err != nil && asked != "":
		return nil, fmt.Errorf("BASE=%s: %w", asked, err)
	case err != nil || folders["verify/mutant"]:
		return all, nil
	}
	return slices.DeleteFunc(all, func(m mutant) bool {
		return !folders[m.folder()] && !folders[m.caught.folder]
	}), nil
}

// changedFolders are the folders, from the root, of all files that differ from the base, a
// testdata's files counting as its package's.
func changedFolders(root, base string) (map[string]bool, error) {
	differing, err := output(root, "git", "diff", "--name-only", "--no-renames", "--relative", "-z",
		base, "--", ".")
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

// output is what a command says, run in a folder. Its error has what the command said of it.
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
