package sim

// graph is the states of a scenario and the choices that lead from one to another. A nil graph
// keeps nothing.
type graph struct {
	root  Digest
	edges map[Digest][]edge
}

// edge is a choice, and the state that it leads to.
type edge struct {
	choice int
	to     Digest
}

func newGraph() *graph { return &graph{edges: map[Digest][]edge{}} }

// add notes that a choice leads from one state to another. The first one that is noted is from the
// state in which all begins.
func (g *graph) add(from Digest, choice int, to Digest) {
	if g == nil {
		return
	}
	if len(g.edges) == 0 {
		g.root = from
	}
	g.edges[from] = append(g.edges[from], edge{choice, to})
}

// cycle is a schedule that comes to a state again; nil if there is no such. No schedule is without
// end then, for there are not infinitely many states.
func (g *graph) cycle() []int {
	if g == nil {
		return nil
	}
	type place struct {
		state Digest
		next  int
	}
	// Along the path, a state is open; once all that follows it was looked at, done.
	path, isOpen := []place{{state: g.root}}, map[Digest]bool{g.root: true}
	for len(path) > 0 {
		here := &path[len(path)-1]
		ways := g.edges[here.state]
		if here.next == len(ways) {
			isOpen[here.state] = false
			path = path[:len(path)-1]
			continue
		}
		to := ways[here.next].to
		here.next++
		open, seen := isOpen[to]
		switch {
		case open:
			var choices []int
			for _, p := range path {
				choices = append(choices, g.edges[p.state][p.next-1].choice)
			}
			return choices
		case !seen:
			isOpen[to] = true
			path = append(path, place{state: to})
		}
	}
	return nil
}
