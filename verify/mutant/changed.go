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
func inChanged(root, base string, all []mutant) ([]mutant, error) {
	base, err := theBase(root, base)
	if err != nil || base == "" {
		return all, err
	}
	folders, err := changedFolders(root, base)
	if err != nil || folders["verify/mutant"] {
		return all, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(m mutant) bool {
		return !folders[m.folder] && !folders[strings.TrimPrefix(m.caught.folder, "./")]
	}), nil
}

// theBase is the commit to compare with: the one that is asked for, else where this branch left
// origin/main, else the commit before. It is empty without one, as in a clone of one commit: then
// everything is new.
func theBase(root, asked string) (string, error) {
	if asked != "" {
		if _, err := output(root, "git", "rev-parse", "--verify", "--quiet",
			asked+"^{commit}"); err != nil {
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
		if _, err := output(root, "git", "rev-parse", "--verify", "--quiet",
			"HEAD~1^{commit}"); err != nil {
			return "", nil
		}
		return "HEAD~1", nil
	}
	return strings.TrimSpace(left), nil
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
