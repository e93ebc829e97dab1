package main

// proofs are the tests of what proves that a queue is whole.
var proofs = test{"./pkg/cursor", "TestVerify"}

// verifyMutants are bugs by which a queue is said to be whole that is not, or the other way round.
var verifyMutants = []mutant{
	{"verify: nobody looks below", sorterFolder, proofs, []edit{
		{"verify.go", "below, err := v.storedUpTo(ctx, v.From)", "below, err := false, error(nil)"},
	}},
	{"verify: digests are not compared", sorterFolder, proofs, []edit{
		{"verify.go", "case !bytes.Equal(m.digest(), m.Digest):", "case len(m.digest()) == 0:"},
	}},
	{"verify: the end of the range is not looked at", sorterFolder, proofs, []edit{
		{"verify.go", "\t\tv.upTo(v.To)\n\t}\n}\n\n// item", "\t\tv.Last = v.To\n\t}\n}\n\n// item"},
	}},
}
