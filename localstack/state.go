package localstack

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// statePath is where the runner tells about itself.
const statePath = "/_streamsort/"

// stateHandler answers for the paths of the package's documentation.
func (s *Stack) stateHandler() http.Handler {
	mux := http.NewServeMux()
	show := func(name string, state func() any) {
		mux.HandleFunc("GET "+statePath+name, func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, state())
		})
	}
	show("health", func() any { return map[string]string{"status": "ok"} })
	show("functions", func() any { return s.Functions() })
	show("mappings", func() any { return s.Mappings() })
	show("queues", func() any { return s.Queues() })
	show("failures", func() any { return s.Failures() })
	show("outputs", func() any { return s.Outputs() })
	show("schedules", func() any { return append([]template.Schedule{}, s.schedules...) })
	mux.HandleFunc("POST "+statePath+"schedules/{name}", s.triggerHandler)
	mux.HandleFunc("GET "+statePath+"logs", s.logsHandler)
	return mux
}

func (s *Stack) triggerHandler(w http.ResponseWriter, r *http.Request) {
	responses, err := s.Trigger(r.Context(), r.PathValue("name"))
	if err != nil {
		writeJSON(w, http.StatusNotFound, map[string]string{"message": err.Error()})
		return
	}
	type answer struct{ FunctionError, Payload string }
	out := make([]answer, len(responses))
	for i, response := range responses {
		out[i] = answer{response.FunctionError, string(response.Payload)}
	}
	writeJSON(w, http.StatusOK, out)
}

func (s *Stack) logsHandler(w http.ResponseWriter, r *http.Request) {
	name := s.functionNames.find(r.FormValue("function"))
	lines := 100
	if text := r.FormValue("lines"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > keptLines {
			writeJSON(w, http.StatusBadRequest,
				map[string]string{"message": "lines must be from 0 to " + strconv.Itoa(keptLines)})
			return
		}
		lines = n
	}
	after, _ := strconv.Atoi(r.FormValue("after")) // 0 where none is given
	if !s.functionNames.known(name) {
		message := "there is no function " + strconv.Quote(name) + ": there are "
		if slices.ContainsFunc(s.config.Consumers, func(c Consumer) bool { return c.Name == name }) {
			message = "the consumer " + name +
				" is a URL, and what answers there has its log: there are logs of "
		}
		writeJSON(w, http.StatusNotFound, map[string]string{"code": "not_found",
			"message": message + strings.Join(s.functionNames.all(), ", ")})
		return
	}
	text, count := s.logs.tail(name, lines, after)
	if r.FormValue("after") == "" {
		writeJSON(w, http.StatusOK, text)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"lines": text, "count": count})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // the client may be gone
}

// Function is a function and what it has done.
type Function struct {
	LogicalID, Name string
	Stats           lambda.Stats
}

// Functions are all functions, in the order of their templates.
func (s *Stack) Functions() []Function {
	var out []Function
	for _, l := range s.templates {
		for _, f := range l.Functions {
			stats, _ := s.functions.Stats(f.Name) // it was added
			out = append(out, Function{f.LogicalID, f.Name, stats})
		}
	}
	return out
}

// Killed is how many processes of functions [Config.Chaos] has killed.
func (s *Stack) Killed() int {
	killed := 0
	for _, f := range s.Functions() {
		killed += f.Stats.Killed
	}
	return killed
}

// Address is where something answers.
type Address struct{ Name, URL string }

// Addresses are where the servers answer, the APIs but the first one, which is at URL, and the
// functions' URLs.
func (s *Stack) Addresses() []Address {
	out := []Address{{"DynamoDB", s.DynamoDB()}}
	if s.services != nil {
		out = append(out, Address{"SQS, SNS, EventBridge and other services", s.services.Endpoint})
	}
	for _, l := range s.templates {
		for _, api := range l.APIs {
			if api.Endpoint != s.URL() {
				out = append(out, Address{"API " + api.LogicalID, api.Endpoint})
			}
		}
		for _, url := range l.URLs {
			out = append(out, Address{"function URL " + url.LogicalID, url.Endpoint})
		}
	}
	return out
}

// Outputs are the templates' outputs, by stack and name.
func (s *Stack) Outputs() map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, l := range s.templates {
		out[l.Stack] = map[string]string{}
		for name, value := range l.Outputs {
			out[l.Stack][name] = s.withStreams(value)
		}
	}
	return out
}

// Tables are the names of the tables that this project's functions work on, as the outputs of their
// stack call them: Messages, Cursors, …. The functions' variables name them, such as
// STREAMSORT_MESSAGES_TABLE, also in an app of the CDK, which has no such outputs. The first of
// several stacks is meant.
func (s *Stack) Tables() map[string]string {
	tables := map[string]string{}
	for _, l := range s.templates {
		for _, f := range l.Functions {
			for variable, name := range f.Env {
				table, found := strings.CutPrefix(variable, "STREAMSORT_")
				table, is := strings.CutSuffix(table, "_TABLE")
				if !found || !is || table == "" {
					continue
				}
				table = table[:1] + strings.ToLower(table[1:])
				if tables[table] == "" {
					tables[table] = name
				}
			}
		}
	}
	return tables
}
