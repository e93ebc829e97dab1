// Command size counts how much there is to know: lines, names, settings, words. The counts stand in
// sizes.txt and may only fall.
//
//	go run ./verify/size                       print each count beside the one in the file
//	go run ./verify/size -check                the same; exit 1 if one rose
//	go run ./verify/size -update               write what fell
//	go run ./verify/size -update -why "TEXT"   write what rose, too, with the reason
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	check := flag.Bool("check", false, "exit 1 if a count rose")
	update := flag.Bool("update", false, "write the counts that fell")
	why := flag.String("why", "", "with -update: what a rise buys, and what went for it")
	file := flag.String("file", "verify/size/sizes.txt", "where the counts stand")
	flag.Parse()
	if err := run(*file, *check, *update, *why); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

// run counts the tree of the working directory, and prints what differs from the file.
func run(file string, check, update bool, why string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	now, err := count(os.DirFS("."))
	if err != nil {
		return err
	}
	rose := before.compare(os.Stdout, now)
	switch {
	case update && len(rose) > 0 && why == "":
		return fmt.Errorf("%q rose: say what that buys and what went for it, with WHY=\"…\"", rose)
	case update:
		return os.WriteFile(file, []byte(before.renew(now, rose, why, time.Now())), 0o644)
	case check && len(rose) > 0:
		return fmt.Errorf("%q rose: make them fall, or run make size UPDATE=1 WHY=\"what it buys, what went for it\"", rose)
	case check && slices.ContainsFunc(now, func(c entry) bool {
		return c.value < before.value(c.name)
	}):
		fmt.Println("Counts fell: make size UPDATE=1 writes them down.")
	}
	return nil
}
