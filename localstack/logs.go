package localstack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Line is a line that a function wrote to its log.
type Line struct {
	Function  string // name
	LogicalID string
	Text      string
}

// keptLines is how many lines of a function stay in memory.
const keptLines = 1000

// logs takes the lines of all functions: into a file each, the last ones into memory, and on to
// subscribers.
type logs struct {
	mu          sync.Mutex
	logicalIDs  map[string]string // by function
	files       map[string]*os.File
	last        map[string][]string
	count       map[string]int // of the lines that a function has logged
	subscribers map[*func(Line)]bool
}

// newLogs opens a file for each function, in a folder if one is given.
func newLogs(dir string, all []*loaded) (*logs, error) {
	l := &logs{
		logicalIDs: map[string]string{}, files: map[string]*os.File{},
		last: map[string][]string{}, count: map[string]int{}, subscribers: map[*func(Line)]bool{},
	}
	for _, t := range all {
		for _, f := range t.Functions {
			l.logicalIDs[f.Name] = f.LogicalID
			if dir == "" {
				continue
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, err
			}
			file, err := os.Create(filepath.Join(dir, f.Name+".log"))
			if err != nil {
				l.close()
				return nil, err
			}
			l.files[f.Name] = file
		}
	}
	return l, nil
}

// add takes one line, which may have several in it. Lines of one process come in their order.
func (l *logs) add(function, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(text, "\n") {
		l.addLine(function, line)
	}
}

// addLine adds a line; the lock is held.
func (l *logs) addLine(function, text string) {
	if file := l.files[function]; file != nil {
		_, _ = fmt.Fprintln(file, text) // a full disk must not stop the function
	}
	last := append(l.last[function], text)
	l.last[function] = last[max(0, len(last)-keptLines):]
	l.count[function]++
	for subscriber := range l.subscribers {
		(*subscriber)(Line{function, l.logicalIDs[function], text})
	}
}

// tail is the last n lines of a function, at most, of those behind the first after ones, and how
// many it has logged.
func (l *logs) tail(function string, n, after int) (lines []string, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, count := l.last[function], l.count[function]
	n = min(n, len(last), max(0, count-after))
	return append([]string{}, last[len(last)-n:]...), count
}

// Subscribe calls a function with each line that a function logs from now on, until cancel is
// called. It is called for one line at a time; while it runs, functions that log wait. All lines of
// a request come before its answer.
func (s *Stack) Subscribe(subscriber func(Line)) (cancel func()) {
	l := s.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subscribers[&subscriber] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.subscribers, &subscriber)
	}
}

func (l *logs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, file := range l.files {
		_ = file.Close()
		delete(l.files, name)
	}
}
