package delivery

import "strconv"

// Token says whose claim it is. Its number rises with every claim of a consumer, so a sink that
// remembers the highest number it has seen, and refuses lower ones, is safe from a process that
// wakes up after its claim was taken over.
type Token struct {
	// N is the claim's number, from 1 up.
	N int64 `ddb:"tokenN"`
	// Req is what the claimer called its request, 1 to 64 characters.
	Req string `ddb:"req,omitzero"`
}

// String is the token as it travels: number, hyphen, request.
func (t Token) String() string { return strconv.FormatInt(t.N, 10) + "-" + t.Req }
