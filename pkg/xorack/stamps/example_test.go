package stamps_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log"

	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// The walk-through of xor-ack-dynamodb, with its stamps.
func ExampleStamper() {
	ctx := context.Background()
	acker, err := xorack.New(xorack.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	ack := stamps.New(acker)
	stamp := func(text string) []byte {
		stamp, err := hex.DecodeString(text)
		if err != nil {
			log.Fatal(err)
		}
		return stamp
	}
	const tag = "database/file13"
	file, word1, word2, word3 := stamp("29"), stamp("25"), stamp("a9"), stamp("e9")

	all, err := stamps.XOR(file, word1, word2, word3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("file and three words: %x\n", all.Stamp)

	state, err := ack.Create(ctx, tag, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%x acked: %v\n", state.Stamp, state.Acked)
	for _, stamp := range [][]byte{all.Stamp, word1, word2, word3} {
		state, err := ack.Stamp(ctx, tag, stamp, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%x acked: %v\n", state.Stamp, state.Acked)
	}
	// Output:
	// file and three words: 4c
	// 29 acked: false
	// 65 acked: false
	// 40 acked: false
	// e9 acked: false
	// 00 acked: true
}
