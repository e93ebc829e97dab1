package lambda

import (
	"bytes"
	"crypto/rand"
	"os"
	"sync"
)

// maxLine is the longest line that is kept together: that of CloudWatch Logs.
const maxLine = 256 << 10

// output reads what a process writes, line by line.
//
// The write end of the pipe stays open here too: sync writes a mark into it and waits until the
// reader has come to the mark, so everything that the process wrote before is known to have been
// read.
type output struct {
	reader, writer *os.File
	mark           []byte
	log            func(line string)
	done           chan struct{} // closed when the reader has ended

	marking sync.Mutex // held while a mark is written, so that marks come in the order of syncs

	mu    sync.Mutex      // never held while writing: the reader needs it to empty the pipe
	ended bool            // no more marks may be written
	syncs []chan struct{} // one a mark that has not been read
	last  []byte          // the end of what was written for the current request
}

func newOutput(log func(string)) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o := &output{reader: r, writer: w, mark: append([]byte{0}, rand.Text()...), log: log,
		done: make(chan struct{})}
	go o.read()
	return o, nil
}

// sync returns when everything written so far has been read.
func (o *output) sync() {
	read := make(chan struct{})
	o.marking.Lock()
	o.mu.Lock()
	if !o.ended {
		o.syncs = append(o.syncs, read)
	}
	o.mu.Unlock()
	// smaller than PIPE_BUF, so never torn; fails once the reader has ended
	_, err := o.writer.Write(o.mark)
	o.marking.Unlock()
	if err != nil {
		<-o.done
		return
	}
	select {
	case <-read:
	case <-o.done:
	}
}

// close reads what is left, then ends the reader. The process must be gone.
func (o *output) close() {
	o.sync()
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	_ = o.writer.Close()
	_ = o.reader.Close()
	<-o.done
}

func (o *output) clearTail() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = nil
}

// tail is the end of what was written since clearTail: at most 4 KB.
func (o *output) tail() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.last)
}

func (o *output) read() {
	defer close(o.done)
	var pending []byte
	chunk := make([]byte, 32<<10)
	for {
		n, err := o.reader.Read(chunk)
		pending = o.split(append(pending, chunk[:n]...))
		if err != nil {
			break
		}
	}
	if len(pending) > 0 {
		o.line(pending)
	}
}

// split takes whole lines and marks out of what was read and returns the rest.
func (o *output) split(b []byte) []byte {
	from := 0 // what is before was looked at
	for {
		i := bytes.IndexAny(b[from:], "\n\x00")
		if i < 0 {
			if len(b) > maxLine {
				o.line(b)
				b = nil
			}
			return b
		}
		i += from
		switch {
		case b[i] == '\n':
			o.line(b[:i])
			b, from = b[i+1:], 0
		case bytes.HasPrefix(b[i:], o.mark):
			b, from = append(b[:i:i], b[i+len(o.mark):]...), i
			o.marked()
		case bytes.HasPrefix(o.mark, b[i:]):
			return b // a mark that has not come whole
		default:
			from = i + 1
		}
	}
}

func (o *output) marked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.syncs) > 0 {
		close(o.syncs[0])
		o.syncs = o.syncs[1:]
	}
}

func (o *output) line(line []byte) {
	o.mu.Lock()
	o.last = append(append(o.last, line...), '\n')
	if over := len(o.last) - tailLimit; over > 0 {
		o.last = bytes.Clone(o.last[over:])
	}
	o.mu.Unlock()
	o.log(string(line))
}
