package figures

import "math/rand/v2"

// arrival is an order in which the messages 1 to 100 of a queue arrive.
type arrival struct {
	name string
	seqs []int64
}

// arrivals are the orders of arrival that algorithms are compared in: as they were made, up to 8
// and up to 32 places later than that, the last one first, and any.
func arrivals() []arrival {
	inOrder := make([]int64, messages)
	for i := range inOrder {
		inOrder[i] = int64(i) + 1
	}
	reverse, shuffled := make([]int64, messages), make([]int64, messages)
	for i, at := range rand.New(rand.NewPCG(1, 0)).Perm(messages) {
		reverse[i], shuffled[i] = int64(messages-i), int64(at)+1
	}
	return []arrival{
		{"in order", inOrder},
		{"window 8", delayed(inOrder, 8)},
		{"window 32", delayed(inOrder, 32)},
		{"reverse", reverse},
		{"random", shuffled},
	}
}

const messages = 100

// delayed has each message come up to width places later.
func delayed(inOrder []int64, width int) []int64 {
	random := rand.New(rand.NewPCG(1, uint64(width)))
	at := make([][]int64, len(inOrder)+width+1)
	for _, seq := range inOrder {
		place := int(seq) + random.IntN(width+1)
		at[place] = append(at[place], seq)
	}
	var seqs []int64
	for _, some := range at {
		seqs = append(seqs, some...)
	}
	return seqs
}

// least is what any algorithm takes that stores each message as an item, moves the position as soon
// as it can, and keeps nothing in mind: a write a message, a write a move, and a strong read of
// what waits behind a gap that is filled, of 4 KB at most each.
func (o arrival) least() Units {
	waits := map[int64]bool{}
	position, moves, read := int64(0), 0.0, 0.0
	for _, seq := range o.seqs {
		waits[seq] = true
		if seq != position+1 {
			continue
		}
		over := 0
		for position++; waits[position+1]; position++ {
			over++
		}
		if moves++; over > 0 {
			read += float64((over*itemBytes + readBytes - 1) / readBytes)
		}
	}
	n := float64(len(o.seqs))
	return Units{1 + moves/n, read / n}
}

// itemBytes is what a message of 100 bytes takes as an item, readBytes what a read unit reads.
const itemBytes, readBytes = 208, 4096
