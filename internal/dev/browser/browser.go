// Package browser starts Chromium without a window, for tests of the live page and for its
// pictures. [Start] starts one; chromedp's contexts below the one that it returns are its tabs.
//
// `make deps ALL=1` installs it, for Linux x64: npm's @sparticuz/chromium, which brings the
// libraries that it needs, compressed. It is unpacked once, into the user's cache folder. A browser
// ends with its process, and leaves nothing behind but that.
package browser

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/streamsort/streamsort/internal/dev/cache"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// Start starts a browser, whose tabs are chromedp's contexts below the one that is returned. The
// function that is returned ends it.
func Start(ctx context.Context) (context.Context, context.CancelFunc, error) {
	unpacked, err := unpack(ctx)
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(filepath.Join(unpacked, "chromium")),
		// It runs as the user who tests, also as root, and shows nothing but our own page.
		chromedp.WSURLReadTimeout(10*time.Minute), chromedp.NoSandbox, chromedp.Flag("no-zygote", true),
		chromedp.DisableGPU,
		chromedp.Env("LD_LIBRARY_PATH="+filepath.Join(unpacked, "al2023", "lib"),
			"FONTCONFIG_PATH="+filepath.Join(unpacked, "fonts")),
	)
	allocator, stop := chromedp.NewExecAllocator(ctx, options...)
	first, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(first); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start the browser: %w", err)
	}
	return first, func() { cancel(); stop() }, nil
}

// script unpacks into the folder of TMPDIR. The package takes the libraries out as well where it
// believes to be in a function.
const script = `import("@sparticuz/chromium").then(m => m.default.executablePath())`

func unpack(ctx context.Context) (string, error) {
	root, err := localdb.Root()
	if err != nil {
		return "", err
	}
	installed := filepath.Join(root, "internal", "dev", "browser")
	lock, err := os.ReadFile(filepath.Join(installed, "package-lock.json"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(installed, "node_modules", "@sparticuz")); errors.Is(err,
		fs.ErrNotExist) {
		return "",
			errors.New("the browser is not installed: run `make deps ALL=1` in the project's folder")
	}
	sum := sha256.Sum256(lock)
	folder, err := cache.Folder(filepath.Join("browsers", fmt.Sprintf("chromium-%x", sum[:6])))
	if err != nil {
		return "", err
	}
	return folder, cache.Make(folder, folder, func(half string) error {
		node := exec.CommandContext(ctx, "node", "-e", script)
		node.Dir = installed
		node.Env = append(os.Environ(), "TMPDIR="+half, "AWS_EXECUTION_ENV=AWS_Lambda_nodejs22.x")
		if said, err := node.CombinedOutput(); err != nil {
			return fmt.Errorf("unpack the browser: %w\n%s", err, said)
		}
		return os.WriteFile(filepath.Join(half, "fonts", "fonts.conf"),
			fmt.Appendf(nil, fontsConf, folder), 0o600)
	})
}

// fontsConf has the fonts found that come with the browser: the configuration that comes with them
// looks for them where a function has them. A browser without fonts draws no text.
const fontsConf = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>%[1]s/fonts/fonts</dir><cachedir>%[1]s/fonts-cache</cachedir></fontconfig>
`
