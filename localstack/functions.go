package localstack

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// checkEnv reports variables, and consumers, that are for functions which no template has.
func (s *Stack) checkEnv() error {
	if len(s.config.Consumers) > 0 &&
		!s.functionNames.known(s.functionNames.find("ProcessFunction")) {
		return errors.New("consumers: no template has process, which calls them: synthesise it with -c streamsort:consumersFile=FILE")
	}
	for key := range s.config.Env {
		function, _ := target(key)
		if function != "" && !s.functionNames.known(s.functionNames.find(function)) {
			return fmt.Errorf("environment %s: no template has the function %s", key, function)
		}
	}
	return nil
}

// addFunctions makes all functions known to the service.
func (s *Stack) addFunctions(paths map[string]string) error {
	for _, l := range s.templates {
		for _, f := range l.Functions {
			runs := lambda.Program{Bootstrap: paths[f.Name]}
			if f.Interpreted() {
				var err error
				if runs, err = interpreted(l.path, f); err != nil {
					return err
				}
			}
			f.Env = s.environment(f)
			s.functions.Add(f, runs)
		}
	}
	return nil
}

// environment is what a function's variables have besides Lambda's own: where the services are,
// then what its template says, then the overrides. No SDK finds its way to AWS itself: a service
// that does not run here answers as one that does not know the call.
func (s *Stack) environment(f template.Function) map[string]string {
	env := map[string]string{
		"AWS_ENDPOINT_URL":                  s.URL(),
		"AWS_ENDPOINT_URL_DYNAMODB":         s.server.Endpoint,
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": s.server.Endpoint,
		"AWS_ENDPOINT_URL_LAMBDA":           s.URL(),
	}
	if s.services != nil {
		env["AWS_ENDPOINT_URL"] = s.services.Endpoint
	}
	reads := func(l *loaded) bool { return len(l.Readers) > 0 }
	if slices.ContainsFunc(s.templates, reads) {
		env["AWS_ENDPOINT_URL_SQS"] = s.URL()
	}
	for name, value := range f.Env {
		env[name] = s.withStreams(value)
	}
	own := map[string]string{} // before what is for all
	for key, value := range s.config.Env {
		switch function, name := target(key); {
		case function == "":
			env[name] = value
		case s.functionNames.find(function) == f.Name:
			own[name] = value
		}
	}
	maps.Copy(env, own)
	return env
}

// withStreams replaces the ARNs by which templates name streams with those that the server gave
// them.
func (s *Stack) withStreams(value string) string {
	for table, stream := range s.streams {
		value = strings.ReplaceAll(value, template.StreamARN(table), stream)
	}
	return value
}

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
