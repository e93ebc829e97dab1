package template

import (
	"regexp"
	"strings"
)

// interpreted are the runtimes that come with an interpreter, any version of them.
var interpreted = regexp.MustCompile(`^(python3\.[0-9]+|nodejs[0-9]+\.x)$`)

// Interpreted reports whether the function is no program of its own: Source is the folder of its
// code then, and Handler names the file, and the function in it.
func (f Function) Interpreted() bool { return interpreted.MatchString(f.Runtime) }

func runtimeOf(p *props, handler string) string {
	runtime := p.text("Runtime", "")
	switch {
	case runtime == "provided.al2023", runtime == "provided.al2":
	case !interpreted.MatchString(runtime):
		p.bad("Runtime", "must be provided.al2023, provided.al2, python3.N or nodejsN.x, not %q", runtime)
	case !strings.Contains(handler, "."):
		p.bad("Handler", "must be FILE.FUNCTION, not %q", handler)
	}
	return runtime
}
