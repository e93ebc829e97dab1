package archive

import (
	"bytes"
	"context"
	"sync"
)

// Memory is a [Store] in memory: for tests of code that uses this package, and
// for simulation. The zero Memory is ready to use.
type Memory struct {
	mu        sync.Mutex
	documents map[string][]byte
}

var _ Store = (*Memory)(nil)

// Put implements [Store].
func (s *Memory) Put(ctx context.Context, key string, document []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documents == nil {
		s.documents = map[string][]byte{}
	}
	s.documents[key] = bytes.Clone(document)
	return nil
}

// Get implements [Store].
func (s *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.documents[key]), nil
}
