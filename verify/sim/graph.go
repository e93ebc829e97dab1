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
	// Along the path, a state is open; once all that follows it was looked at, not any more.
	var path []int
	isOpen := map[Digest]bool{}
	var repeats func(at Digest) bool
	repeats = func(at Digest) bool {
		isOpen[at] = true
		for _, e := range g.edges[at] {
			path = append(path, e.choice)
			if open, seen := isOpen[e.to]; open || !seen && repeats(e.to) {
				return true
			}
			path = path[:len(path)-1]
		}
		isOpen[at] = false
		return false
	}
	if !repeats(g.root) {
		return nil
	}
	return path
}
