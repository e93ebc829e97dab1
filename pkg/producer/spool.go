package producer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/gofrs/flock"
)

// spool keeps messages in files until they are answered for. What is added while a group is being
// written is the next group.
type spool struct {
	dir  string
	lock *flock.Flock
	sync bool
	// fileBytes is how large a file is when another is begun, and mostBytes what all have before the
	// oldest one's messages are written again, so that it can go.
	fileBytes, mostBytes int64

	kicked chan struct{} // there is something to write
	stop   chan struct{}
	ended  sync.WaitGroup
	// file is the last of all, which only the writer touches.
	file *os.File
	// torn: it ends with what could neither be written nor be cut off.
	torn bool
	// writing is what it writes.
	writing []byte

	mu sync.Mutex
	// pending are records that are to be written, group those who wait for them.
	pending []byte
	group   *group
	// answers are the numbers of messages that were answered for, which are to be written.
	answers  []uint64
	next     uint64 // the number of the message before
	lastFile uint64 // its number
	all      []*segment
}

// group are messages that are written together.
type group struct {
	first, last *Future
	done        chan struct{}
	err         error // when done is closed
}

// spooled is a message's place in the spool.
type spooled struct {
	number uint64
	// name is its queue's, of one that was read.
	name  string
	group *group
	// in is the file that it is in, nil before and after; before and after are its neighbours there,
	// and those of its group until it is in one.
	in            *segment
	before, after *Future
}

// segment is a file.
type segment struct {
	path  string
	size  int64
	first *Future // those that are not answered for
	last  *Future
}

func (s *segment) add(f *Future) {
	f.in, f.before, f.after = s, s.last, nil
	if s.last == nil {
		s.first = f
	} else {
		s.last.after = f
	}
	s.last = f
}

func (s *segment) remove(f *Future) {
	if f.before == nil {
		s.first = f.after
	} else {
		f.before.after = f.after
	}
	if f.after == nil {
		s.last = f.before
	} else {
		f.after.before = f.before
	}
	f.in, f.before, f.after = nil, nil, nil
}

// Bounds of the files: an eighth of the memory each, and three times the memory together.
const (
	shareOfMemory = 8
	minFileBytes  = 256 << 10
	maxFileBytes  = 64 << 20
	timesMemory   = 3
)

func newSpool(o Options, lock *flock.Flock) *spool {
	s := &spool{
		dir: o.Spool.Dir, lock: lock, sync: o.Spool.Sync == SyncCommit, kicked: make(chan struct{}, 1), stop: make(chan struct{}),
		fileBytes: min(max(o.MaxBytes/shareOfMemory, minFileBytes), maxFileBytes), group: newGroup(),
	}
	s.mostBytes = timesMemory * o.MaxBytes
	if s.sync {
		s.pending = appendGroup(nil)
	}
	return s
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// begin makes the next file.
func (s *spool) begin() error {
	path := filepath.Join(s.dir, fmt.Sprintf("%020d%s", s.lastFile+1, suffix))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if s.sync {
		if err := syncFolder(s.dir); err != nil {
			return errors.Join(err, file.Close(), os.Remove(path))
		}
	}
	if s.file != nil {
		_ = s.file.Close() // what it has was written and synced
	}
	s.file = file
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastFile++
	s.all = append(s.all, &segment{path: path})
	return nil
}

// add adds a message to what is written next. Its calls are in the order of the messages.
func (s *spool) add(f *Future) {
	s.mu.Lock()
	s.next++
	f.number, f.group = s.next, s.group
	s.pending = appendMessageRecord(s.pending, f.number, f.queue.name, f.numbered, f.doc)
	if s.group.last == nil {
		s.group.first = f
	} else {
		s.group.last.after = f
	}
	s.group.last = f
	s.mu.Unlock()
	s.kick()
}

// settled notes that a message need not be sent any more. That gets to the disk with what is written next: if we die
// before, the message is sent again, and is a duplicate.
func (s *spool) settled(f *Future) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.in == nil {
		return // it never came to be in a file
	}
	f.in.remove(f)
	s.answers = append(s.answers, f.number)
}

// kick has the writer look.
func (s *spool) kick() {
	select {
	case s.kicked <- struct{}{}:
	default:
	}
}

