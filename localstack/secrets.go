package localstack

import (
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/localstack/template"
)

// secretARN is a secret in a file beside a program.
var secretARN = regexp.MustCompile(`arn:[^":]*:(?:ssm|secretsmanager):([^":]*):([^":]*):[^"\\]*`)

// warnOfSecrets names the secrets that a function cannot have here: the stores of this machine have
// one region and one account.
func warnOfSecrets(log *slog.Logger, f template.Function) {
	for _, file := range slices.Sorted(maps.Keys(f.Files)) {
		for _, found := range secretARN.FindAllStringSubmatch(f.Files[file], -1) {
			if found[1] == template.Region && found[2] == template.Account {
				continue
			}
			log.Warn("a secret is not here, so that each delivery of its sender is answered 503: name it arn:aws:"+
				strings.Split(found[0], ":")[2]+":"+template.Region+":"+template.Account+
				":… in a file of this machine's own, and put it there",
				"function", f.Name, "file", file, "secret", found[0])
		}
	}
}
