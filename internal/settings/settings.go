// Package settings reads the functions' environment: once, at their start, and with an error that
// names the variable. [FromEnvironment] says what each variable is; package runtime makes what they
// describe.
package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/timer"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Settings are what a function gets from its environment.
type Settings struct {
	// Names are the tables: STREAMSORT_MESSAGES_TABLE, STREAMSORT_CURSORS_TABLE and
	// STREAMSORT_TROUBLE_TABLE must be set; STREAMSORT_ARRIVALS_TABLE is that of queues in arrival
	// order, and of keyed ones.
	Names cursor.Names
	// Consumers are the tables of what delivers: STREAMSORT_CONSUMERS_TABLE and
	// STREAMSORT_AUDIT_TABLE. A Deliverer needs both, nothing else does.
	Consumers delivery.Names
	// Chains is the chains' table, STREAMSORT_CHAINS_TABLE. An Acker needs it, nothing else does.
	// Tombstone is STREAMSORT_TOMBSTONE; 0 means the acker's own default.
	Chains    xorack.Names
	Tombstone time.Duration
	// Quotas is STREAMSORT_QUOTAS, true or false: whether quotas.json bounds tenants.
	Quotas bool
	// Defaults are the settings of new queues, each from its [QueueVariable].
	Defaults cursor.Settings
	// Retention is STREAMSORT_RETENTION; 0 there means KeepForever.
	Retention   time.Duration
	KeepForever bool
	// Events is how raw events become messages, nil where they do not: STREAMSORT_EVENTS, a JSON
	// document, {"queue": "repository.full_name", "id": "delivery.id"}.
	Events *mapping.Mapping
	// TenantClaim is STREAMSORT_TENANT_CLAIM, the claim of a caller's token that holds its tenant;
	// empty where there are no tenants.
	TenantClaim string
	// EventBus is STREAMSORT_EVENT_BUS, AnnounceTopic STREAMSORT_ANNOUNCE_TOPIC, AnnounceFunction
	// STREAMSORT_ANNOUNCE_FUNCTION, the ARN of a function: each that is set is notified. All empty
	// means log and metrics only.
	EventBus, AnnounceTopic, AnnounceFunction string
	// SweepEvery, FullSweepEvery and SweepSegments are STREAMSORT_SWEEP_EVERY,
	// STREAMSORT_FULL_SWEEP_EVERY and STREAMSORT_SWEEP_SEGMENTS; 0 means the sweep's own defaults.
	SweepEvery, FullSweepEvery time.Duration
	SweepSegments              int
	// LagAfter is STREAMSORT_LAG_AFTER; 0 means the sweep's own default.
	LagAfter time.Duration
	// SettleWithin is STREAMSORT_SETTLE_WITHIN, how long a claim may stay in doubt; 0 means the
	// sweep's own default.
	SettleWithin time.Duration
	// KnownQueues is STREAMSORT_KNOWN_QUEUES, true or false: whether replies go only to queues that
	// are there.
	KnownQueues bool
	// DeleteDelivered is STREAMSORT_DELETE_DELIVERED, true or false: whether the sweep deletes the
	// messages that all consumers of their queue have.
	DeleteDelivered bool
	// Readers is STREAMSORT_READERS: who reads which queues, for the sweep and for what moves
	// queues of eager ones: the text that process has (package consumers), or what of it is needed
	// here, {"consumers": [{"name": "billing", "prefix": "shop/", "maxAttempts": 3, "eager":
	// true}]}, of an archive with {"sink": {"kind": "s3", "arn": "arn:aws:s3:::orders-archive"}};
	// or the name of a file that has it, in the bucket of STREAMSORT_CONFIG (package assetfile).
	Readers []delivery.Reader
	// Endpoints are the names of those whose queues have endpoints of their own.
	Endpoints []string
	// Buckets are the ARNs of the buckets that have the archives of some of them, by their names:
	// the sweep deletes what is there of erased queues.
	Buckets map[string]string
	// Log says what is logged of calls that go well: STREAMSORT_LOG_SUCCESSES of a hundred (1 where
	// it is not set), and each message of STREAMSORT_LOG_QUEUE until STREAMSORT_LOG_UNTIL, a time
	// such as 2026-01-02T15:04:05Z.
	Log calllog.Log
	// Timer sends wake-ups to STREAMSORT_TIMER_QUEUE, the URL of an SQS queue; nil where it is not
	// set.
	Timer *timer.Timer
	// Eager calls STREAMSORT_EAGER_FUNCTION, the ARN of process, with what was moved for those of
	// Readers that are eager; nil where it is not set, or none is.
	Eager *eager.Caller
}

