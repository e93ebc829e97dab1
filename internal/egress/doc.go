// Package egress makes requests to URLs that somebody else chose, such as the endpoint of a
// tenant's webhooks, and lets none of them reach what only we can reach.
//
// Read the URL with [ParseURL], ask [Rules.Check] of it, and make requests with the transport of
// [NewTransport].
//
// # What is guaranteed
//
// Every connection goes to an address that was looked at: a name is resolved, each address of the
// answer must be a public one, and that very address is dialled, without asking for it again. So a
// name that answers with another address the next time gains nothing, and neither does another way
// to write an address. A name with one forbidden address among others is refused as a whole. The
// certificate must be the name's. No proxy of the environment is used, nothing is decompressed, and
// who sends follows no redirect ([NoRedirect]).
//
// Public is what IANA's registries of special-purpose addresses do not list: see [Public]. What the
// stack's owner allows besides ([Rules].Allow) is reached too, also without TLS; the addresses of
// metadata services never are, nor what the owner denies ([Rules].Deny).
package egress
