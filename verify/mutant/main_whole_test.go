//go:build whole

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	one := test{"./p", "TestOne"}
	for name, c := range map[string]struct {
		m    mutant
		want string
		ok   bool
	}{
		"caught":         {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return 2"}}}, "red    m", true},
		"panics":         {mutant{"m", "p", one, []edit{{"one.go", "return 1", "panic(1)"}}}, "TestOne", true},
		"two edits":      {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return 2"}, {"one.go", "return 2", "return 3"}}}, "red    m", true},
		"survives":       {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return 2 - 1"}}}, "survived TestOne", false},
		"no such test":   {mutant{"m", "p", test{"./p", "TestTwo"}, []edit{{"one.go", "return 1", "return 2"}}}, "survived TestTwo", false},
		"text is gone":   {mutant{"m", "p", one, []edit{{"one.go", "return 7", "return 2"}}}, "0 times", false},
		"text is twice":  {mutant{"m", "p", one, []edit{{"one.go", "n", "m"}}}, "times, want once", false},
		"does not build": {mutant{"m", "p", one, []edit{{"one.go", "return 1", "return"}}}, "does not compile", false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := tryAll(module(t), []mutant{c.m}, time.Now().Add(time.Hour), &out)
			if (err == nil) != c.ok || !strings.Contains(out.String(), c.want) {
				t.Errorf("error %v, said:\n%s\nwant %q", err, out.String(), c.want)
			}
		})
	}
}

// TestATestThatDoesNotEnd is red, and by its name: when it has used up its time of a
// CPU, on however busy a machine.
func TestATestThatDoesNotEnd(t *testing.T) {
	root := module(t)
	endless := "package p\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tfor one() == 1 {\n\t}\n}\n"
	if err := os.WriteFile(filepath.Join(root, "p", "one_test.go"), []byte(endless), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "test")
	build := exec.Command("go", "test", "-c", "-o", path, "./p")
	build.Dir = root
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	said, err := test{"./p", "TestOne"}.run(path, filepath.Join(root, "p"), time.Second)
	if by, err := redTest(string(said), err); by != "TestOne did not end" || err != nil {
		t.Errorf("by %q, %v, said:\n%s", by, err, said)
	}
}