// run writes what is to be written, until the spool is closed.
func (s *spool) run() {
	for {
		select {
		case <-s.kicked:
			s.commit(false)
		case <-s.stop:
			s.commit(true)
			return
		}
	}
}

// commit writes what is pending, and tells those who wait.
//
// Died while it is written: a record that is not whole is cut off by the next process, and nobody was told of
// it. It failed: the file is cut back to where it was, and the messages fail.
//
// Answers wait for messages to be written with, where that takes a sync, until there are many or it is the last
// time: what is lost of them is a duplicate.
func (s *spool) commit(closing bool) {
	s.mu.Lock()
	if n := len(s.answers); s.group.first == nil && (n == 0 || s.sync && n < mostAnswers && !closing) {
		s.mu.Unlock()
		s.tidy()
		return
	}
	records, g := appendAnswers(s.pending, s.answers), s.group
	s.pending, s.group = s.writing[:0], newGroup()
	if s.sync {
		s.pending = appendGroup(s.pending)
	}
	s.answers = s.answers[:0]
	file := s.all[len(s.all)-1]
	s.mu.Unlock()

	err := s.write(file, records)
	s.mu.Lock()
	for f := g.first; f != nil; {
		after := f.after
		f.after = nil
		if err == nil {
			file.add(f)
		}
		f = after
	}
	s.mu.Unlock()
	g.first, g.last, g.err = nil, nil, err
	close(g.done)
	if cap(records) <= 4<<20 {
		s.writing = records
	} else {
		s.writing = nil
	}
	s.tidy()
}

// write appends records to the last file.
func (s *spool) write(last *segment, records []byte) error {
	if s.torn {
		if err := s.file.Truncate(last.size); err != nil {
			return err
		}
		s.torn = false
	}
	_, err := s.file.Write(records)
	if err == nil && s.sync {
		err = s.file.Sync()
	}
	if err != nil {
		s.torn = s.file.Truncate(last.size) != nil
		return err
	}
	s.mu.Lock()
	last.size += int64(len(records))
	s.mu.Unlock()
	return nil
}

// tidy begins another file where the last one is full, and removes those of which nothing is left to
// send. A failure is tried again behind the next group.
func (s *spool) tidy() {
	s.mu.Lock()
	full := s.all[len(s.all)-1].size >= s.fileBytes
	s.mu.Unlock()
	if full && !s.torn && s.begin() != nil {
		return
	}
	// The oldest first: an answer stands in the file of its message, or in a later one.
	for {
		files, bytes := s.size()
		if files == 1 {
			return
		}
		s.mu.Lock()
		oldest := s.all[0]
		live := oldest.first != nil
		s.mu.Unlock()
		switch {
		case live && (bytes <= s.mostBytes || !s.carry()):
			return
		case live: // it is to be looked at again, without what was carried
		default:
			if err := os.Remove(oldest.path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return
			}
			s.mu.Lock()
			s.all = s.all[1:]
			s.mu.Unlock()
		}
	}
}

// carry writes what is left to send in the oldest file to the last one, under the same numbers.
//
// Died before the oldest file is removed: its messages stand in two files under one number, and are
// sent once.
func (s *spool) carry() bool {
	s.mu.Lock()
	oldest, last := s.all[0], s.all[len(s.all)-1]
	var records []byte
	var carried []*Future
	for f := oldest.first; f != nil; f = f.after {
		records = appendMessageRecord(records, f.number, f.queue.name, f.numbered, f.doc)
		carried = append(carried, f)
	}
	s.mu.Unlock()
	if len(carried) > 0 && s.write(last, records) != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range carried {
		if f.in == oldest { // not answered for in between
			oldest.remove(f)
			last.add(f)
		}
	}
	return true
}

// close writes what is left and gives the folder back. Where nothing is left to send, no file stays.
func (s *spool) close() error {
	close(s.stop)
	s.ended.Wait()
	err := s.file.Close()
	live := false
	for _, file := range s.all {
		live = live || file.first != nil
	}
	for _, file := range s.all {
		if !live {
			err = errors.Join(err, os.Remove(file.path))
		}
	}
	return errors.Join(err, s.lock.Unlock())
}

// size is how many files there are, and what they have.
func (s *spool) size() (files int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range s.all {
		bytes += file.size
	}
	return len(s.all), bytes
}

// syncFolder has the disk know of the folder's files; Windows does by itself.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
