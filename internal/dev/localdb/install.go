package localdb

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"

	"github.com/streamsort/streamsort/internal/dev/cache"
)

// servers are what npm installs of each kind.
//
//go:embed servers/*/package.json servers/*/package-lock.json
var servers embed.FS

// What Install says of each kind.
var described = map[Kind]string{
	Dynoxide:      "dynoxide, a server for DynamoDB's API that starts in milliseconds (npm, 8 MB)",
	DynamoDBLocal: "DynamoDB Local, AWS's own server for DynamoDB's API (npm, 60 MB; AWS's licence)",
}

// Described says what a server is that is started.
func Described(kind Kind) string {
	switch {
	case kind == Given:
		return "the server at " + endpointVariable
	case kind == DynamoDBLocal && runtime.GOOS+runtime.GOARCH != "linuxamd64":
		return "DynamoDB Local, since dynoxide, which is quicker, runs on Linux x64 only: it needs Java 17 and 4 to 9 seconds to start"
	case kind == DynamoDBLocal:
		return "DynamoDB Local: it needs Java 17 and 4 to 9 seconds to start"
	}
	return string(kind)
}

// place is the folder whose node_modules hold a server: below this package's, where `make deps`
// installed it, else in the user's cache, named by what is installed there.
func place(kind Kind) (string, error) {
	if root, err := Root(); err == nil {
		ours := filepath.Join(root, "internal", "dev", "localdb", "servers", string(kind))
		if _, err := os.Stat(filepath.Join(ours, "node_modules")); err == nil {
			return ours, nil
		}
	}
	lock, err := servers.ReadFile(path.Join("servers", string(kind), "package-lock.json"))
	if err != nil {
		return "", fmt.Errorf("server must be a URL, %s, %s or %s: it is %q", Given, Dynoxide,
			DynamoDBLocal, kind)
	}
	sum := sha256.Sum256(lock)
	return cache.Folder(filepath.Join("servers", fmt.Sprintf("%s-%x", kind, sum[:6])))
}

// Install fetches a server by npm where it is missing, and tells what it fetches.
func Install(ctx context.Context, kind Kind, tell func(what string)) error {
	if kind == Given {
		return nil
	}
	folder, err := place(kind)
	if err != nil {
		return err
	}
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	tell("fetching, once, " + described[kind] + " into " + folder)
	return cache.Make(folder, folder, func(half string) error { return fetch(ctx, kind, half) })
}

// fetch has npm install a kind's server in a folder.
func fetch(ctx context.Context, kind Kind, folder string) error {
	lists, err := fs.Sub(servers, path.Join("servers", string(kind)))
	if err == nil {
		err = os.CopyFS(folder, lists)
	}
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "npm", "ci", "--no-progress", "--loglevel=error")
	command.Dir = folder
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch %s: npm, which Node.js brings: %w\n%s", kind, err, said)
	}
	return nil
}
