package handoffsim

import (
	"context"
	"fmt"

	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/verify/sim"
)

// shelf is the archive's store as one process sees it.
type shelf struct {
	*model
	p *sim.Proc
}

var _ archive.Store = shelf{}

// Put implements [archive.Store].
func (s shelf) Put(_ context.Context, key string, document []byte) error {
	_, err := sim.Do(s.p, sim.Labelf("archive %s", key), true, func() (bool, error) {
		s.changed = true
		s.shelved[key] = string(document)
		return true, nil
	})
	if s.p == nil {
		s.checkNow()
	}
	return err
}

// Get implements [archive.Store].
func (s shelf) Get(_ context.Context, key string) ([]byte, error) {
	document, err := sim.Read(s.p, sim.Labelf("look for %s in the archive", key), func() (string, error) {
		return s.shelved[key], nil
	})
	if err != nil || document == "" {
		return nil, err
	}
	return []byte(document), nil
}

// Delete implements [archive.Store].
func (s shelf) Delete(_ context.Context, keys []string) error {
	_, err := sim.Do(s.p, sim.Labelf("delete %d of the archive", len(keys)), true, func() (bool, error) {
		s.changed = true
		for _, key := range keys {
			delete(s.shelved, key)
		}
		return true, nil
	})
	return err
}

// archive is that of a process, nil where nothing is archived.
func (m *model) archive(p *sim.Proc, sorter *cursor.Sorter) *archive.Archive {
	if m.shelved == nil {
		return nil
	}
	return archive.New(shelf{m, p}, sorter)
}

// archived checks that what was passed by all consumers and is not stored any
// more is in the archive, as it was.
func (m *model) archived(queue string) error {
	if m.shelved == nil {
		return nil
	}
	shelf := m.archive(nil, nil)
	for seq := int64(1); seq <= m.cursor(queue).Position; seq++ {
		if _, there := m.message(queue, seq); there {
			continue
		}
		_, there, err := shelf.Message(context.Background(), queue, seq)
		if err != nil {
			return fmt.Errorf("H6: %w", err)
		}
		if !there {
			return fmt.Errorf("H6: message %d of %s is neither stored nor archived", seq, queue)
		}
	}
	return nil
}
