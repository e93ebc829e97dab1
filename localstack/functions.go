package localstack

import (
	"errors"
	"fmt"
	"maps"
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
	for _, o := range s.config.overrides() {
		if o.function != "" && !s.functionNames.known(s.functionNames.find(o.function)) {
			return fmt.Errorf("environment %s.%s: no template has the function %s",
				o.function, o.name, o.function)
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
	if s.hasReadQueues() {
		env["AWS_ENDPOINT_URL_SQS"] = s.URL()
	}
	for name, value := range f.Env {
		env[name] = s.withStreams(value)
	}
	general, own := map[string]string{}, map[string]string{}
	for _, o := range s.config.overrides() {
		switch {
		case o.function == "":
			general[o.name] = o.value
		case s.functionNames.find(o.function) == f.Name:
			own[o.name] = o.value
		}
	}
	maps.Copy(env, general)
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
