package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/producer"
)

// spooled is the folder of a process that died with messages that were not answered for: it has a copy of the
// files as they were.
func spooled(t *testing.T, sync producer.SyncPolicy, messages ...producer.Message) string {
	t.Helper()
	dir, copied := t.TempDir(), t.TempDir()
	p := newProducer(t, deaf{}, &producer.Options{Spool: &producer.Spool{Dir: dir, Sync: sync}})
	for _, f := range send(t, p, messages...) {
		if err := f.Spooled(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	closed(t, p)
	return copied
}

// closed closes a producer that gets no answers.
func closed(t *testing.T, p *producer.Producer) {
	t.Helper()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Close(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// files are the spool's files.
func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.spool"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestRecovered: what was spooled is sent by the next process, under the same ids, in the same order, before
// anything new, and once it is answered for nothing of it stays.
func TestRecovered(t *testing.T) {
	for _, sync := range []producer.SyncPolicy{producer.SyncCommit, producer.SyncNone} {
		dir := spooled(t, sync, producer.Message{Queue: "a", Body: []byte("1")}, numbered("b", 1), producer.Message{Queue: "a", Body: []byte("2")})
		gate := make(chan struct{})
		a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
			<-gate
			return accept(m)
		}}
		var documents []string
		p := newProducer(t, a, &producer.Options{Spool: &producer.Spool{Dir: dir, Sync: sync}, Hooks: producer.Hooks{
			Settled: func(s producer.Settled) { documents = append(documents, string(s.Document)) },
		}})
		if s := p.Stats(); s.Recovered != 3 || s.Messages != 3 {
			t.Errorf("%+v", s)
		}
		send(t, p, producer.Message{Queue: "a", Body: []byte("3")})
		close(gate)
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var bodies, ids []string
		for _, r := range a.requests {
			for _, m := range r {
				if m.Queue == "a" {
					bodies, ids = append(bodies, string(m.Body)), append(ids, m.ID)
				}
			}
		}
		if !slices.Equal(bodies, []string{"1", "2", "3"}) || ids[0] == ids[1] || ids[1] == ids[2] || ids[0][:26] != ids[1][:26] || ids[2][:26] == ids[0][:26] {
			t.Errorf("%q under %q", bodies, ids)
		}
		if len(documents) != 4 || len(files(t, dir)) != 0 {
			t.Errorf("%d were told, %d files", len(documents), len(files(t, dir)))
		}
	}
}

// TestTwice: what is recovered is in the spool until it is answered for, beside what came later, so that more deaths lose
// nothing.
func TestTwice(t *testing.T) {
	dir := spooled(t, producer.SyncCommit, numbered("a", 1))
	for seq := int64(2); seq <= 4; seq++ {
		p := newProducer(t, deaf{}, &producer.Options{Spool: &producer.Spool{Dir: dir}})
		if err := send(t, p, numbered("a", seq))[0].Spooled(t.Context()); err != nil {
			t.Fatal(err)
		}
		closed(t, p)
	}
	a := &api{}
	if err := newProducer(t, a, &producer.Options{Spool: &producer.Spool{Dir: dir}}).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, a, "a1 a2 a3 a4")
}

// TestAnsweredIsNotSentAgain: what was answered for before the process died is not sent again, once that was
// written; and what a message fails with for good is an answer.
func TestAnsweredIsNotSentAgain(t *testing.T) {
	dir := t.TempDir()
	a := &api{answer: func(ctx context.Context, n int, m []message) (producer.Answer, error) {
		if n > 0 {
			<-ctx.Done()
			return producer.Answer{}, ctx.Err()
		}
		return say(m, func(m message) string {
			return []string{"", `{"status":200,"outcome":"advanced"}`, `{"status":409,"outcome":"conflict"}`}[*m.Seq]
		})
	}}
	p := newProducer(t, a, &producer.Options{Spool: &producer.Spool{Dir: dir}})
	if got := outcomes(t, send(t, p, numbered("a", 1), numbered("a", 2))); got != "advanced 409" {
		t.Fatal(got)
	}
	if err := send(t, p, numbered("a", 3))[0].Spooled(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed(t, p)
	again := &api{}
	p = newProducer(t, again, &producer.Options{Spool: &producer.Spool{Dir: dir}})
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, again, "a3")
}

// TestTorn: a process that died in a record loses that one, which nobody was told of, and no other; at each byte.
func TestTorn(t *testing.T) {
	dir := spooled(t, producer.SyncCommit, numbered("a", 1), numbered("a", 2))
	name := files(t, dir)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndex(whole, []byte("m\x02\x01a")) - 8
	if last < 0 {
		t.Fatalf("no second message in %q", whole)
	}
	for cut := last; cut < len(whole); cut++ {
		for _, end := range []string{"", strings.Repeat("\x00", 100)} {
			if err := os.WriteFile(name, append(whole[:cut:cut], end...), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &api{}
			p, err := producer.New(a, &producer.Options{Spool: &producer.Spool{Dir: dir}})
			if err != nil {
				t.Fatalf("cut at %d of %d: %v", cut, len(whole), err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(t, a, "a1")
		}
	}
}

// TestBroken: a record that is broken where nobody died is an error with its place, and nothing is changed.
func TestBroken(t *testing.T) {
	dir := t.TempDir()
	p := newProducer(t, deaf{}, &producer.Options{Spool: &producer.Spool{Dir: dir}})
	for seq := range int64(2) {
		if err := send(t, p, numbered("a", seq))[0].Spooled(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, p)
	name := files(t, dir)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	broken[bytes.IndexByte(broken, 'm')+5] ^= 1
	another := strings.Replace(name, "1.spool", "9.spool", 1)
	for what, spoil := range map[string]func() error{
		"another group follows": func() error { return os.WriteFile(name, broken, 0o600) },
		"another file follows": func() error {
			return errors.Join(os.WriteFile(name, whole[:len(whole)-1], 0o600), os.WriteFile(another, nil, 0o600))
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(name)
		_, err := producer.New(&api{}, &producer.Options{Spool: &producer.Spool{Dir: dir}})
		var corrupt *producer.CorruptError
		if !errors.As(err, &corrupt) || corrupt.File != name || !strings.Contains(corrupt.Detail, what) {
			t.Errorf("%s: %v", what, err)
		}
		if after, _ := os.ReadFile(name); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", what)
		}
		_ = os.Remove(another)
	}
}

// TestInUse: two producers do not share a folder.
func TestInUse(t *testing.T) {
	o := &producer.Options{Spool: &producer.Spool{Dir: t.TempDir()}}
	p := newProducer(t, &api{}, o)
	if _, err := producer.New(&api{}, o); !errors.Is(err, producer.ErrInUse) {
		t.Error(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	newProducer(t, &api{}, o)
}

// TestFilesGo: files of which nothing is left to send are removed, and a message that nobody takes does not keep those
// behind it: it is written again to the last file. What the spool has on disk is bounded.
func TestFilesGo(t *testing.T) {
	const memory = 2 << 20
	dir := t.TempDir()
	a := &api{answer: func(_ context.Context, _ int, m []message) (producer.Answer, error) {
		return say(m, func(m message) string {
			if m.Queue == "stuck" {
				return `{"status":503}`
			}
			return `{"status":200,"outcome":"advanced"}`
		})
	}}
	options := &producer.Options{
		MaxBytes: memory, Spool: &producer.Spool{Dir: dir, Sync: producer.SyncNone}, MinBackOff: time.Hour, Linger: time.Millisecond,
	}
	p := newProducer(t, a, options)
	if err := send(t, p, numbered("stuck", 1), numbered("stuck", 2))[1].Spooled(t.Context()); err != nil {
		t.Fatal(err)
	}
	body := []byte(`"` + strings.Repeat("x", 100<<10) + `"`)
	most := int64(0)
	for seq := range int64(300) {
		send(t, p, producer.Message{Queue: fmt.Sprint("q", seq%7), Seq: &seq, Body: body})
		s := p.Stats()
		most = max(most, s.SpoolBytes)
	}
	if most < memory || most > 5*memory {
		t.Errorf("the spool had %d bytes", most)
	}
	closed(t, p)
	if len(files(t, dir)) == 0 {
		t.Fatal("no file is left")
	}
	again := &api{}
	options.MinBackOff = 0
	p = newProducer(t, again, options)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	stuck := 0
	for _, r := range again.requests {
		for _, m := range r {
			if m.Queue == "stuck" {
				stuck++
				if int(*m.Seq) != stuck {
					t.Errorf("seq %d is the %dth", *m.Seq, stuck)
				}
			}
		}
	}
	if stuck != 2 {
		t.Errorf("%d of 2 messages were sent: %.200q", stuck, again.sent())
	}
}

// TestNoSpool: what is not there is said.
func TestNoSpool(t *testing.T) {
	if err := send(t, newProducer(t, &api{}, nil), numbered("a", 1))[0].Spooled(t.Context()); !errors.Is(err, producer.ErrNoSpool) {
		t.Error(err)
	}
}
