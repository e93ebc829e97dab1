// Package ui is the live page: what a stack's queues, consumers and chains are at, and, where it is
// allowed to, operations on them, on one consumer or in bulk.
//
// Make one with [New]; it is an [net/http.Handler]. It stores nothing: whatever it shows it asks
// the HTTP API for, with the rights of its [Options], so a tenant's token sees that tenant's queues
// alone. Every link is relative, so it may stand under any path that ends with a slash, behind
// [net/http.StripPrefix]. `streamsort ui` serves it on the loopback.
//
// # How a screen stays live
//
//	browser ── GET queue?queue=orders ──► page.load asks the API ──► layout + content
//	   │                                        ▲
//	   └── GET live?of=queue&queue=orders ──► again every Options.Every: what has changed
//	        (server-sent events)                is sent, as the content's HTML
//
// Those who look at the same screen with the same token share a look at the API. One that fails is
// left alone for 2 s. A browser has six connections to a server by HTTP/1.1: of its windows four
// are live at a time, and more take turns. Without JavaScript a screen is what it was when it was
// asked for.
//
// # What is guaranteed
//
//   - Without [Options].Operate no request of the page changes anything.
//   - With it, an act needs a POST from the page's own origin, and a token that only the page's
//     forms have. Each has an id of its own in the form, so that a form sent twice is carried out
//     once.
//   - Other sites may lead to a screen. They load nothing of it, and none shows it in a frame.
//   - Nothing but the page's own files runs or is loaded: its content security policy says so.
//   - Seqs are exact: they are never floating-point numbers.
//
// A bulk operation goes on in the process that serves the page, whatever the browser does, and ends
// with it: [UI.Close] ends it cleanly. Its report is kept in memory alone, as trends and the lags
// that were seen last are. A crash leaves nothing else behind: the same form with the run's name
// goes on with the rest.
package ui
