package producer

import (
	"context"
	"errors"
	"os"
	"testing"
)

// accepting accepts what it is sent, one message at a time.
type accepting struct{ bodies []string }

func (a *accepting) Put(_ context.Context, body []byte) (Answer, error) {
	a.bodies = append(a.bodies, string(body))
	return Answer{Status: 200, Body: []byte(`{"results":[{"status":200,"outcome":"advanced"}]}`)}, nil
}

// TestWriteFails: what cannot be written to the spool fails, and is not sent; the next one is written behind what
// was whole, and a later process reads no part of the one that failed.
func TestWriteFails(t *testing.T) {
	dir, a := t.TempDir(), &accepting{}
	p, err := New(a, &Options{Spool: &Spool{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	one := func(id string) error {
		f, err := p.Send(t.Context(), Message{Queue: "q", ID: id, Body: []byte("1")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Wait(t.Context())
		var failed *SpoolError
		if spooled := f.Spooled(t.Context()); errors.As(err, &failed) != errors.As(spooled, &failed) {
			t.Errorf("%s: %v, and spooled %v", id, err, spooled)
		}
		return err
	}
	if err := one("a"); err != nil {
		t.Fatal(err)
	}
	good := p.spool.file
	reading, err := os.Open(good.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	p.spool.file = reading // it can be written no more than a full disk
	var failed *SpoolError
	if err := one("b"); !errors.As(err, &failed) {
		t.Errorf("b: %v", err)
	}
	if !p.spool.torn {
		t.Error("the file could not be cut, and is taken for whole")
	}
	p.spool.file = good
	if _, err := good.WriteString("half a record"); err != nil {
		t.Fatal(err)
	}
	if err := one("c"); err != nil {
		t.Error(err)
	}
	if len(a.bodies) != 2 {
		t.Errorf("sent %q", a.bodies)
	}
	text, err := os.ReadFile(good.Name())
	if err != nil {
		t.Fatal(err)
	}
	for len(text) > 0 {
		_, size, ok, err := readRecord(text)
		if !ok || err != nil {
			t.Fatalf("no record begins %q: %v", text, err)
		}
		text = text[size:]
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// FuzzRecord: no file makes reading fail otherwise than by saying that there is no record.
func FuzzRecord(f *testing.F) {
	f.Add(appendGroup(appendMessageRecord(appendAnswers(nil, []uint64{1, 300}), 7, "q", true, []byte("{}"))))
	f.Fuzz(func(t *testing.T, text []byte) {
		for len(text) > 0 {
			_, size, ok, err := readRecord(text)
			if !ok || err != nil {
				return
			}
			if size <= recordHeader || size > len(text) {
				t.Fatalf("a record of %d bytes in %d", size, len(text))
			}
			text = text[size:]
		}
	})
}

// deaf never answers.
type deaf struct{}

func (deaf) Put(ctx context.Context, _ []byte) (Answer, error) {
	<-ctx.Done()
	return Answer{}, ctx.Err()
}

// TestCloseKeepsWhatIsCarried: a message that Close gives up stays whole in the spool, also where the spool's last
// look writes it into another file.
func TestCloseKeepsWhatIsCarried(t *testing.T) {
	dir := t.TempDir()
	p, err := New(deaf{}, &Options{Spool: &Spool{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	p.spool.fileBytes, p.spool.mostBytes = 1, 0 // each look writes what is left again
	f, err := p.Send(t.Context(), Message{Queue: "q", ID: "a", Body: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Spooled(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	if _, err := f.Wait(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("the message: %v", err)
	}
	a := &accepting{}
	next, err := New(a, &Options{Spool: &Spool{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if want := `{"messages":[{"queue":"q","id":"a","body":1}]}`; len(a.bodies) != 1 || a.bodies[0] != want {
		t.Errorf("the next process sent %q, want %q", a.bodies, want)
	}
}
