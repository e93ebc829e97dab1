package cost

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Write prints the bills of a workload as a table, in whole dollars.
func (w Workload) Write(out io.Writer) error {
	millions := w.Messages() / million
	order := "disorder " + string(w.Disorder)
	if w.Keyed {
		order = fmt.Sprintf("sorted by a key, about %.0f of them settled together", w.perSettle())
	}
	fmt.Fprintf(out, "%g messages a second (%.1f million a month) of 100 bytes to %d queues,\n%s by the %s, %s;\nlogs %s, X-Ray %s, consumers gather for %s; dollars a month, us-east-1:\n\n",
		w.Rate, millions, w.Queues, w.together(),
		either(w.URL, "function URL", "HTTP API"), order,
		either(w.AllLogs, "of all calls", "by outcome"), either(w.Tracing, "on", "off"), w.gathers())
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\trequests\tAPI\tfunctions\tsweep\tstored\tlogs\tX-Ray\tfixed\ttotal\ta million\t")
	for _, b := range w.Bills() {
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t\n",
			b.Name, b.Requests, b.API, b.Functions, b.Sweep, b.Stored, b.Logs, b.XRay, b.Fixed, b.Total(),
			b.Total()/millions)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	w.writeRows(out)
	w.writeQueue(out)
	_, err := fmt.Fprintln(out, "\nSQS FIFO keeps the order in which messages are sent: it does not sort them.\ndocs/reference/cost.md says what is assumed, and what is left out.")
	return err
}

func (w Workload) writeRows(out io.Writer) {
	if w.Keyed {
		return
	}
	if w.appendable() {
		fmt.Fprint(out, "\nappend: a queue in arrival order, to which each batch is put at its seq: it is one\n"+
			"item. Here of JSON, which deflates; other bytes take up to four times its write units.")
	}
	if w.singly() {
		fmt.Fprint(out, "\nsync: a numbered queue, in which each message is an item; async: so too, where mode is async.")
	}
	fmt.Fprintln(out)
}

// either is one of two texts.
func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// gathers is for how long process's records are gathered, and what that takes.
func (w Workload) gathers() string {
	if w.Window == 0 || w.Keyed {
		return fmt.Sprintf("%gs", w.Window)
	}
	return fmt.Sprintf("%gs (with processBatchSize %.0f or more)", w.Window,
		w.records(w.usual(), w.Window))
}

// writeQueue prints what one queue takes, and says what is left out for it.
func (w Workload) writeQueue(out io.Writer) {
	fmt.Fprintf(out, "\nOne queue takes %d messages a second, by %d write units of its partition",
		QueueRate, queueUnits)
	if w.appendable() {
		fmt.Fprintf(out, ", and %.0f%s", w.AppendRate(), w.asOne())
	}
	fmt.Fprintln(out, ".")
	if !w.singly() {
		fmt.Fprintf(out, "At %g a queue, what stores each message as an item of its own is left out.\n",
			w.perQueue())
	}
}

// together is how many messages come in a request.
func (w Workload) together() string {
	if w.Linger == 0 {
		return fmt.Sprintf("%d of one queue a request", w.Batch)
	}
	return fmt.Sprintf("one by one to a producer that lingers for %gs: %.3g a request, %.3g of one queue,", w.Linger, w.Rate/w.requests(), w.batch())
}
