// Package localstack runs CloudFormation templates on one machine, without Docker: what runs here
// is what deploys.
//
// Call [Run] with the templates that `cdk synth` wrote, or patches of them. It starts
//
//   - a DynamoDB-compatible server, with each table as the template defines it;
//   - each function, built from the main package that its Metadata names ("streamsort:source": a
//     folder or an import path of a Go module above the template, or an absolute folder) with the
//     flags of a deployment but for this machine's architecture, as real processes behind a Lambda
//     Runtime API (package lambda); the files that its Metadata holds ("streamsort:files") lie
//     beside the program. Where no module has the package, the function's asset beside the template
//     runs, as it was built; and without one, this project's own functions are fetched by their
//     version, or taken from the zips of a release. A function in Python or Node runs from its
//     folder, or its asset, as it is;
//   - each event source mapping of a table's stream (package eventsource);
//   - each HTTP API and function URL, and Lambda's Invoke action, on ports of
//     this machine (package gateway);
//   - each schedule with a rate;
//   - each queue that a function reads by an event source mapping (package sqs);
//   - MiniStack beside, for other resources of SQS, SNS, EventBridge and S3 where a
//     template has them (package ministack).
//
// Then [Stack.URL] is where the first API and everything of the runner answers, and [Stack.Close]
// stops it all.
//
// # Addresses
//
// The first HTTP API of the first template is at the stack's URL itself; each further one, and each
// function URL, has a port of its own ([Stack.Outputs]). At the stack's URL there are also
//
//	POST /2015-03-31/functions/NAME/invocations   Lambda's Invoke, for SDKs and the CLI
//	GET  /_streamsort/health                      "ok" once everything runs
//	GET  /_streamsort/functions                   counters of each function
//	GET  /_streamsort/mappings                    counters of each event source mapping
//	GET  /_streamsort/queues                      counters of each queue that a function reads
//	GET  /_streamsort/failures                    what the queues for failures took
//	GET  /_streamsort/schedules                   each schedule
//	POST /_streamsort/schedules/NAME              runs a schedule's targets now
//	GET  /_streamsort/outputs                     the templates' outputs
//	GET  /_streamsort/logs?function=NAME&lines=N  the last lines of a function; with &after=M, those
//	                                              behind the first M, and how many there were
//
// NAME is a resource's logical id or its own name.
//
// # What a crash leaves behind
//
// Nothing that runs: every process is in a group of its own, and on Linux the kernel kills it when
// this process dies. Data of the server is in memory, unless [Config].Data names a folder for it.
package localstack