// FromEnvironment reads and checks all variables. The error joins everything that is wrong.
func FromEnvironment() (Settings, error) {
	var r reader
	s := Settings{
		Names: cursor.Names{
			Messages: r.required("STREAMSORT_MESSAGES_TABLE"),
			Cursors:  r.required("STREAMSORT_CURSORS_TABLE"),
			Trouble:  r.required("STREAMSORT_TROUBLE_TABLE"),
			Arrivals: os.Getenv("STREAMSORT_ARRIVALS_TABLE"),
		},
		Consumers: delivery.Names{
			Consumers: os.Getenv("STREAMSORT_CONSUMERS_TABLE"),
			Audit:     os.Getenv("STREAMSORT_AUDIT_TABLE"),
		},
		Chains:         xorack.Names{Chains: os.Getenv("STREAMSORT_CHAINS_TABLE")},
		Tombstone:      r.duration("STREAMSORT_TOMBSTONE", 0),
		Quotas:         r.truth("STREAMSORT_QUOTAS"),
		Defaults:       r.queueSettings(),
		Retention:      r.duration("STREAMSORT_RETENTION", 14*24*time.Hour),
		TenantClaim:    os.Getenv("STREAMSORT_TENANT_CLAIM"),
		EventBus:       os.Getenv("STREAMSORT_EVENT_BUS"),
		SweepEvery:     r.duration("STREAMSORT_SWEEP_EVERY", 0),
		FullSweepEvery: r.duration("STREAMSORT_FULL_SWEEP_EVERY", 0),
		SweepSegments:  int(r.number("STREAMSORT_SWEEP_SEGMENTS", 0)),
		LagAfter:       r.duration("STREAMSORT_LAG_AFTER", 0),
		SettleWithin:   r.duration("STREAMSORT_SETTLE_WITHIN", 0),

		AnnounceTopic:    os.Getenv("STREAMSORT_ANNOUNCE_TOPIC"),
		AnnounceFunction: os.Getenv("STREAMSORT_ANNOUNCE_FUNCTION"),
		KnownQueues:      r.truth("STREAMSORT_KNOWN_QUEUES"),
		DeleteDelivered:  r.truth("STREAMSORT_DELETE_DELIVERED"),
		Log: calllog.Log{
			Successes: int(r.number("STREAMSORT_LOG_SUCCESSES", 1)),
			Queue:     os.Getenv("STREAMSORT_LOG_QUEUE"), Until: r.time("STREAMSORT_LOG_UNTIL"),
		},
	}
	s.Consumers.Trouble = s.Names.Trouble
	r.readers("STREAMSORT_READERS", &s)
	s.KeepForever = s.Retention == 0
	var err error
	if s.Timer, err = timer.New(os.Getenv("STREAMSORT_TIMER_QUEUE")); err != nil {
		r.errs = append(r.errs, err)
	}
	if s.Eager, err = eager.New(os.Getenv(eager.Variable), s.Readers); err != nil {
		r.errs = append(r.errs, err)
	}
	s.Events = r.events()
	if len(r.errs) == 0 {
		r.check(&s)
	}
	return s, r.err()
}

type reader struct{ errs []error }

func (r *reader) fail(name, problem string) {
	r.errs = append(r.errs, fmt.Errorf("%s %s", name, problem))
}

func (r *reader) err() error { return errors.Join(r.errs...) }

func (r *reader) required(name string) string {
	value := os.Getenv(name)
	r.given(name, value)
	return value
}

func (r *reader) given(name, value string) {
	if value == "" {
		r.fail(name, "is not set")
	}
}

func (r *reader) number(name string, otherwise int64) int64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		r.fail(name, "must be an integer of 0 or more, not "+strconv.Quote(text))
	}
	return n
}

func (r *reader) duration(name string, otherwise time.Duration) time.Duration {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		r.fail(name, `must be a duration such as "90s", "5m" or "336h", not `+strconv.Quote(text))
	}
	return d
}

func (r *reader) time(name string) (t time.Time) {
	if text := os.Getenv(name); text != "" && t.UnmarshalText([]byte(text)) != nil {
		r.fail(name, "must be a time such as 2026-01-02T15:04:05Z, not "+strconv.Quote(text))
	}
	return t
}

func (r *reader) truth(name string) bool {
	switch text := os.Getenv(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		r.fail(name, "must be true or false, not "+strconv.Quote(text))
		return false
	}
}

