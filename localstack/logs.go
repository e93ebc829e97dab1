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
	functions   map[string]*functionLog
	subscribers map[*func(Line)]bool
}

type functionLog struct {
	logicalID string
	file      *os.File // nil where none is written
	last      []string
	count     int // of the lines that the function has logged
}

// newLogs opens a file for each function, in a folder if one is given.
func newLogs(dir string, all []*loaded) (*logs, error) {
	l := &logs{functions: map[string]*functionLog{}, subscribers: map[*func(Line)]bool{}}
	for _, t := range all {
		for _, f := range t.Functions {
			log := &functionLog{logicalID: f.LogicalID}
			l.functions[f.Name] = log
			if dir == "" {
				continue
			}
			err := os.MkdirAll(dir, 0o755)
			if err == nil {
				log.file, err = os.Create(filepath.Join(dir, f.Name+".log"))
			}
			if err != nil {
				l.close()
				return nil, err
			}
		}
	}
	return l, nil
}

// add takes one line, which may have several in it. Lines of one process come in their order.
func (l *logs) add(function, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.functions[function]
	for line := range strings.SplitSeq(text, "\n") {
		if log.file != nil {
			_, _ = fmt.Fprintln(log.file, line) // a full disk must not stop the function
		}
		log.last = append(log.last, line)
		log.last = log.last[max(0, len(log.last)-keptLines):]
		log.count++
		for subscriber := range l.subscribers {
			(*subscriber)(Line{function, log.logicalID, line})
		}
	}
}

// tail is the last n lines of a function, at most, of those behind the first after ones, and how
// many it has logged.
func (l *logs) tail(function string, n, after int) (lines []string, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.functions[function]
	n = min(n, len(log.last), max(0, log.count-after))
	return append([]string{}, log.last[len(log.last)-n:]...), log.count
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
	for _, log := range l.functions {
		_ = log.file.Close() // an error where it has no file
		log.file = nil
	}
}
