package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var operation = regexp.MustCompile(`(?m)^(?:  (/\S+)|    (get|put|post|patch|delete|options)):$`)

// TestRequestsAreListed: the page has each request of the contract, and no other.
func TestRequestsAreListed(t *testing.T) {
	contract, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("reference/http.md")
	if err != nil {
		t.Fatal(err)
	}
	requests, path := map[string]bool{}, ""
	for _, found := range operation.FindAllStringSubmatch(string(contract), -1) {
		if found[1] != "" {
			path = found[1]
			continue
		}
		requests[strings.ToUpper(found[2])+" "+path] = true
	}
	for request := range requests {
		if !strings.Contains(string(page), "`"+request+"`") {
			t.Errorf("docs/reference/http.md does not list %s", request)
		}
	}
	for _, found := range regexp.MustCompile("`([A-Z]+ /[^`?]*)`").
		FindAllStringSubmatch(string(page), -1) {
		if !requests[found[1]] {
			t.Errorf("docs/reference/http.md lists %s, which is not in the contract", found[1])
		}
	}
}
