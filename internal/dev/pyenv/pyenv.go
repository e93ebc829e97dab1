// Package pyenv installs tools that are written in Python, each pinned with all that it needs, into
// an environment of its own: .build/ of the project, or the user's cache folder where there is no
// project.
//
// Call [Python] with the tool's list of packages. It needs Python 3.10 or newer. A crash leaves
// nothing behind that a later call would take for whole.
package pyenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/cache"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// Python is the path of the Python of the environment with a tool: requirements is what pip is to
// install, pinned, and nothing else. Where the environment is missing it is made, which takes some
// seconds and the network.
func Python(ctx context.Context, tool string, requirements []byte) (string, error) {
	parent, err := cache.Folder("python")
	if root, rootErr := localdb.Root(); rootErr == nil {
		parent, err = filepath.Join(root, ".build"), nil
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(requirements)
	folder := filepath.Join(parent, tool+"-"+hex.EncodeToString(sum[:6]))
	python := filepath.Join(folder, "bin", "python")
	return python, cache.Make(folder, python, func(half string) error {
		if err := install(ctx, half, requirements); err != nil {
			return fmt.Errorf("install %s: %w", tool, err)
		}
		return nil
	})
}

// tooOld makes Python fail where it is older than what the tools need.
const tooOld = "import sys; sys.exit(sys.version_info < (3, 10))"

func install(ctx context.Context, folder string, requirements []byte) error {
	if err := exec.CommandContext(ctx, "python3", "-c", tooOld).Run(); err != nil {
		return fmt.Errorf("it needs python3, 3.10 or newer: %w", err)
	}
	list := filepath.Join(folder, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", folder},
		{filepath.Join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", list},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", filepath.Base(command[0]), err, out)
		}
	}
	return nil
}
