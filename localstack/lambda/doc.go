// Package lambda runs Lambda functions on one machine: each function's own bootstrap as a real
// process, or the interpreter of its language, behind a Lambda Runtime API.
//
// Call [New], [Service.Add] for each function, then [Service.Invoke] or [Service.InvokeAsync], and
// [Service.Close] at the end.
//
// # What is as on AWS
//
//   - An environment is one process with a Runtime API of its own. It serves one request at a time,
//     is kept for the next one (the one used last is taken first), and is frozen between requests:
//     its process group is stopped while it waits for work and continued when there is some
//     ("Understanding the Lambda execution environment lifecycle", AWS Lambda Developer Guide).
//   - A request that is not answered within the function's time-out, a process
//     that ends while it works, and an initialisation that fails give the
//     function errors that Lambda gives (Sandbox.Timedout, Runtime.ExitError).
//     The environment is thrown away; the next request has a new one.
//   - More requests than the reserved concurrency are throttled ([ErrThrottled]). A function
//     without reserved concurrency has up to [Config].Unreserved environments; further requests
//     wait, as one machine has no thousand of them.
//   - Payloads have Lambda's limits; the environment variables are Lambda's,
//     under the function's own.
//
// An initialisation that takes longer than 10 s is not begun again: it may use the function's
// time-out in addition, then the request fails.
//
// # What a crash leaves behind
//
// Nothing. Every process leads a group of its own, which Close kills; on Linux the kernel kills the
// processes too when this process dies.
package lambda
