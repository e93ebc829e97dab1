package producer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// ErrInUse: another process has the spool's folder, or another producer of this one.
var ErrInUse = errors.New("the spool's folder is in use by another producer")

// CorruptError is that of a file of the spool that has a broken record where none can have
// died in one. Nothing was changed. Who moves the file away gives up what it still had.
type CorruptError struct {
	File string
	// Offset is where the broken record begins, in bytes.
	Offset int64
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is broken at byte %d: %s", e.File, e.Offset, e.Detail)
}

// suffix ends the names of the spool's files.
const suffix = ".spool"

// openSpool locks the folder, reads what is there, and begins a new file. It returns the messages that
// are not answered for, in their order.
func (p *Producer) openSpool() ([]*Future, error) {
	dir := p.options.Spool.Dir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the spool: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("the spool %s: %w", dir, err)
	}
	s := newSpool(p.options, lock)
	found, err := s.read()
	if err == nil {
		err = s.begin()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the spool %s: %w", dir, err), lock.Unlock())
	}
	p.spool = s
	return found, nil
}

// read reads all files, in their order, and cuts off what the process died in.
func (s *spool) read() ([]*Future, error) {
	names, err := s.files()
	if err != nil {
		return nil, err
	}
	live, answered := map[uint64]*Future{}, map[uint64]bool{}
	for i, name := range names {
		path := filepath.Join(s.dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file := &segment{path: path}
		for offset := 0; offset < len(text); {
			r, size, ok, err := readRecord(text[offset:])
			if err == nil && !ok {
				err = s.cut(path, text, offset, i == len(names)-1)
				text = text[:offset]
			}
			if err != nil {
				return nil, cmp.Or(asCorrupt(err), error(&CorruptError{path, int64(offset), err.Error()}))
			}
			offset += size
			s.next = max(s.next, r.number)
			for _, number := range r.answers {
				answered[number] = true
				s.next = max(s.next, number)
			}
			if ok && r.kind == recordMessage {
				// Of one that stands in two files, the later file is the one that is kept for longer.
				f := &Future{doc: bytes.Clone(r.doc), numbered: r.numbered, spooled: spooled{number: r.number, name: r.queue, in: file}}
				live[r.number] = f
			}
		}
		file.size = int64(len(text))
		s.all = append(s.all, file)
	}
	found := make([]*Future, 0, len(live))
	for number, f := range live {
		if !answered[number] {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b *Future) int { return cmp.Compare(a.number, b.number) })
	size := int64(0)
	for _, f := range found {
		f.in.add(f)
		size += int64(len(f.doc))
	}
	// A process with more memory may have left more than this one would.
	s.mostBytes = max(s.mostBytes, timesMemory*size)
	return found, nil
}

// asCorrupt is a CorruptError as it is; nil for another.
func asCorrupt(err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return corrupt
	}
	return nil
}

// cut takes the end of a file away, from where there is no whole record: the process died in it, or the machine
// did before the disk had all of a group. In any file but the last, and where another group follows, what is there was
// synced, and is broken since.
func (s *spool) cut(path string, text []byte, offset int, last bool) error {
	const broken = "a record has another checksum, or is not whole, and "
	if !last {
		return &CorruptError{path, int64(offset), broken + "another file follows"}
	}
	for i := offset + 1; i < len(text); i++ {
		if r, _, ok, err := readRecord(text[i:]); ok && err == nil && r.kind == recordGroup {
			return &CorruptError{path, int64(offset), fmt.Sprintf("%sanother group follows at byte %d", broken, i)}
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(int64(offset)), file.Sync(), file.Close())
}

// files are the names of the spool's files, in their order.
func (s *spool) files() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		number, is := strings.CutSuffix(entry.Name(), suffix)
		n, err := strconv.ParseUint(number, 10, 64)
		if !is || err != nil {
			continue
		}
		s.lastFile = max(s.lastFile, n)
		names = append(names, entry.Name())
	}
	slices.Sort(names) // all have as many digits
	return names, nil
}
