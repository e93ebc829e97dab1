// Package webhook takes requests of senders that cannot sign for IAM, such as GitHub, Stripe and
// Slack, or Standard Webhooks, under their own signatures. presets.go has the senders.
//
// Call [Read] for the sources that a file describes. For a request, [Claim] is what its headers say
// ([Signature.Read]), [Claim.Check] reports whether one of the source's secrets made it, and
// [Source.Messages] are the messages that it brings. In this order: nothing of a body is looked at
// before the signature is known to be right.
//
//	request ──Signature.Read──► Claim ──Claim.Check────► Source.Messages ─► stored
//	              │                        │      │              │
//	              └── 401                  │      └── 401        └── 400, 413, 415
//	                                       └── 503: the secrets cannot be had
//
// # What is guaranteed
//
// A request is accepted only if one of the source's secrets, as the store had them within
// [secret.Lifetime], signed the very bytes of its body; where it signs a time, also at a time
// within the source's tolerance, before or after. Signatures are compared in constant time. A
// secret that cannot be fetched accepts nothing.
//
// A secret that was added is accepted from [secret.Interval] on after its store shows it, in every
// process; one that was taken away is accepted for Lifetime at most. What a forger sends makes at
// most one fetch in each process and Interval, and one a second while the store fails.
//
// # What a crash leaves behind
//
// Nothing: this package stores nothing, and a process that starts fetches the secrets anew.
package webhook

import (
	"time"

	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/secret"
)

// File is the name of the file that describes the sources; it lies beside the function's program.
const File = "webhooks.json"

const (
	// MaxSources is how many sources there are at most.
	MaxSources = 50
	// MaxHeader is how many bytes a header of signatures has at most.
	MaxHeader = 4096
	// DefaultTolerance is how old a signed timestamp may be, or how far ahead, where nothing else
	// is said.
	DefaultTolerance = 5 * time.Minute
)

// Source is a sender, and what becomes of its requests.
type Source struct {
	// Name is the last part of the path that it sends to.
	Name string
	// Signature is how it signs.
	Signature Signature
	// Secret is where its secrets are, SecretKey the ARN of the customer-managed KMS key that they
	// are encrypted with; empty where it is AWS's own.
	Secret    secret.Reference
	SecretKey string
	// Challenge is what the sender asks before it sends; VerifyToken is where the token is that it
	// shows with [ChallengeHub].
	Challenge   Challenge
	VerifyToken secret.Reference
	// Mapping is how its requests become messages.
	*mapping.Mapping
	// MaxBody is how many bytes a body has at most.
	MaxBody int
}

// References are where all its secrets are.
func (s *Source) References() []secret.Reference {
	if s.VerifyToken == (secret.Reference{}) {
		return []secret.Reference{s.Secret}
	}
	return []secret.Reference{s.Secret, s.VerifyToken}
}
