package cursor

// Inside are the requests to the tables, one by one.
func (s *Store) Inside() *requests { return &s.requests }
