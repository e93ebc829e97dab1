package ui

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/view"
)

//go:embed templates
var templates embed.FS

// screens are the parsed templates, by the screen's name: the layout and its content.
var screens = parse()

func parse() map[string]*template.Template {
	all := map[string]*template.Template{}
	for name := range pages {
		all[name] = template.Must(template.New("").Funcs(functions).ParseFS(templates,
			"templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
	}
	return all
}

// render renders a screen: "layout" for all of it, "content" for what is live.
func render(name, what string, f frame) (string, error) {
	var out bytes.Buffer
	err := screens[name].ExecuteTemplate(&out, what, f)
	return out.String(), err
}

var functions = template.FuncMap{
	"ago": ago, "due": due, "duration": view.Duration, "exact": exact, "link": link, "pretty": pretty,
	"words": words, "cause": func(of string) string {
		return cmp.Or(causes[of], words(of))
	},
	"percent": func(part, whole int64) int64 {
		if whole <= 0 {
			return 0
		}
		return min(part*100/whole, 100)
	},
	"list": func(all ...string) []string {
		return all
	}, "actions": func() []string { return actions }, "logOf": logOf, "nameOf": nameOf,
	"newID": rand.Text, "printable": printable.Text,
	"lasting": func(t time.Time) string { return "for " + greatest(max(time.Since(t), 0)) },
	"passed":  func(t time.Time) bool { return time.Until(t) <= 0 },
	"seq":     (*jsonseq.Seq).OrZero,
	"pick":    pick,
	"add":     func(a, b int64) int64 { return a + b },
	"short":   short,
}

func exact(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// ago is a time relative to now, in its greatest unit, so that a screen changes seldom.
func ago(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	passed := time.Since(t)
	if passed < 0 {
		return "in " + greatest(-passed)
	}
	return greatest(passed) + " ago"
}

func due(t time.Time) string {
	if ahead := time.Until(t); ahead > 0 {
		return "in " + greatest(ahead)
	}
	return "now"
}

func greatest(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d d", int(d.Hours()/24))
	case d >= time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	case d >= time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// link is the address of a screen with parameters, by names and values; those that are empty are
// left out.
func link(page string, pairs ...any) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		value := fmt.Sprint(pairs[i+1])
		switch is := pairs[i+1].(type) {
		case printable.Name:
			value = string(is)
		case *jsonseq.Seq:
			value = fmt.Sprint(*is)
		}
		if value != "" {
			query.Set(fmt.Sprint(pairs[i]), value)
		}
	}
	if len(query) == 0 {
		return page
	}
	return page + "?" + query.Encode()
}

// pretty is JSON with lines, shortened where it is long.
func pretty(text string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(text), "", "  ") == nil {
		text = out.String()
	}
	const longestBody = 64 << 10
	if len(text) > longestBody {
		text = strings.ToValidUTF8(text[:longestBody], "") + "\n… " +
			fmt.Sprint(len(text)-longestBody) + " bytes more"
	}
	return text
}

// words is a state as it is read: in-doubt is "in doubt", TIMED_OUT "timed out".
func words(of any) string {
	return strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(fmt.Sprint(of)))
}

var causes = map[string]string{
	"missing": "its next message is not stored any more", "prepared": "a claim was prepared", "quarantined": "in quarantine",
	"open": "circuit breaker open", "waking": "circuit breaker closed again", "sink-away": "its sink is away",
	"died": "its worker died", "replies": "the queue of its replies is full", "starting": "finds its place",
	"lagging": "for more than 15 minutes",
}

// logOf is the address of what a Lambda function logged in a call, in the AWS console; empty where
// that is not known.
func logOf(arn printable.Name, requestID string) string {
	parts := strings.Split(string(arn), ":")
	if len(parts) < 7 || parts[2] != "lambda" || parts[4] == "000000000000" {
		return ""
	}
	once := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "%", "$") }
	group := once(url.QueryEscape("/aws/lambda/" + parts[6]))
	address := "https://" + url.PathEscape(parts[3]) +
		".console.aws.amazon.com/cloudwatch/home?region=" + url.QueryEscape(parts[3]) +
		"#logsV2:log-groups/log-group/" + group + "/log-events"
	if requestID != "" {
		address += "$3FfilterPattern$3D" + once(url.QueryEscape(`"`+requestID+`"`))
	}
	return address
}

func nameOf(by printable.Name) string {
	_, name, is := strings.Cut(by.String(), ":function:")
	if !is {
		name = by.String()
	}
	return cmp.Or(name, "–")
}

func short(text any) string {
	const most = 160
	body := fmt.Sprint(text)
	var out bytes.Buffer
	if json.Compact(&out, []byte(body)) != nil {
		out.Reset()
		out.WriteString(strings.Join(strings.Fields(body), " "))
	}
	line := []rune(out.String())
	if len(line) > most {
		line = append(line[:most], '…')
	}
	return string(line)
}
