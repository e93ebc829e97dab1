package schedule

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
)

// TestNext gives the first three moments after Saturday, 21 November 2026, 10:30:20 UTC.
func TestNext(t *testing.T) {
	after := time.Date(2026, 11, 21, 10, 30, 20, 0, time.UTC)
	cases := []struct{ expression, zone, want string }{
		{"rate(1 minute)", "", "11-21 10:31:20, 11-21 10:32:20, 11-21 10:33:20"},
		{"rate(5 minutes)", "", "11-21 10:35:20, 11-21 10:40:20, 11-21 10:45:20"},
		{"rate(2 days)", "", "11-23 10:30:20, 11-25 10:30:20, 11-27 10:30:20"},
		// The table of "Cron expressions" in the EventBridge User Guide.
		{"cron(0 10 * * ? *)", "", "11-22 10:00:00, 11-23 10:00:00, 11-24 10:00:00"},
		{"cron(15 12 * * ? *)", "", "11-21 12:15:00, 11-22 12:15:00, 11-23 12:15:00"},
		{"cron(0 18 ? * MON-FRI *)", "", "11-23 18:00:00, 11-24 18:00:00, 11-25 18:00:00"},
		{"cron(0 8 1 * ? *)", "", "12-01 08:00:00, 01-01 08:00:00, 02-01 08:00:00"},
		{"cron(0/15 * * * ? *)", "", "11-21 10:45:00, 11-21 11:00:00, 11-21 11:15:00"},
		{"cron(0/10 * ? * MON-FRI *)", "", "11-23 00:00:00, 11-23 00:10:00, 11-23 00:20:00"},
		{"cron(0/5 8-17 ? * MON-FRI *)", "", "11-23 08:00:00, 11-23 08:05:00, 11-23 08:10:00"},
		{"cron(0/30 20-2 ? * MON-FRI *)", "", "error: runs backwards"},
		{"cron(0 9 ? * 2#1 *)", "", "12-07 09:00:00, 01-04 09:00:00, 02-01 09:00:00"},
		{"cron(0 9 ? * 6L *)", "", "11-27 09:00:00, 12-25 09:00:00, 01-29 09:00:00"},
		{"cron(0 9 ? * L *)", "", "11-28 09:00:00, 12-05 09:00:00, 12-12 09:00:00"},
		{"cron(0 9 L * ? *)", "", "11-30 09:00:00, 12-31 09:00:00, 01-31 09:00:00"},
		{"cron(0 9 LW * ? *)", "", "11-30 09:00:00, 12-31 09:00:00, 01-29 09:00:00"},
		{"cron(0 9 22W * ? *)", "", "11-23 09:00:00, 12-22 09:00:00, 01-22 09:00:00"},
		{"cron(0 0 29 2 ? *)", "", "02-29 00:00:00, 02-29 00:00:00, 02-29 00:00:00"},
		{"cron(0 0 1,15 JAN,jun ? 2027-2028)", "", "01-01 00:00:00, 01-15 00:00:00, 06-01 00:00:00"},
		{"cron(30 2 * * ? *)", "Europe/Berlin", "11-22 01:30:00, 11-23 01:30:00, 11-24 01:30:00"},
		{"cron(0 0 1 1 ? 2025)", "", "none"},
		{"at(2026-11-21T12:00:00)", "Europe/Berlin", "11-21 11:00:00, none"},
		{"at(2026-11-21T10:00:00)", "", "none"},
		{"rate(0 minutes)", "", "error: rate"},
		{"rate(1 minutes)", "", "error: rate"},
		{"rate(2 minute)", "", "error: rate"},
		{"rate(5 seconds)", "", "error: rate"},
		{"5 minutes", "", "error: rate"},
		{"cron(* * * * *)", "", "error: 6 fields"},
		{"cron(0 0 * * * *)", "", "error: day-of-month and day-of-week"},
		{"cron(0 0 ? * ? *)", "", "error: day-of-month and day-of-week"},
		{"cron(60 0 * * ? *)", "", `error: minutes: "60"`},
		{"cron(0 0 32W * ? *)", "", `error: day-of-month: "32"`},
		{"cron(0 0 ? * 2#6 *)", "", `error: day-of-week: "6"`},
		{"cron(0 0 ? * MOO *)", "", `error: day-of-week: "MOO"`},
		{"cron(0/0 0 * * ? *)", "", `error: minutes: "0"`},
		{"at(yesterday)", "", "error: yesterday"},
		{"rate(1 hour)", "Europe/Atlantis", `error: "Europe/Atlantis"`},
	}
	for _, c := range cases {
		t.Run(c.expression, func(t *testing.T) {
			s, err := Parse(c.expression, c.zone)
			if want, ok := strings.CutPrefix(c.want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error = %v; want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			at := after
			for range 3 {
				next, ok := s.Next(after, at)
				if !ok {
					got = append(got, "none")
					break
				}
				got, at = append(got, next.UTC().Format("01-02 15:04:05")), next
			}
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("moments = %s; want %s", text, c.want)
			}
		})
	}
}

