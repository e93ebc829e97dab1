// Package view has the states of queues and consumers as people see them, and the documents that
// the API answers with and the command line and the live page show: one word for one thing.
//
//	var page view.Consumers                  // GET /consumers?queue=orders
//	reasons := view.Why(queue, page.Consumers)    // what is wrong, the worst first, and what to type
//
// The functions build the documents; the command line and the page decode them. Nothing here reads
// a table.
package view
