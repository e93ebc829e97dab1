package streamsort

import (
	"debug/elf"
	"errors"
	"fmt"
	"path/filepath"
)

// checkBinaries reports a function whose bootstrap is missing, or is not a Linux program for the
// stack's processor: AWS would take either, and fail at the first call.
func (p Props) checkBinaries() error {
	var errs []error
	for _, function := range functionNames {
		path := filepath.Join(p.Binaries, function, "bootstrap")
		if err := checkBinary(path, p.Architecture); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	if errs == nil {
		return nil
	}
	return fmt.Errorf("binaries %s; build the functions first (make build, or Build in an app of your own), or say where they are:\n%w", p.Binaries, errors.Join(errs...))
}

func checkBinary(path string, architecture Architecture) error {
	program, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }()
	machine := elf.EM_AARCH64
	if architecture == AMD64 {
		machine = elf.EM_X86_64
	}
	if program.Machine != machine {
		return fmt.Errorf("is built for %v; the architecture is %s (%v)", program.Machine,
			architecture, machine)
	}
	return nil
}