// TestClocksChange has a daily moment that the change of clocks skips on one
// day and repeats on another.
func TestClocksChange(t *testing.T) {
	s, err := Parse("cron(30 2 * * ? *)", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ after, want string }{
		{"2027-03-27T12:00:00Z", "2027-03-29T00:30:00Z"}, // none on the 28th
		{"2027-10-30T12:00:00Z", "2027-10-31T01:30:00Z"}, // once on the 31st
		{"2027-10-31T01:30:00Z", "2027-11-01T01:30:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		next, ok := s.Next(after, after)
		if got := next.UTC().Format(time.RFC3339); !ok || got != c.want {
			t.Errorf("after %s: %s, want %s", c.after, got, c.want)
		}
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Parse("rate(5 minutes)", "")
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 17*time.Minute)
		defer cancel()
		var got []time.Duration
		s.Run(ctx, func(at time.Time) {
			if !at.Equal(time.Now()) {
				t.Errorf("called at %v for %v", time.Now(), at)
			}
			got = append(got, at.Sub(begun))
			if len(got) == 2 {
				bubble.Sleep(6 * time.Minute) // one moment passes meanwhile
			}
		})
		if want := []time.Duration{5 * time.Minute, 10 * time.Minute}; !slices.Equal(got, want) {
			t.Errorf("moments = %v, want %v", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(time.Hour)
		s, err := Parse(at.UTC().Format("at(2006-01-02T15:04:05)"), "")
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		s.Run(t.Context(), func(time.Time) { calls++ })
		if calls != 1 || !time.Now().Equal(at) {
			t.Errorf("%d calls, ended at %v; want one at %v", calls, time.Now(), at)
		}
	})
}

func TestEvent(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)
	decode := func(text []byte) map[string]any {
		var v map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		delete(v, "id")
		return v
	}
	want := map[string]any{
		"version": "0", "detail-type": "Scheduled Event", "source": "aws.events", "account": "000000000000",
		"time": "2026-11-21T10:30:00Z", "region": "us-east-1", "resources": []any{"arn:r"}, "detail": map[string]any{},
	}
	if diff := cmp.Diff(want, decode(Event("aws.events", "arn:r", "000000000000", "us-east-1", "", at))); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	want["source"], want["detail"] = "aws.scheduler", "{}"
	if diff := cmp.Diff(want, decode(Event("aws.scheduler", "arn:r", "000000000000", "us-east-1", "", at))); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
	input := `{"t":"<aws.scheduler.scheduled-time>","a":"<aws.scheduler.schedule-arn>"}`
	if got := string(Event("aws.scheduler", "arn:r", "", "", input, at)); got != `{"t":"2026-11-21T10:30:00Z","a":"arn:r"}` {
		t.Errorf("input = %s", got)
	}
	if got := string(Event("aws.events", "arn:r", "", "", input, at)); got != input {
		t.Errorf("a rule's input = %s", got)
	}
}
