// Package secret has the secrets that webhooks are signed with, those that come in and those that
// go out: where one is ([Reference]), how it is fetched ([Store]), and what is remembered of it
// ([Cache]).
//
// A secret that was added is known from [Interval] on after its store shows it, where a signature
// asks for it, and after [Lifetime] in any case; one that was taken away is used for Lifetime at
// most.
//
// Nothing is stored, and no error holds a word of a secret.
package secret
