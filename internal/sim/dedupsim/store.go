package dedupsim

import (
	"context"
	"time"

	"github.com/streamsort/streamsort/internal/sim"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// store is the table as one process sees it.
type store struct {
	*model
	p       *sim.Proc
	by      owner
	process *process
}

var _ dedup.Store = (*store)(nil)

// write is one write of the process.
func (s *store) write(w write) (dedup.Row, bool, error) {
	w.by = s.by
	if w.kind == claiming || w.kind == replacing || w.kind == mending {
		defer func() { s.asking-- }()
	}
	answer, err := sim.Do(s.p, sim.Labelf("%s", w.kind), true, func() (rowAnswer, error) {
		if s.copying && len(s.strays) < 4 {
			s.strays = append(s.strays, w)
		}
		a, err := s.perform(w)
		a.to = s.process
		return a, err
	})
	if err == nil && (w.kind == claiming || w.kind == replacing) {
		s.process.learns(w.kind, answer)
	}
	return answer.Row, answer.Done, err
}

func (s *store) Claim(ctx context.Context, c dedup.Claim) (dedup.Row, bool, error) {
	return s.write(write{kind: claiming, claim: c, do: func() (dedup.Row, bool, error) { return s.memory.Claim(ctx, c) }})
}

func (s *store) Replace(ctx context.Context, c dedup.Claim, seen int64) (dedup.Row, bool, error) {
	return s.write(write{kind: replacing, claim: c, do: func() (dedup.Row, bool, error) { return s.memory.Replace(ctx, c, seen) }})
}

func (s *store) Complete(ctx context.Context, o dedup.Owner, c dedup.Completion) (dedup.Row, bool, error) {
	return s.write(write{kind: completing, owner: o, do: func() (dedup.Row, bool, error) {
		return s.memory.Complete(context.WithoutCancel(ctx), o, c)
	}})
}

func (s *store) Fail(ctx context.Context, o dedup.Owner, why string) (dedup.Row, bool, error) {
	return s.write(write{kind: failing, owner: o, do: func() (dedup.Row, bool, error) {
		return s.memory.Fail(context.WithoutCancel(ctx), o, why)
	}})
}

func (s *store) Extend(ctx context.Context, o dedup.Owner, e dedup.Extension) (dedup.Row, bool, error) {
	return s.write(write{kind: extending, owner: o, do: func() (dedup.Row, bool, error) { return s.memory.Extend(ctx, o, e) }})
}

func (s *store) Invalidate(ctx context.Context, k dedup.Key, seen int64, expiresOn time.Time) (dedup.Row, bool, error) {
	return s.write(write{kind: invalidating, do: func() (dedup.Row, bool, error) {
		return s.memory.Invalidate(ctx, k, seen, expiresOn)
	}})
}

func (s *store) Mend(ctx context.Context, m dedup.Mending) (dedup.Row, bool, error) {
	return s.write(write{kind: mending, do: func() (dedup.Row, bool, error) { return s.memory.Mend(ctx, m) }})
}

func (s *store) Row(ctx context.Context, k dedup.Key, strong bool) (dedup.Row, bool, error) {
	var older []func() (rowAnswer, error)
	label := sim.Labelf("read")
	if !strong {
		label = sim.Labelf("read (any)")
		for _, r := range s.older {
			older = append(older, func() (rowAnswer, error) { return rowAnswer{r, r.Exists(), s.process}, nil })
		}
	}
	answer, err := sim.Read(s.p, label, func() (rowAnswer, error) {
		r, found, err := s.memory.Row(ctx, k, strong)
		return rowAnswer{r, found, s.process}, err
	}, older...)
	if err == nil {
		s.process.learns(looking, answer)
	}
	return answer.Row, answer.Done, err
}

func (s *store) Rows(ctx context.Context, scan dedup.RowScan) (dedup.RowPage, error) {
	return s.memory.Rows(ctx, scan) // nobody lists here
}

func (s *store) PutResult(ctx context.Context, p dedup.StoredResult) error {
	_, err := sim.Do(s.p, sim.Labelf("put result"), true, func() (bool, error) {
		return true, s.memory.PutResult(context.WithoutCancel(ctx), p)
	})
	return err
}

func (s *store) Result(ctx context.Context, k dedup.Key, t dedup.Token, strong bool) ([]byte, bool, error) {
	var older []func() (bodyAnswer, error)
	if !strong {
		older = append(older, func() (bodyAnswer, error) { return bodyAnswer{}, nil })
	}
	answer, err := sim.Read(s.p, sim.Labelf("get result"), func() (bodyAnswer, error) {
		body, found, err := s.memory.Result(ctx, k, t, strong)
		return bodyAnswer{body, found}, err
	}, older...)
	return answer.body, answer.found, err
}

func (s *store) DeleteResult(ctx context.Context, k dedup.Key, t dedup.Token) error {
	_, err := sim.Do(s.p, sim.Labelf("delete result"), true, func() (bool, error) {
		return true, s.memory.DeleteResult(ctx, k, t)
	})
	return err
}
