// Package settings reads the functions' environment: once, at their start, and with an error that
// names the variable. [Settings] says what each variable is; package runtime makes what they
// describe.
package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
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
	// Tombstone of 0 means the acker's own default.
	Chains    xorack.Names
	Tombstone time.Duration `json:"STREAMSORT_TOMBSTONE" bounds:"0.."`
	// Quotas says whether quotas.json bounds tenants.
	Quotas bool `json:"STREAMSORT_QUOTAS"`
	// Defaults are the settings of new queues, each from its [QueueVariable].
	Defaults cursor.Settings
	// Retention of 0 means KeepForever.
	Retention   time.Duration `json:"STREAMSORT_RETENTION" bounds:"0.."`
	KeepForever bool
	// Events is how raw events become messages, nil where they do not: STREAMSORT_EVENTS, a JSON
	// document, {"queue": "repository.full_name", "id": "delivery.id"}.
	Events *mapping.Mapping
	// TenantClaim is the claim of a caller's token that holds its tenant; empty where there are no
	// tenants.
	TenantClaim string `json:"STREAMSORT_TENANT_CLAIM"`
	// EventBus, AnnounceTopic and AnnounceFunction, the ARN of a function: each that is set is
	// notified. All empty means log and metrics only.
	EventBus         string `json:"STREAMSORT_EVENT_BUS"`
	AnnounceTopic    string `json:"STREAMSORT_ANNOUNCE_TOPIC"`
	AnnounceFunction string `json:"STREAMSORT_ANNOUNCE_FUNCTION"`
	// SweepEvery, FullSweepEvery, SweepSegments, LagAfter and SettleWithin, which is how long a
	// claim may stay in doubt: 0 means the sweep's own defaults.
	SweepEvery     time.Duration `json:"STREAMSORT_SWEEP_EVERY" bounds:"0.."`
	FullSweepEvery time.Duration `json:"STREAMSORT_FULL_SWEEP_EVERY" bounds:"0.."`
	SweepSegments  int           `json:"STREAMSORT_SWEEP_SEGMENTS" bounds:"0.."`
	LagAfter       time.Duration `json:"STREAMSORT_LAG_AFTER" bounds:"0.."`
	SettleWithin   time.Duration `json:"STREAMSORT_SETTLE_WITHIN" bounds:"0.."`
	// KnownQueues says whether replies go only to queues that are there.
	KnownQueues bool `json:"STREAMSORT_KNOWN_QUEUES"`
	// DeleteDelivered says whether the sweep deletes the messages that all consumers of their queue
	// have.
	DeleteDelivered bool `json:"STREAMSORT_DELETE_DELIVERED"`
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
	// Log says what is logged of calls that go well: 1 of a hundred where nothing else is set.
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
		Chains:    xorack.Names{Chains: os.Getenv("STREAMSORT_CHAINS_TABLE")},
		Defaults:  r.queueSettings(),
		Retention: 14 * 24 * time.Hour,
		Log:       calllog.Log{Successes: 1},
	}
	r.decode(&s)
	r.decode(&s.Log)
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
	return s, errors.Join(r.errs...)
}

type reader struct{ errs []error }

func (r *reader) fail(name, problem string) {
	r.errs = append(r.errs, fmt.Errorf("%s %s", name, problem))
}

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

// decode reads the variables that the fields of a struct have in their tags. One that is empty, or
// not set, leaves its field as it is.
func (r *reader) decode(into any) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		if name := field.Tag.Get("json"); name != "" {
			if err := strictjson.DecodeQuery(url.Values{name: {os.Getenv(name)}}, into); err != nil {
				r.errs = append(r.errs, err)
			}
		}
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
		reader := delivery.Reader{Name: item.Name, Prefix: item.Prefix, MaxAttempts: item.MaxAttempts,
			Circuit: circuit, Eager: item.Eager}
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
	return "STREAMSORT_" + strings.ToUpper(upper.ReplaceAllString(name, "_$0"))
}

var upper = regexp.MustCompile("[A-Z]")

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
		if invalid, ok := errors.AsType[*cursor.InvalidError](change.Set(name, text)); ok {
			r.fail(QueueVariable(name), invalid.Problem+", not "+strconv.Quote(text))
		}
	}
	return defaults.With(change)
}

// check has the sorter itself validate its settings.
func (r *reader) check(s *Settings) {
	err := s.Names.Validate()
	if err == nil {
		_, err = cursor.New(nil, s.SorterOptions()) // of which nothing is asked
	}
	if invalid, ok := errors.AsType[*cursor.InvalidError](err); ok {
		r.fail(QueueVariable(invalid.Field), invalid.Problem)
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
	return errors.Join(r.errs...)
}

// NeedChains is the error of what an Acker needs that is not set, or wrong.
func (s *Settings) NeedChains() error {
	var r reader
	r.given("STREAMSORT_CHAINS_TABLE", s.Chains.Chains)
	if s.Tombstone != 0 && s.Tombstone < xorack.MinTombstone {
		r.fail("STREAMSORT_TOMBSTONE", "must be at least "+xorack.MinTombstone.String())
	}
	return errors.Join(r.errs...)
}
