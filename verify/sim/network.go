package sim

// stray is the first copy of a write that its sender repeated, and has an answer to.
type stray struct {
	label   Label
	from    string
	seen    Digest
	arrives func()
}

// Network has writes arrive twice: the sender waited in vain and repeated the very same request,
// and the first copy of it takes its effect after the second was answered, at any later moment.
// Each is a fault.
func (r *Run) Network() {
	r.network = true
	r.Go("network", func(p *Proc) {
		for {
			p.Forget()
			label := func() string { return "late, from " + r.late[0].from + ": " + r.late[0].label() }
			if p.Choose(label, func() bool { return len(r.late) > 0 }, "") < 0 {
				return
			}
			first := r.late[0]
			r.late = r.late[1:]
			first.arrives()
		}
	})
}
