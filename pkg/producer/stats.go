package producer

// Stats are a producer's figures at one moment.
type Stats struct {
	// Messages are those without an outcome, and Bytes their memory.
	Messages int
	Bytes    int64
	// Queues have such messages, and Troubled ones among them go alone.
	Queues, Troubled int
	// Requests are those under way.
	Requests int
}

// Stats returns the figures of now.
func (p *Producer) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Messages: p.messages, Bytes: p.bytes, Requests: p.underway}
	for _, q := range p.queues {
		if q.busy || q.waiting.n+q.aside.n > 0 {
			s.Queues++
			if q.troubled {
				s.Troubled++
			}
		}
	}
	return s
}