func (r *reader) readers(name string, s *Settings) {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return
	}
	isFile := strings.HasSuffix(text, ".json")
	if isFile {
		file, path, err := assetfile.Text(os.Getenv("LAMBDA_TASK_ROOT"), text)
		if err != nil {
			r.errs = append(r.errs, err)
			return
		}
		name, text = path, strings.TrimSpace(string(file))
	}
	s.Buckets = map[string]string{}
	type item struct {
		Name, Prefix string
		MaxAttempts  int
		Eager        bool
		Circuit      struct{ WakeRate int }
		Sink         struct {
			Kind, ARN string
			Endpoints bool
		}
	}
	var all struct{ Consumers []item }
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		r.fail(name, "must be names and prefixes of consumers, as JSON: "+err.Error())
	} else if isFile && len(all.Consumers) == 0 {
		r.fail(name, "has no consumers: it must be like {\"consumers\": [{\"name\": \"books\"}]}")
	}
	for _, item := range all.Consumers {
		circuit := delivery.Circuit{WakeRate: item.Circuit.WakeRate}
		reader := delivery.Reader{Name: item.Name, Prefix: item.Prefix, MaxAttempts: item.MaxAttempts, Circuit: circuit, Eager: item.Eager}
		if err := reader.Validate(); err != nil {
			r.fail(name, fmt.Sprintf("has the reader %q: %v", item.Name, err))
		}
		s.Readers = append(s.Readers, reader)
		if item.Sink.Kind == "s3" {
			s.Buckets[item.Name] = item.Sink.ARN
		}
		if item.Sink.Endpoints {
			s.Endpoints = append(s.Endpoints, item.Name)
		}
	}
}

func (r *reader) events() *mapping.Mapping {
	text := os.Getenv("STREAMSORT_EVENTS")
	if text == "" {
		return nil
	}
	m, err := mapping.Read([]byte(text), mapping.Kind{Request: true})
	if err != nil {
		r.fail("STREAMSORT_EVENTS", "is how raw events become messages: "+err.Error())
	}
	return m
}

// QueueVariable is the variable that sets one of the settings of new queues, by its name:
// STREAMSORT_MAX_AHEAD for maxAhead. The kind and the type of the keys have none: they are as a
// queue's first put has them.
func QueueVariable(name string) string {
	switch name {
	case "kind", "keyType":
		return ""
	case "first":
		return "STREAMSORT_FIRST_SEQ"
	}
	variable := "STREAMSORT_"
	for _, c := range name {
		if unicode.IsUpper(c) {
			variable += "_"
		}
		variable += string(unicode.ToUpper(c))
	}
	return variable
}

func (r *reader) queueSettings() cursor.Settings {
	defaults := cursor.DefaultSettings()
	var change cursor.Change
	all := defaults
	all.Kind = cursor.KindKeyed // it has all settings
	for name := range all.All() {
		text := os.Getenv(QueueVariable(name))
		if text == "" {
			continue
		}
		var invalid *cursor.InvalidError
		if err := change.Set(name, text); errors.As(err, &invalid) {
			r.fail(QueueVariable(name), invalid.Problem+", not "+strconv.Quote(text))
		}
	}
	return defaults.With(change)
}

// variables are the names under which the sorter's other fields are set here.
var variables = map[string]string{
	"retention": "STREAMSORT_RETENTION",
}

// check has the sorter itself validate its settings.
func (r *reader) check(s *Settings) {
	err := s.Names.Validate()
	if err == nil {
		_, err = cursor.New(nil, s.SorterOptions()) // of which nothing is asked
	}
	var invalid *cursor.InvalidError
	if errors.As(err, &invalid) {
		r.fail(cmp.Or(variables[invalid.Field], QueueVariable(invalid.Field)), invalid.Problem)
	} else if err != nil {
		r.errs = append(r.errs, err)
	}
}

// SorterOptions are those of the Sorter that the settings describe.
func (s *Settings) SorterOptions() *cursor.Options {
	o := &cursor.Options{
		Defaults: &s.Defaults, Retention: s.Retention, KeepForever: s.KeepForever,
	}
	if s.Timer != nil {
		o.WakeUp = s.Timer.Gap
	}
	if s.Eager != nil {
		o.Moved = s.Eager.Moved
	}
	return o
}

// NeedConsumers is the error of those of what a Deliverer needs that are not set.
func (s *Settings) NeedConsumers() error {
	var r reader
	r.given("STREAMSORT_CONSUMERS_TABLE", s.Consumers.Consumers)
	r.given("STREAMSORT_AUDIT_TABLE", s.Consumers.Audit)
	return r.err()
}

// NeedChains is the error of what an Acker needs that is not set, or wrong.
func (s *Settings) NeedChains() error {
	var r reader
	r.given("STREAMSORT_CHAINS_TABLE", s.Chains.Chains)
	if s.Tombstone != 0 && s.Tombstone < xorack.MinTombstone {
		r.fail("STREAMSORT_TOMBSTONE", "must be at least "+xorack.MinTombstone.String())
	}
	return r.err()
}
